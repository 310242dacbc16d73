// Single cases of our own HTTP/1.1, most of them found by the random tests.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { takeReceivedBody } from "../../src/lib/received-request.ts";
import { Http1Server } from "../../src/runtime/http1/server.ts";
import { FakeSocket, type SocketOptions, turn } from "./http1/fake-socket.ts";
import { readResponses } from "./http1/responses.ts";
import { errorResponse, type Fetch, maxHeaderBytes, talk } from "./http1/talk.ts";
import { replying, responseOf, type WebFetch } from "./web-reply.ts";

const post = (...fields: string[]) =>
  ["POST /a HTTP/1.1", "Host: a", ...fields, "", ""].join("\r\n");

/** A connection to an application. */
const served = { scheme: "http", maxHeaderBytes, errorResponse } as const;

function open(fetch: Fetch, options: SocketOptions = {}): FakeSocket {
  const server = new Http1Server({ ...served, fetch: replying(fetch) });
  return new FakeSocket(server, options);
}

const statuses = ({ sent }: FakeSocket): number[] =>
  readResponses(sent, []).map(({ status }) => status);

const echo: Fetch = async (request) => responseOf(`${request.url} ${await request.text()}`, {});

describe("requests", () => {
  const cases: readonly (readonly [title: string, stream: string, statuses: readonly number[]])[] =
    [
      [
        "a transfer coding with a space that is none of HTTP",
        `${post("Transfer-Encoding: chunked\xa0")}0\r\n\r\n`,
        [400],
      ],
      [
        "a line feed as the fields of a request after an absolute target",
        "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\nGET /a HTTP/1.1\r\n\n\r\n\r\n",
        [200, 400],
      ],
      [
        "a space after the size of a chunk",
        `${post("Transfer-Encoding: chunked")}0 \r\n\r\n`,
        [400],
      ],
      // Larger numbers are not exact.
      ...[1, 12, 13, 16, 17].map(
        (digits) =>
          [
            `a size of a chunk with ${digits} digits`,
            `${post("Transfer-Encoding: chunked")}${"1".padStart(digits, "0")}\r\nx\r\n0\r\n\r\n`,
            [digits > 12 ? 400 : 200],
          ] as const,
      ),
    ];
  it("a section of the largest size may arrive in any packets", async () => {
    const line = `POST /${"x".repeat(maxHeaderBytes - 1)} HTTP/1.1\r\n`;
    const rest = maxHeaderBytes - "Host: a\r\nX: \r\n".length;
    const stream = Buffer.from(`${line}Host: a\r\nX: ${"x".repeat(rest)}\r\n\r\n`);
    for (const packets of [[stream], [...stream].map((byte) => Buffer.from([byte]))]) {
      const { socket } = await talk(packets, echo);
      assert.deepEqual(statuses(socket), [200]);
    }
  });

  it("a section that is sent again has its own body, and the authority of its target", async () => {
    const absolute = "POST http://b/c HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n";
    const plain = post("Content-Length: 1");
    const stream = [absolute, absolute, plain, plain, absolute].map((head, at) => `${head}${at}`);
    const { socket } = await talk([Buffer.from(stream.join(""))], echo);
    assert.deepEqual(
      readResponses(socket.sent, []).map(({ body }) => String(body)),
      ["http://b/c 0", "http://b/c 1", "http://a/a 2", "http://a/a 3", "http://b/c 4"],
    );
  });

  for (const [title, stream, expected] of cases)
    it(`${title} → ${expected}`, async () => {
      const { socket } = await talk([Buffer.from(stream, "latin1")], echo);
      assert.deepEqual(statuses(socket), expected);
    });
});

