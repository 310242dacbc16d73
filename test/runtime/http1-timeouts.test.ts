// How long our own HTTP/1.1 waits for a client in each state, with a clock of the test.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Serving } from "../../src/runtime/http1/active-request.ts";
import { HttpConnection } from "../../src/runtime/http1/connection.ts";
import { FakeSocket, type SocketOptions, turn } from "./http1/fake-socket.ts";
import { readResponses } from "./http1/responses.ts";
import { errorResponse, type Fetch, maxHeaderBytes } from "./http1/talk.ts";
import { replying, responseOf } from "./web-reply.ts";

const minute = 60;
const hour = 60 * minute;

/** A connection whose clock goes on when the test says so. */
class Client {
  readonly socket: FakeSocket;
  readonly #serving: Serving;

  constructor(fetch: Fetch, options: SocketOptions = {}) {
    const rest = { scheme: "http", isStopping: false, now: 1_000_000 } as const;
    const serving: Serving = {
      ...rest,
      maxHeaderBytes,
      fetch: replying(fetch),
      errorResponse,
    };
    this.#serving = serving;
    const open = (socket: FakeSocket) => new HttpConnection(socket, serving);
    this.socket = new FakeSocket({ open, closed: (connection) => connection.close() }, options);
  }

  async send(text: string): Promise<void> {
    await this.socket.receive(Buffer.from(text));
    await turn();
  }

  /** The connection looks at the clock once a second. */
  async wait(seconds: number): Promise<void> {
    for (let second = 0; second < seconds && !this.socket.isClosed; second++) {
      this.#serving.now += 1_000;
      this.socket.connection.checkTime();
      if (second % 60 === 0) await turn();
    }
    await turn();
    await turn();
  }

  /** The statuses of the responses, and whether the connection is open, closed, or reset, which loses what is on its way. */
  get outcome(): string {
    const statuses = readResponses(this.socket.sent, []).map(({ status }) => status);
    const { isClosed, isShut, isTerminated } = this.socket;
    const end = isTerminated ? "reset" : isClosed ? "closed" : isShut ? "shut" : "open";
    return [...statuses, end].join(" ");
  }
}

const post = (...fields: string[]) =>
  ["POST /a HTTP/1.1", "Host: a", ...fields, "", ""].join("\r\n");
const hello: Fetch = () => responseOf("hello", {});
const echo: Fetch = async (request) => responseOf(await request.text(), {});
const never: Fetch = () => new Promise<Response>(() => undefined);

describe("a client that does nothing", () => {
  it("before a request, is closed after 10 seconds", async () => {
    const client = new Client(hello);
    await client.wait(10);
    assert.equal(client.outcome, "open");
    await client.wait(1);
    assert.equal(client.outcome, "closed");
  });

  it("after a response, too", async () => {
    const client = new Client(hello);
    await client.wait(8);
    await client.send(post());
    await client.wait(10);
    assert.equal(client.outcome, "200 open");
    await client.wait(1);
    assert.equal(client.outcome, "200 closed");
  });

  it("within a body, gets 408 after 2 minutes", async () => {
    const client = new Client(echo);
    await client.send(`${post("Content-Length: 5")}he`);
    await client.wait(2 * minute);
    assert.equal(client.outcome, "open");
    await client.wait(1);
    assert.equal(client.outcome, "408 shut");
    await client.wait(3);
    assert.equal(client.outcome, "408 closed");
  });

  it("after an early response within a body, is closed after 2 minutes", async () => {
    const client = new Client(hello);
    await client.send(`${post("Content-Length: 5")}he`);
    await client.wait(2 * minute);
    assert.equal(client.outcome, "200 open");
    await client.wait(1);
    assert.equal(client.outcome, "200 closed");
  });

  it("and does not read the response, is closed after 2 minutes", async () => {
    const client = new Client(hello, { take: () => 0 });
    await client.send(post());
    await client.wait(2 * minute);
    assert.equal(client.outcome, "open");
    await client.wait(2);
    assert.equal(client.outcome, "reset");
  });

  it("after the last response, is closed after 2 seconds", async () => {
    const client = new Client(hello);
    await client.send(post("Connection: close"));
    await client.wait(2);
    assert.equal(client.outcome, "200 shut");
    await client.wait(1);
    assert.equal(client.outcome, "200 closed");
  });
});

