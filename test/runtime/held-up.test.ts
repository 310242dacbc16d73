// A server that was held up: what clients have sent meanwhile is answered, and their limits go on from there.
// @runtimes both

import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { passTurns } from "../turns-of.ts";
import { openConnection, type RawConnection } from "./raw-connection.ts";
import { start, type TestServer } from "./test-server.ts";
import { responseOf } from "./web-reply.ts";

const get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const post = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
const tickMs = 1_000;

describe("after a hold-up", () => {
  const real = { setInterval, setTimeout, now: performance.now };
  const ticks: (() => void)[] = [];
  const timers: (() => void)[] = [];
  let now = 0;
  let server: TestServer;
  let client: RawConnection;

  before(async () => {
    performance.now = () => now;
    globalThis.setInterval = ((act: () => void) => {
      ticks.push(act);
      return { unref: () => undefined };
    }) as unknown as typeof setInterval;
    server = await start(async (request) => responseOf(`got ${await request.text()}`, {}));
    globalThis.setInterval = real.setInterval;
  });
  after(async () => {
    performance.now = real.now;
    await server.stop(0);
  });

  beforeEach(async () => {
    client = await openConnection(server.port);
    client.write(get);
    assert.equal((await client.response())?.body, "got ");
  });

  /** The server looks at its clock after so many milliseconds. */
  function tickAfter(ms: number): void {
    now += ms;
    for (const tick of ticks) tick();
  }

  /** Ticks in time. */
  async function wait(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      tickAfter(tickMs);
      await passTurns();
    }
  }

  for (const seconds of [12, 3_600])
    it(`of ${seconds} seconds, a request on a kept connection is answered`, async () => {
      await wait(9);
      client.write(get);
      tickAfter(seconds * tickMs);
      assert.equal((await client.response())?.body, "got ");
      client.destroy();
    });

  it("a request whose body has begun is answered", async () => {
    client.write(`${post}he`);
    await wait(119);
    client.write("llo");
    tickAfter(5 * 3_600 * tickMs);
    assert.equal((await client.response())?.body, "got hello");
    client.destroy();
  });

  it("a client that has sent nothing has the rest of its time", async () => {
    await wait(5);
    tickAfter(3_600 * tickMs);
    await passTurns();
    await wait(4);
    assert.ok(!client.closed);
    await wait(1);
    await client.untilClosed();
  });

  it("a tick in time reads what has arrived, too", async () => {
    await wait(10);
    client.write(get);
    tickAfter(tickMs);
    assert.equal((await client.response())?.body, "got ");
    client.destroy();
  });

  it("a server that stops answers what has arrived", async () => {
    globalThis.setTimeout = ((act: () => void) => {
      timers.push(act);
      return { unref: () => undefined };
    }) as unknown as typeof setTimeout;
    const stopped = server.stop(60_000);
    globalThis.setTimeout = real.setTimeout;
    client.write(get);
    // The last one is for what does not end by itself.
    for (const close of timers.slice(0, -1)) close();
    assert.equal((await client.response())?.body, "got ");
    client.destroy();
    await stopped;
  });
});