describe("bodies", () => {
  const partial = `${post("Content-Length: 10")}hello`;

  it("one that has arrived is taken once, and then counts as read", async () => {
    const packets = [`${post("Content-Length: 5")}hello${partial}`, "world"];
    const taken: unknown[] = [];
    const { socket } = await talk(
      packets.map((text) => Buffer.from(text)),
      async (request) => {
        taken.push(takeReceivedBody(request)?.toString(), request.bodyUsed);
        taken.push(takeReceivedBody(request));
        if (!request.bodyUsed) taken.push(await request.text());
        return new Response("");
      },
    );
    assert.deepEqual(statuses(socket), [200, 200]);
    assert.deepEqual(taken, ["hello", true, undefined, undefined, false, undefined, "helloworld"]);
  });

  for (const read of [
    (request: Request) => request.text(),
    async (request: Request) => {
      const parts = await Array.fromAsync(request.body ?? []);
      return Buffer.concat(parts).toString();
    },
  ])
    it("a body that arrives after the response does not look complete", async () => {
      let reading: Promise<string> | undefined;
      const packets = [partial, "world"].map((text) => Buffer.from(text));
      await talk(packets, (request) => {
        reading = read(request);
        reading.catch(() => undefined);
        return new Response("early");
      });
      await assert.rejects(async () => reading, /before the body had arrived/);
    });
  it("small chunks are read together", async () => {
    let parts: readonly Uint8Array[] = [];
    const stream = `${post("Transfer-Encoding: chunked")}${"1\r\nx\r\n".repeat(10_000)}0\r\n\r\n`;
    await talk([Buffer.from(stream)], async (request) => {
      await turn();
      parts = await Array.fromAsync(request.body ?? []);
      return new Response("");
    });
    assert.equal(Buffer.concat(parts).toString(), "x".repeat(10_000));
    assert.ok(parts.length < 20, `${parts.length} parts`);
  });

  it("the socket goes on after the application has cancelled a large body", async () => {
    const { promise, resolve } = Promise.withResolvers<Response>();
    const socket = open(async (request) => {
      const reader = request.body?.getReader();
      await reader?.read();
      await turn();
      await reader?.cancel();
      return promise;
    });
    await socket.receive(Buffer.from(post("Content-Length: 1000000")));
    for (let count = 0; count < 10; count++) await socket.receive(Buffer.alloc(100_000));
    resolve(new Response("done"));
    await socket.settle();
    assert.deepEqual(statuses(socket), [200]);
  });

  it("what is rejected is not paused", async () => {
    const socket = open(() => new Promise<Response>(() => undefined));
    await socket.receive(Buffer.from(post("Transfer-Encoding: chunked")));
    await socket.receive(Buffer.from(`493e0\r\n${"x".repeat(300_000)}bad`));
    await socket.settle();
    assert.deepEqual(statuses(socket), [400]);
    assert.equal(socket.isPaused, false);
    await socket.end();
    assert.ok(socket.isClosed);
  });
});

describe("waiting bytes", () => {
  const request = Buffer.from(post(`X: ${"x".repeat(500)}`));
  const packet = Buffer.alloc(150 * request.length, request);

  it("of requests stay bounded while others are handled", async () => {
    let handled = 0;
    const socket = open(async () => {
      handled++;
      await turn();
      return new Response("");
    });
    let waiting = 0;
    for (let count = 0; count < 12; count++) {
      await socket.receive(packet);
      waiting = Math.max(waiting, (count + 1) * packet.length - handled * request.length);
    }
    socket.reset();
    assert.ok(waiting <= 262_144 + 2 * packet.length, `${waiting} bytes`);
  });

  it("of an upload stay bounded while the application reads slowly", async () => {
    let read = 0;
    const socket = open(async (request) => {
      for await (const part of request.body ?? []) {
        for (let turns = 0; turns < 5; turns++) await turn();
        read += part.length;
      }
      return new Response("");
    });
    await socket.receive(Buffer.from(post("Content-Length: 2000000")));
    let waiting = 0;
    for (let sent = 50_000; sent <= 2_000_000; sent += 50_000) {
      await socket.receive(Buffer.alloc(50_000));
      waiting = Math.max(waiting, sent - read);
    }
    await socket.until(() => read === 2_000_000);
    await socket.settle();
    assert.deepEqual(statuses(socket), [200]);
    assert.ok(waiting > 200_000 && waiting <= 262_144 + 2 * 50_000, `${waiting} bytes`);
  });

  it("of a response are no more than the socket takes", async () => {
    let pulled = 0;
    const take = () => 100;
    const endless = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          pulled += 1_000;
          controller.enqueue(new Uint8Array(1_000));
        },
      });
    const socket = open(() => new Response(endless()), { take });
    await socket.receive(Buffer.from(post()));
    for (let count = 0; count < 50; count++) {
      await turn();
      socket.drain();
      assert.ok(pulled - socket.sent.length <= 3_000, `${pulled} of ${socket.sent.length} bytes`);
    }
    assert.ok(pulled > 3_000);
    socket.reset();
  });
});

