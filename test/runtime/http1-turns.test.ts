// Many requests at once on a connection: other clients are served between them.
// @runtimes both

import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { Http1Server } from "../../src/runtime/http1/server.ts";
import { largestTurn } from "../turns-of.ts";
import { FakeSocket } from "./http1/fake-socket.ts";
import { readResponses } from "./http1/responses.ts";
import { errorResponse, type Fetch, maxHeaderBytes } from "./http1/talk.ts";
import { openConnection } from "./raw-connection.ts";
import { start, type TestServer } from "./test-server.ts";
import { replying, responseOf } from "./web-reply.ts";

const connections = 10;
const requestsEach = 50;
const get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";
const post = "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";

const answers: Readonly<Record<string, Fetch>> = {
  "at once": () => responseOf("hello", {}),
  "in the same turn": async () => responseOf("hello", {}),
  "in a later turn": async () => {
    await nextTurn();
    return responseOf("hello", {});
  },
};

describe("requests that arrive together", () => {
  for (const [when, fetch] of Object.entries(answers))
    for (const [method, request] of Object.entries({ GET: get, POST: post }))
      it(`are answered in as many turns, when a ${method} is answered ${when}`, async () => {
        let note = (_requests: number): void => undefined;
        const counted: Fetch = (incoming) => {
          note(1);
          return fetch(incoming);
        };
        const options = { scheme: "http", maxHeaderBytes, errorResponse } as const;
        const server = new Http1Server({ ...options, fetch: replying(counted) });
        const sockets = Array.from({ length: connections }, () => new FakeSocket(server));
        const largest = await largestTurn(async (noteOne) => {
          note = noteOne;
          const all = Buffer.from(request.repeat(requestsEach));
          for (const { connection } of sockets) {
            connection.receive(all);
            // What does not fit is for later.
            connection.end();
          }
          for (const socket of sockets) await socket.until(() => socket.isClosed);
        });
        assert.ok(largest <= connections, `${largest} requests in one turn`);
        for (const { sent, mistakes } of sockets) {
          assert.equal(readResponses(sent, []).length, requestsEach);
          assert.deepEqual(mistakes, []);
        }
        await server.stop(0);
      });

  it("leave the socket paused until they are answered", async () => {
    const options = { scheme: "http", maxHeaderBytes, errorResponse } as const;
    const server = new Http1Server({ ...options, fetch: replying(() => responseOf("hello", {})) });
    const socket = new FakeSocket(server);
    const paused: boolean[] = [];
    socket.connection.receive(Buffer.from(`${get.repeat(3)}${post.slice(0, -1)}`));
    while (readResponses(socket.sent, []).length < 3) {
      paused.push(socket.isPaused);
      await nextTurn();
    }
    assert.ok(paused.length > 0 && paused.every(Boolean), paused.join());
    await socket.receive(Buffer.from("o"));
    await socket.settle();
    assert.equal(readResponses(socket.sent, []).length, 4);
    await socket.end();
    await server.stop(0);
  });
});

describe("another client", () => {
  let server: TestServer;
  before(async () => {
    const large = "x".repeat(187 * 1024);
    server = await start(({ url }) => responseOf(url.endsWith("/large") ? large : "hello", {}));
  });
  after(() => server.stop(0));

  it("waits for no more requests than there are connections", async () => {
    const others = await Promise.all(
      Array.from({ length: connections }, () => openConnection(server.port)),
    );
    const client = await openConnection(server.port);
    // The server knows all of them.
    for (const connection of [...others, client]) {
      connection.write(get);
      await connection.response();
    }
    server.reached.length = 0;
    for (const other of others) other.write(get.repeat(requestsEach));
    client.write(get.replace("/a", "/mine"));
    assert.equal((await client.response())?.status, 200);
    const before = server.reached.findIndex((request) => request.endsWith("/mine"));
    // The packets of those connections may arrive a turn earlier.
    assert.ok(before <= 2 * connections, `${before} requests came first`);
    for (const other of others)
      for (let count = 0; count < requestsEach; count++)
        assert.equal((await other.response())?.status, 200);
    for (const connection of [...others, client]) connection.destroy();
  });

  it("waits for no more, where nobody reads large responses", async () => {
    const client = await openConnection(server.port);
    client.write(get);
    await client.response();
    const others = Array.from({ length: connections }, () => connect(server.port, "127.0.0.1"));
    for (const other of others) {
      other.write(get);
      await once(other, "data");
      other.pause();
    }
    server.reached.length = 0;
    // It is more than the kernel holds for a client that does not read.
    for (const other of others) other.write(get.replace("/a", "/large").repeat(requestsEach));
    client.write(get.replace("/a", "/mine"));
    assert.equal((await client.response())?.status, 200);
    const before = server.reached.findIndex((request) => request.endsWith("/mine"));
    assert.ok(before <= 2 * connections, `${before} requests came first`);
    assert.ok(server.reached.length < connections * requestsEach, "responses were kept");
    for (const other of others) other.destroy();
    client.destroy();
  });
});