describe("a client that is slow", () => {
  it("must send the header section in 10 seconds", async () => {
    const client = new Client(hello);
    for (const character of "POST /abcd") {
      await client.send(character);
      await client.wait(1);
    }
    assert.equal(client.outcome, "open");
    await client.send("e");
    await client.wait(1);
    assert.equal(client.outcome, "408 shut");
  });

  it("must send more than empty lines in 10 seconds", async () => {
    const client = new Client(hello);
    for (let count = 0; count < 5; count++) {
      await client.send("\r\n");
      await client.wait(2);
    }
    assert.equal(client.outcome, "open");
    await client.send("\r\n");
    await client.wait(1);
    assert.equal(client.outcome, "closed");
  });

  it("may send a body for 4 hours", async () => {
    const client = new Client(echo);
    await client.send(post("Content-Length: 1000"));
    for (let count = 0; count < 144; count++) {
      await client.send("x");
      await client.wait(100);
    }
    assert.equal(client.outcome, "open");
    await client.wait(1);
    assert.equal(client.outcome, "408 shut");
  });

  it("may read for ever", async () => {
    const client = new Client(hello, { take: () => 1 });
    await client.send(post());
    for (let count = 0; client.socket.isFull; count++) {
      assert.ok(count < 1_000);
      await client.wait(119);
      client.socket.drain();
    }
    assert.equal(client.outcome, "200 open");
  });

  it("may send for 10 seconds after the last response", async () => {
    const client = new Client(hello);
    await client.send(post("Connection: close"));
    for (let second = 0; second < 10; second++) {
      await client.send("x");
      await client.wait(1);
    }
    assert.equal(client.outcome, "200 shut");
    await client.send("x");
    await client.wait(1);
    assert.equal(client.outcome, "200 closed");
  });
});

describe("an application that is slow", () => {
  it("has no limit", async () => {
    const client = new Client(never);
    await client.send(post());
    await client.wait(5 * hour);
    assert.equal(client.outcome, "open");
  });

  it("has no limit while it does not read what was received", async () => {
    const client = new Client(never);
    await client.send(post("Content-Length: 400000"));
    await client.send("x".repeat(300_000));
    assert.ok(client.socket.isPaused);
    await client.wait(5 * hour);
    assert.equal(client.outcome, "open");
  });

  it("may ask for the body late, when the client waits for that", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const client = new Client(async (request) => {
      await promise;
      return responseOf(await request.text(), {});
    });
    await client.send(post("Content-Length: 5", "Expect: 100-continue"));
    await client.wait(hour);
    assert.equal(client.outcome, "open");
    resolve();
    await client.wait(2 * minute);
    assert.match(client.socket.sent.toString(), /^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    await client.send("hello");
    assert.equal(client.outcome, "200 open");
  });

  it("does not take the time of the client to read", async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const client = new Client(() => promise, { take: () => 60 });
    await client.send(post());
    await client.wait(hour);
    resolve(responseOf("hello".repeat(10), {}));
    await client.wait(2 * minute);
    assert.ok(!client.socket.isClosed);
    client.socket.drain();
    client.socket.drain();
    client.socket.drain();
    assert.equal(client.outcome, "200 open");
  });

  it("does not take the time of the client to send the rest of a body", async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const client = new Client(() => promise);
    await client.send(`${post("Content-Length: 5")}he`);
    await client.wait(minute);
    resolve(responseOf("hello", {}));
    await turn();
    await client.wait(2 * minute);
    assert.equal(client.outcome, "200 open");
    await client.wait(1);
    assert.equal(client.outcome, "200 closed");
  });
});

