// What both runtimes guarantee to the application and its clients, over raw sockets.
// @runtimes both

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import { within } from "../seeds.ts";
import { passTurns } from "../turns-of.ts";
import { openConnection, type RawConnection, type RawResponse, send } from "./raw-connection.ts";
import { type SeenRequest, start, type TestServer } from "./test-server.ts";

/** If something never comes. */
const patience = within(300_000);
const hourMs = 3_600_000;
const get = (target: string, ...fields: string[]) =>
  [`GET ${target} HTTP/1.1`, "Host: a", ...fields, "", ""].join("\r\n");
const post = (target: string, ...fields: string[]) =>
  [`POST ${target} HTTP/1.1`, "Host: a", ...fields, "", ""].join("\r\n");

/** What the application received, from its response. */
function seen(response: RawResponse | undefined): SeenRequest {
  assert.equal(response?.status, 200);
  return JSON.parse(response.body);
}

describe("requests that reach the application", () => {
  let server: TestServer;
  before(async () => {
    server = await start();
  });
  after(() => server.stop(0));
  beforeEach(() => {
    server.reached.length = 0;
    server.bodyErrors.length = 0;
  });

  it("an absolute target is handled like a path; its authority counts", async () => {
    const bytes = "GET HTTP://api.example/people/1?x=1 HTTP/1.1\r\nHost: other\r\n\r\n";
    const { responses } = await send(server.port, bytes);
    const { url, headers } = seen(responses[0]);
    const authority = "api.example";
    assert.equal(url, `http://${authority}/people/1?x=1`);
    assert.equal(headers.host, authority);
  });

  it("an absolute target may have no path, and HTTP/1.0 no Host", async () => {
    const bytes = "GET http://api.example?x=1 HTTP/1.0\r\n\r\n";
    const { responses } = await send(server.port, bytes);
    assert.equal(seen(responses[0]).url, "http://api.example/?x=1");
  });

  it("HTTP/1.0 without Host is handled and closed", async () => {
    const { responses, closed } = await send(server.port, "GET /a HTTP/1.0\r\n\r\n");
    assert.equal(seen(responses[0]).url, "http://localhost/a");
    assert.equal(closed, true);
  });

  it("HTTP/1.0 keeps its connection if the client asks for it, and the end of the response is known", async () => {
    const kept = "GET /a HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    const last = "GET /b HTTP/1.0\r\n\r\n";
    const { responses, closed } = await send(server.port, kept + kept + last + kept);
    assert.deepEqual(
      responses.map((response) => response.headers.connection),
      ["keep-alive", "keep-alive", "close"],
    );
    assert.equal(closed, true);
  });

  it("Upgrade is ignored, and what follows it is never parsed from its middle", async () => {
    const upgrade = "Connection: Upgrade\r\nUpgrade: h2c\r\n";
    const hidden = "DELETE /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    const head = `POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: ${hidden.length}\r\n\r\n`;
    const first = `GET /a HTTP/1.1\r\nHost: a\r\n${upgrade}\r\n`;
    for (const segments of [
      [first + head, hidden],
      [first, head + hidden],
      [first + head + hidden],
    ]) {
      server.reached.length = 0;
      const { responses, closed } = await send(server.port, segments, { answers: 2 });
      assert.equal(seen(responses[0]).url, "http://a/a");
      assert.ok(!server.reached.some((line) => line.includes("hidden")), `${server.reached}`);
      assert.equal(closed, false);
      assert.equal(responses.length, 2);
    }
  });

  it("chunk extensions are ignored", async () => {
    const chunks = '5;a=b;c="d"\r\nhello\r\n0\r\n\r\n';
    const bytes = `${post("/a", "Transfer-Encoding: chunked")}${chunks}`;
    const { responses, closed } = await send(server.port, bytes);
    assert.equal(seen(responses[0]).body, "hello");
    assert.equal(closed, false);
  });

  it("reading the body fails in the application when it ends early", async () => {
    await send(server.port, `${post("/a", "Content-Length: 50")}hello`, { halfClose: true });
    assert.deepEqual(server.reached, ["POST http://a/a"]);
    assert.equal(server.bodyErrors.length, 1);
  });

  it("an empty line before the request line is ignored", async () => {
    const { responses } = await send(server.port, `\r\n${get("/a")}`);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200],
    );
  });

  it("pipelined requests get responses in order", async () => {
    const { responses } = await send(server.port, get("/1") + get("/2") + get("/3"), {
      answers: 3,
    });
    assert.deepEqual(
      responses.map((response) => seen(response).url),
      ["http://a/1", "http://a/2", "http://a/3"],
    );
  });

  it("pipelined requests after a slow response, too", async () => {
    const slow = await start(async () => {
      await passTurns();
      return new Response("done");
    });
    const { responses, closed } = await send(slow.port, get("/1") + get("/2"), { answers: 2 });
    await slow.stop(0);
    assert.equal(responses.length, 2);
    assert.equal(closed, false);
    assert.equal(slow.reached.length, 2);
  });

  it("nothing after `Connection: close` is processed, and the response before it arrives", async () => {
    const bytes = get("/1", "Connection: close") + get("/2");
    const { responses, closed } = await send(server.port, bytes, { answers: 2 });
    assert.equal(seen(responses[0]).url, "http://a/1");
    assert.equal(responses.length, 1);
    assert.equal(closed, true);
    assert.deepEqual(server.reached, ["GET http://a/1"]);
    assert.equal(responses[0]?.headers.connection, "close");
  });

  it("a pending response is sent before the error of what follows it", async () => {
    const { responses, closed } = await send(server.port, `${get("/1")}\x01garbage\r\n\r\n`, {
      answers: 2,
    });
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 400],
    );
    assert.equal(closed, true);
  });

  it("trailers are not merged into the headers", async () => {
    const chunks = "5\r\nhello\r\n0\r\nAuthorization: Bearer t\r\n\r\n";
    const bytes = `${post("/a", "Transfer-Encoding: chunked")}${chunks}`;
    const { responses } = await send(server.port, [bytes, get("/b")], { answers: 2 });
    assert.equal(seen(responses[0]).headers.authorization, undefined);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200],
    );
  });

  it("the body of a GET is skipped and the next request parses", async () => {
    const bytes = `${get("/a", "Content-Length: 5")}hello${get("/b")}`;
    const { responses } = await send(server.port, bytes, { answers: 2 });
    assert.deepEqual(
      responses.map((response) => seen(response).url),
      ["http://a/a", "http://a/b"],
    );
  });

  it("a target of 7,990 bytes is accepted", async () => {
    const target = `/${"x".repeat(7_989)}`;
    const { responses } = await send(server.port, get(target));
    assert.equal(seen(responses[0]).url, `http://a${target}`);
  });

  it("two lines of a single-value header arrive as one joined value", async () => {
    const bytes = post(
      "/a",
      "Content-Type: a/b",
      "Content-Type: c/d",
      "Authorization: Bearer a",
      "Authorization: Bearer b",
      "Content-Length: 0",
    );
    const { headers } = seen((await send(server.port, bytes)).responses[0]);
    assert.equal(headers["content-type"], "a/b, c/d");
    assert.equal(headers.authorization, "Bearer a, Bearer b");
  });

  it("OPTIONS * is for the whole server", async () => {
    const { responses } = await send(server.port, "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert.equal(seen(responses[0]).url, "http://a*");
  });

  it("TRACE and every other known method are passed to the application", async () => {
    for (const method of ["TRACE", "QUERY", "PROPFIND", "OPTIONS", "DELETE"]) {
      const { responses } = await send(server.port, `${method} /a HTTP/1.1\r\nHost: a\r\n\r\n`);
      assert.equal(seen(responses[0]).method, method);
    }
  });

  it("the peer address is available", async () => {
    const { responses } = await send(server.port, get("/a"));
    assert.equal(seen(responses[0]).peerAddress, "127.0.0.1");
  });

  it("a large body that is read keeps the connection open", async () => {
    const body = "x".repeat(300_000);
    const bytes = [post("/a", `Content-Length: ${body.length}`) + body, get("/b")];
    const { responses, closed } = await send(server.port, bytes, { answers: 2 });
    assert.equal(seen(responses[0]).body.length, body.length);
    assert.equal(seen(responses[1]).url, "http://a/b");
    assert.equal(closed, false);
  });
});