describe("responses", () => {
  const partsOf = (parts: readonly unknown[], cancel: () => void = () => undefined) => {
    const rest = [...parts];
    const stream = new ReadableStream<unknown>(
      {
        async pull(controller) {
          await turn();
          const part = rest.shift();
          if (part === undefined) controller.close();
          else if (part instanceof Error) controller.error(part);
          else controller.enqueue(typeof part === "string" ? Buffer.from(part) : part);
        },
        cancel,
      },
      { highWaterMark: 0 },
    );
    return stream as ReadableStream<Uint8Array>;
  };
  const sized = { headers: { "Content-Length": "10" } };
  const broken: Readonly<Record<string, () => Response>> = {
    "a stream that is shorter than it said": () => new Response(partsOf(["hello"]), sized),
    "a stream that fails": () => new Response(partsOf(["hello", new Error("broken")])),
    "a stream of something else than bytes": () => new Response(partsOf(["hello", 5])),
  };
  for (const [title, respond] of Object.entries(broken))
    it(`${title} does not look complete`, async () => {
      const socket = open(respond);
      await socket.receive(Buffer.from(post() + post()));
      await socket.settle();
      assert.ok(socket.isTerminated);
      assert.match(socket.sent.toString(), /hello/);
      assert.throws(() => statuses(socket));
    });

  it("no more is sent than a stream said", async () => {
    const socket = open(() => new Response(partsOf(["hello", "hello world"]), sized));
    await socket.receive(Buffer.from(post() + post()));
    await socket.settle();
    assert.ok(socket.isTerminated);
    assert.match(socket.sent.toString(), /\r\n\r\nhello$/);
  });

  it("a stream of something else than bytes is cancelled", async () => {
    let isCancelled = false;
    const cancel = () => {
      isCancelled = true;
    };
    const socket = open(() => new Response(partsOf([{ byteLength: 3 }], cancel)));
    await socket.receive(Buffer.from(post()));
    await socket.settle();
    assert.ok(socket.isTerminated && isCancelled);
  });

  it("a rejection arrives as a whole when the client has ended", async () => {
    const socket = open(echo, { take: () => 10 });
    await socket.receive(Buffer.from("bad\r\n\r\n"));
    await socket.end();
    await socket.settle();
    assert.deepEqual(statuses(socket), [400]);
    assert.ok(socket.isClosed);
  });

  it("a connection ends when not even an error response can be made", async () => {
    const fail = () => {
      throw new Error("failed");
    };
    const later = () => Promise.reject(new Error("failed"));
    for (const fetch of [fail, later])
      for (const stream of [post(), "bad\r\n\r\n"]) {
        const options = { scheme: "http", maxHeaderBytes, fetch, errorResponse: fail } as const;
        const socket = new FakeSocket(new Http1Server(options));
        await socket.receive(Buffer.from(stream));
        await socket.settle();
        assert.ok(socket.isTerminated);
      }
  });

  it("an interim response has no other lines than its fields", async () => {
    const fetch: WebFetch = (_request, { sendInterim }) => {
      sendInterim?.(104, { "X-A": "ä" });
      sendInterim?.(104, { "X-A": "a\r\nX-B: b" });
      return responseOf("hello", {});
    };
    const server = new Http1Server({ ...served, fetch: replying(fetch) });
    const socket = new FakeSocket(server, { take: () => 7 });
    await socket.receive(Buffer.from(post()));
    await socket.settle();
    const sent = socket.sent.toString("latin1");
    assert.match(sent, /^HTTP\/1\.1 104 [^\r]*\r\nX-A: ä\r\n\r\nHTTP\/1\.1 500 /);
    assert.doesNotMatch(sent, /X-B/);
  });
});