describe("a client that sends no more", () => {
  const get = "GET /a HTTP/1.1\r\nHost: a\r\n\r\n";

  it("waits a second for the response to a read", async () => {
    const client = new Client(never);
    await client.send(get);
    await client.socket.end();
    await client.wait(1);
    assert.equal(client.outcome, "open");
    await client.wait(1);
    assert.equal(client.outcome, "closed");
  });

  for (const [name, method] of [
    ["a query", "QUERY"],
    ["a HEAD", "HEAD"],
  ])
    it(`waits no longer for ${name}`, async () => {
      const client = new Client(never);
      await client.send(get.replace("GET", method ?? ""));
      await client.socket.end();
      await client.wait(2);
      assert.equal(client.outcome, "closed");
    });

  it("waits for the response to a write as long as it takes", async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const client = new Client(() => promise);
    await client.send(post());
    await client.socket.end();
    await client.wait(hour);
    assert.equal(client.outcome, "open");
    resolve(responseOf("hello", {}));
    await client.wait(1);
    assert.equal(client.outcome, "200 closed");
  });

  it("waits no longer for a write whose body is read while it arrives", async () => {
    let signal: AbortSignal | undefined;
    const client = new Client(async (request) => {
      signal = request.signal;
      for await (const _ of request.body ?? []);
      return never(request);
    });
    await client.send(`${post("Content-Length: 5")}hello`);
    await client.socket.end();
    await client.wait(1);
    assert.equal(client.outcome, "open");
    await client.wait(1);
    assert.equal(client.outcome, "closed");
    assert.ok(signal?.aborted);
  });

  it("waits a second for each of its reads", async () => {
    const waiting: PromiseWithResolvers<Response>[] = [];
    const client = new Client(() => {
      const response = Promise.withResolvers<Response>();
      waiting.push(response);
      return response.promise;
    });
    await client.send(get.repeat(4));
    await client.socket.end();
    for (let count = 0; count < 3; count++) {
      await client.wait(1);
      waiting[count]?.resolve(responseOf("hello", {}));
      await client.wait(0);
    }
    assert.equal(client.outcome, "200 200 200 open");
    await client.wait(2);
    assert.equal(client.outcome, "200 200 200 closed");
  });

  it("gets what is on its way when a later read takes too long", async () => {
    const client = new Client((request) =>
      request.url.endsWith("/b") ? never(request) : hello(request),
    );
    await client.send(`${get}${get.replace("/a", "/b")}`);
    await client.socket.end();
    await client.wait(2);
    assert.equal(client.outcome, "200 closed");
  });

  it("may read a response slowly", async () => {
    const client = new Client(hello, { take: () => 50 });
    await client.send(get);
    await client.socket.end();
    for (let count = 0; client.socket.isFull; count++) {
      assert.ok(count < 100);
      await client.wait(10);
      client.socket.drain();
    }
    await client.wait(1);
    assert.equal(client.outcome, "200 closed");
  });

  it("gets the error of what it has not finished after the responses to the rest", async () => {
    const client = new Client(async () => {
      await turn();
      return responseOf("hello", {});
    });
    await client.socket.receive(Buffer.from(`${get}${get}GET /a HTT`));
    await client.socket.end();
    for (let count = 0; count < 10; count++) await turn();
    assert.equal(client.outcome, "200 200 400 closed");
  });

  it("gets the error of a body that it has not finished, too", async () => {
    const client = new Client(async (request) => {
      await turn();
      return responseOf(await request.text(), {});
    });
    const start = `${get}${post("Content-Length: 5")}he`;
    await client.socket.receive(Buffer.from(start));
    await client.socket.end();
    for (let count = 0; count < 10; count++) await turn();
    assert.equal(client.outcome, "200 400 closed");
  });
});