describe("Expect: 100-continue", () => {
  let server: TestServer;
  before(async () => {
    server = await start(async (request) =>
      request.url.endsWith("/no")
        ? new Response("no", { status: 413 })
        : new Response(await request.text()),
    );
  });
  after(() => server.stop(0));
  const expecting = (target: string, version = "1.1") =>
    `POST ${target} HTTP/${version}\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n`;

  it("100 is sent before the body is needed", async () => {
    const wire = await openConnection(server.port);
    wire.write(expecting("/yes"));
    assert.equal((await wire.response())?.status, 100);
    wire.write("hello");
    assert.equal((await wire.response())?.body, "hello");
    wire.write(get("/yes"));
    assert.equal((await wire.response())?.status, 200);
    wire.destroy();
  });

  it("a response without the body is sent immediately, without 100, and closes", async () => {
    const { responses, closed } = await send(server.port, expecting("/no"));
    assert.deepEqual(
      responses.map(({ status }) => status),
      [413],
    );
    assert.equal(closed, true);
  });

  it("HTTP/1.0 gets no 100", async () => {
    const { responses } = await send(server.port, [expecting("/yes", "1.0"), "hello"]);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200],
    );
  });
});

describe("a response before the body was read", () => {
  let server: TestServer;
  before(async () => {
    server = await start(async (request) => {
      if (request.url.endsWith("/partly")) {
        const reader = request.body?.getReader();
        await reader?.read();
        await reader?.cancel();
      }
      return new Response("too large", { status: 413 });
    });
  });
  after(() => server.stop(0));
  beforeEach(() => {
    server.reached.length = 0;
  });

  it("a small rest is skipped and never parsed as the next request", async () => {
    const body = get("/smuggled");
    const bytes = [post("/early", `Content-Length: ${body.length}`), body + get("/next")];
    const { responses } = await send(server.port, bytes, { answers: 2 });
    assert.deepEqual(
      responses.map(({ status }) => status),
      [413, 413],
    );
    assert.deepEqual(server.reached, ["POST http://a/early", "GET http://a/next"]);
  });

  const sizeBytes = 8_000_000;
  for (const target of ["/early", "/partly"]) {
    for (const framing of [`Content-Length: ${sizeBytes}`, "Transfer-Encoding: chunked"]) {
      it(`${target}, ${framing}: a client that reads last still gets the response`, async () => {
        const isChunked = framing.includes("chunked");
        const body = Buffer.alloc(sizeBytes, get("/smuggled"));
        const wire = await openConnection(server.port);
        wire.write(post(target, framing));
        if (isChunked) wire.write(`${sizeBytes.toString(16)}\r\n`);
        wire.write(body);
        if (isChunked) wire.write("\r\n0\r\n\r\n");
        wire.write(get("/next"));
        const answer = await wire.response();
        assert.equal(answer?.status, 413);
        // The close is announced, and nothing after it is handled.
        assert.equal(answer.headers.connection, "close");
        assert.deepEqual(server.reached, [`POST http://a${target}`]);
        wire.destroy();
      });
    }
  }
});