describe("a server that stops", () => {
  const hello = responseOf("hello", {});
  const serve = (fetch: Fetch) => new Http1Server({ ...served, fetch: replying(fetch) });

  it("answers a request that follows the body of the last one", async () => {
    const server = serve(() => hello);
    const socket = new FakeSocket(server, { closesLater: true });
    await socket.receive(Buffer.from(post("Content-Length: 5")));
    const stopped = server.stop(60_000);
    await socket.receive(Buffer.from(`hello${post()}`));
    await socket.end();
    await stopped;
    assert.deepEqual(socket.mistakes, []);
    assert.deepEqual(statuses(socket), [200, 200]);
  });

  it("handles nothing after it has closed a connection", async () => {
    const server = serve(() => assert.fail("handled"));
    const socket = new FakeSocket(server, { closesLater: true });
    const stopped = server.stop(60_000);
    await socket.end();
    socket.connection.receive(Buffer.from(post()));
    await stopped;
    assert.deepEqual(socket.mistakes, []);
  });

  it("answers a request that arrives when it stops, and none after it", async () => {
    const server = serve(() => hello);
    const socket = new FakeSocket(server, { closesLater: true });
    const stopped = server.stop(60_000);
    await socket.receive(Buffer.from(post() + post()));
    await socket.end();
    await stopped;
    assert.deepEqual(socket.mistakes, []);
    assert.deepEqual(statuses(socket), [200]);
    assert.match(socket.sent.toString("latin1"), /\r\nConnection: close\r\n/);
  });

  it("closes idle connections without a reset", async () => {
    const server = serve(() => hello);
    const idle = [new FakeSocket(server), new FakeSocket(server)];
    await idle[0]?.receive(Buffer.from(post()));
    await server.stop(0);
    for (const socket of idle) assert.ok(socket.isClosed && !socket.isTerminated);
  });

  it("does not reset a connection whose last response was sent", async () => {
    const server = serve(() => hello);
    const socket = new FakeSocket(server);
    await socket.receive(Buffer.from(post("Connection: close")));
    assert.ok(socket.isShut);
    await server.stop(0);
    assert.ok(socket.isClosed && !socket.isTerminated);
  });

  it("ends when it is stopped twice, too", async () => {
    const server = serve(() => new Promise<Response>(() => undefined));
    const socket = new FakeSocket(server);
    await socket.receive(Buffer.from(post()));
    await Promise.all([server.stop(60_000), server.stop(0)]);
    assert.ok(socket.isClosed);
  });
});

describe("a client that has left without a word", () => {
  for (const [title, takes] of [
    ["before the response", [-1]],
    ["in the middle of it", [3, -1]],
  ] as const)
    it(`is noticed when the socket takes nothing: ${title}`, async () => {
      let isAborted = false;
      const results = [...takes];
      const socket = open(
        async (request) => {
          request.signal.addEventListener("abort", () => {
            isAborted = true;
          });
          await turn();
          return responseOf("x".repeat(100), {});
        },
        { take: () => results.shift() ?? -1 },
      );
      socket.connection.receive(Buffer.from("GET /a HTTP/1.1\r\nHost: a\r\n\r\n"));
      for (let turns = 0; turns < 5; turns++) await turn();
      socket.drain();
      for (let turns = 0; turns < 5; turns++) await turn();
      assert.equal(socket.isTerminated, true);
      assert.equal(isAborted, true);
    });
});