describe("responses", () => {
  const text = (
    body: ConstructorParameters<typeof Response>[0],
    headers: Record<string, string> = {},
    status = 200,
  ) => new Response(body, { status, headers: { "content-type": "text/plain", ...headers } });
  const stream = () => new Blob(["hello"]).stream();
  const answers: Record<string, () => Response | Promise<Response>> = {
    "/text": () => text("hello"),
    "/later": async () => text("hello"),
    "/bytes": () => text(new TextEncoder().encode("hello")),
    "/stream": () => text(stream(), { "content-length": "5" }),
    "/missing": () => text("gone", {}, 404),
    "/unchanged": () => new Response(null, { status: 304, headers: { etag: '"1"' } }),
    "/nothing": () => new Response(null, { status: 204 }),
    "/throws": () => {
      throw new Error("a bug");
    },
    "/rejects": async () => {
      throw new Error("a bug");
    },
    "/breaks": () =>
      text(
        new ReadableStream({
          pull(controller) {
            controller.error(new Error("a bug"));
          },
        }),
      ),
    "/unwritable": () => text("hello", { "x-control": "a\x01b" }),
  };
  let server: TestServer;
  before(async () => {
    server = await start((request) => {
      const answer = answers[new URL(request.url).pathname];
      return answer === undefined ? text("no such test", {}, 404) : answer();
    });
  });
  after(() => server.stop(0));
  beforeEach(() => {
    server.errors.length = 0;
  });

  for (const path of [
    "/text",
    "/later",
    "/bytes",
    "/stream",
    "/missing",
    "/unchanged",
    "/nothing",
  ]) {
    it(`HEAD ${path} has the headers of GET and no body`, async () => {
      const [got] = (await send(server.port, get(path))).responses;
      const head = get(path).replace("GET", "HEAD");
      // The second request shows that not one byte too many came with the first.
      const { responses } = await send(server.port, head + head, { head: true, answers: 2 });
      assert.equal(responses.length, 2);
      for (const response of responses) {
        assert.equal(response.status, got?.status);
        for (const name of ["content-length", "content-type", "etag"])
          assert.equal(response.headers[name], got?.headers[name], name);
        assert.ok(Date.parse(response.headers.date ?? "") > 0);
        assert.equal(response.headers["transfer-encoding"], undefined);
      }
    });
  }

  for (const path of ["/throws", "/rejects"]) {
    it(`${path}: 500 by the application, with the cause for its log`, async () => {
      const { responses } = await send(server.port, get(path));
      assert.equal(responses[0]?.status, 500);
      assert.equal(JSON.parse(responses[0].body).status, 500);
      assert.ok(!responses[0].body.includes("a bug"));
      assert.match(String(server.errors[0]?.cause), /a bug/);
    });
  }

  it("a body that ends early never looks complete", async () => {
    const { responses, closed } = await send(server.port, get("/breaks"));
    assert.deepEqual(responses, []);
    assert.equal(closed, true);
  });

  it("an invalid response header is a 500 and does not end the process", async () => {
    const { responses } = await send(server.port, get("/unwritable"));
    assert.deepEqual(
      responses.map(({ status }) => status),
      [500],
    );
    assert.equal((await send(server.port, get("/text"))).responses[0]?.status, 200);
  });
});

it("a client that disconnects after CONNECT has no effect", async () => {
  const arrived = Promise.withResolvers<Request>();
  const released = Promise.withResolvers<void>();
  const server = await start(async (request) => {
    arrived.resolve(request);
    await released.promise;
    return new Response("late");
  });
  const wire = await openConnection(server.port);
  wire.write(get("/1"));
  const disconnected = once((await arrived.promise).signal, "abort");
  wire.write("CONNECT h:443 HTTP/1.1\r\nHost: h:443\r\n\r\n");
  wire.reset();
  await disconnected;
  released.resolve();
  assert.equal((await send(server.port, get("/2"))).responses[0]?.status, 200);
  await server.stop(0);
});

describe("stop", () => {
  it("finishes requests in progress and accepts no others", async () => {
    const arrived = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const server = await start(async () => {
      arrived.resolve();
      await released.promise;
      return new Response("finished");
    });
    const busy = await openConnection(server.port);
    busy.write(get("/a"));
    await arrived.promise;

    const stopped = server.stop(hourMs);
    await assert.rejects(knock(server.port));
    released.resolve();
    assert.equal((await busy.response())?.body, "finished");
    busy.destroy();
    await stopped;
  });

  it("may be asked for again", patience, async () => {
    const server = await start();
    await Promise.all([server.stop(0), server.stop(0)]);
    await server.stop(0);
  });

  it(
    "answers what was on its way, and says that it is the last on its connection",
    patience,
    async () => {
      const server = await start();
      const kept = await Promise.all(Array.from({ length: 16 }, () => openConnection(server.port)));
      const fresh = await openConnection(server.port);
      for (const connection of kept) {
        connection.write(get("/1"));
        assert.equal((await connection.response())?.headers.connection, undefined);
      }
      const stopped = server.stop(hourMs);
      for (const connection of [...kept, fresh]) {
        connection.write(get("/2"));
        connection.halfClose();
      }
      for (const connection of [...kept, fresh]) {
        const response = await connection.response();
        assert.equal(response?.headers.connection, "close");
        assert.equal(seen(response).url, "http://a/2");
      }
      await stopped;
    },
  );

  it("leaves no request of busy clients without an answer", patience, async () => {
    const server = await start();
    const busy = Promise.withResolvers<void>();
    const lasts = Array.from({ length: 16 }, async () => {
      const connection = await openConnection(server.port);
      for (;;) {
        connection.write(get("/a"));
        const response = await connection.response();
        if (response?.headers.connection !== undefined) connection.destroy();
        if (response === undefined || response.headers.connection !== undefined) return response;
        if (server.reached.length > 200) busy.resolve();
      }
    });
    await busy.promise;
    await server.stop(hourMs);
    for (const last of await Promise.all(lasts)) assert.equal(last?.headers.connection, "close");
  });

  it("closes idle connections before the grace period is over", patience, async () => {
    const server = await start();
    const idle = await openConnection(server.port);
    idle.write(get("/a"));
    assert.equal((await idle.response())?.status, 200);
    await server.stop(hourMs);
    await idle.untilClosed();
  });

  it("closes the rest when the grace period is over", async () => {
    const arrived = Promise.withResolvers<void>();
    const server = await start(() => {
      arrived.resolve();
      return new Promise<Response>(() => {});
    });
    const [hung, halfSent]: RawConnection[] = [
      await openConnection(server.port),
      await openConnection(server.port),
    ];
    hung?.write(get("/a"));
    halfSent?.write("GET /a HTT");
    await arrived.promise;
    await server.stop(50);
    for (const wire of [hung, halfSent]) {
      await wire?.untilClosed();
    }
  });
});

describe("timeouts", () => {
  it("an incomplete header section is 408 in time", patience, async () => {
    const server = await start();
    const { responses, closed } = await send(server.port, "GET /a HTTP/1.1\r\nHo");
    assert.equal(closed, true);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [408],
    );
    assert.equal(responses[0]?.headers.connection, "close");
    await server.stop(0);
  });
});

describe("a client that has left before it was accepted", () => {
  it("has an empty address", patience, async () => {
    const addresses: string[] = [];
    const server = await start((_, client) => {
      addresses.push(client.peerAddress());
      return new Response("");
    });
    const program = `const socket = require("node:net").connect(${server.port}, "127.0.0.1", () =>
      socket.write(${JSON.stringify(get("/left"))}, () => socket.resetAndDestroy()));`;
    // Nothing is accepted meanwhile.
    spawnSync(process.execPath, ["-e", program]);
    await send(server.port, get("/here"));
    assert.equal(addresses.pop(), "127.0.0.1");
    assert.deepEqual(
      addresses.filter((address) => address !== ""),
      [],
    );
    await server.stop(0);
  });
});

/** Resolves when the port takes a connection. */
function knock(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve();
    });
    socket.on("error", reject);
  });
}
