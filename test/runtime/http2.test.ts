// HTTP/2 on both runtimes: requests, what is malformed, floods of frames, and stopping.

import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { responseOf } from "../../src/lib/plain-response.ts";
import { makeCertificate } from "../certificates.ts";
import fc from "../fast-check.ts";
import {
  block,
  field,
  frame,
  frameTypes,
  type Http2Client,
  openHttp2,
  openRaw,
} from "../http2-client.ts";
import { runs, within } from "../seeds.ts";
import { openTls } from "../tls-client.ts";
import { isBun, start, type TestServer } from "./test-server.ts";

const tls = makeCertificate();
const patience = within(60_000);
const { data, headers, reset, settings, ping, goaway } = frameTypes;
const continuation = 9;
const windowUpdate = 8;
const endStream = 1;
const endHeaders = 4;

describe("HTTP/2", () => {
  let server: TestServer;
  before(async () => {
    server = await start(undefined, { tls, http2: true });
  });
  after(() => server.stop(0));

  it("serves requests at the same time, with host and client address", patience, async () => {
    const { session, request } = await openHttp2(server.port);
    const paths = Array.from({ length: 20 }, (_, index) => `/people?page=${index}`);
    const responses = await Promise.all(paths.map((path) => request(path)));
    for (const [index, { status, body }] of responses.entries()) {
      const seen = JSON.parse(body);
      assert.equal(status, 200);
      assert.equal(seen.url, `https://localhost:${server.port}${paths[index]}`);
      assert.equal(seen.headers.host, `localhost:${server.port}`);
      assert.match(seen.peerAddress, /127\.0\.0\.1|^::1$/);
    }
    const posted = await request("/people", { method: "POST", body: "x".repeat(100_000) });
    assert.equal(JSON.parse(posted.body).body.length, 100_000);
    const head = await request("/people", { method: "HEAD" });
    assert.equal(head.body, "");
    assert.ok(Number(head.headers["content-length"]) > 0);
    for (const name of ["connection", "keep-alive", "transfer-encoding"])
      assert.equal(posted.headers[name], undefined);
    session.destroy();
  });

  it("leaves the choice to the client", async () => {
    const http1 = await openTls(server.port, { ALPNProtocols: ["http/1.1"] });
    assert.equal((await http1.get("/x"))?.status, 200);
    http1.destroy();
  });

  const malformed: Readonly<Record<string, Buffer>> = {
    "a field of the connection": block("GET", "/bad", field("connection", "close")),
    "a transfer coding": block("GET", "/bad", field("transfer-encoding", "chunked")),
    "an upper-case name": block("GET", "/bad", field("Bad", "x")),
    "another host than :authority": block("GET", "/bad", field("host", "other.test")),
    "no path": Buffer.concat([field(":method", "GET"), field(":scheme", "https")]),
    "a path that is no path": block("GET", "bad"),
    "too many fields": block(
      "GET",
      "/bad",
      ...Array.from({ length: 60 }, (_, index) => field(`x-${index}`, "y".repeat(120))),
      ...Array.from({ length: 240 }, (_, index) => field(`z-${index}`, "")),
    ),
  };
  for (const [name, sent] of Object.entries(malformed))
    it(`does not pass on a request with ${name}`, patience, async () => {
      const raw = await openRaw(server.port);
      raw.socket.write(frame(headers, endStream | endHeaders, 1, sent));
      await raw.until(({ type, stream }) => type === goaway || stream === 1);
      raw.socket.destroy();
      assert.ok(!server.reached.some((request) => request.includes("/bad")), server.reached.join());
    });

  it("gives the application no body that is shorter than its length", patience, async () => {
    const raw = await openRaw(server.port);
    const sent = block("POST", "/short", field("content-length", "10"));
    raw.socket.write(frame(headers, endHeaders, 1, sent));
    raw.socket.write(frame(data, endStream, 1, Buffer.from("abc")));
    await raw.until(({ type, stream }) => type === goaway || (type === reset && stream === 1));
    assert.ok(!raw.frames().some(({ type, stream }) => type === headers && stream === 1));
    raw.socket.destroy();
  });

  const slow = block("GET", "/x");
  const odd = (index: number) => index * 2 + 1;
  const floods: Readonly<Record<string, readonly [count: number, (index: number) => Buffer]>> = {
    "rapid resets": [
      20_000,
      (index) =>
        Buffer.concat([
          frame(headers, endStream | endHeaders, odd(index), slow),
          frame(reset, 0, odd(index), Buffer.of(0, 0, 0, 8)),
        ]),
    ],
    "a header section without end": [
      20_000,
      (index) =>
        index === 0
          ? frame(headers, endStream, 1, slow)
          : frame(continuation, 0, 1, field("a".repeat(20), "b".repeat(100))),
    ],
    "empty continuations": [
      50_000,
      (index) => (index === 0 ? frame(headers, endStream, 1, slow) : frame(continuation, 0, 1)),
    ],
    "a window that overflows": [
      3,
      () => frame(windowUpdate, 0, 0, Buffer.of(0x7f, 0xff, 0xff, 0xff)),
    ],
  };
  for (const [name, [count, next]] of Object.entries(floods))
    it(`ends a session with ${name}`, patience, async () => {
      const raw = await openRaw(server.port);
      const sent = await raw.flood(count, next);
      await raw.until(() => false);
      assert.ok(raw.isClosed);
      assert.ok(sent < count || count === 3, `${sent}`);
      raw.socket.destroy();
    });

  const answered = {
    pings: frame(ping, 0, 0, Buffer.alloc(8)),
    settings: frame(settings, 0, 0, Buffer.of(0, 4, 0, 0, 0xff, 0xff)),
  };
  for (const [name, one] of Object.entries(answered))
    it(`ends a session with ${name} whose answers are not read`, patience, async () => {
      const many = Buffer.concat(Array(500).fill(one));
      const raw = await openRaw(server.port, true);
      const before = process.memoryUsage().rss;
      const sent = await raw.flood(8_000, () => many);
      assert.ok(sent < 8_000);
      // Both the server and this client are in this process.
      assert.ok(process.memoryUsage().rss - before < 200_000_000);
      raw.socket.destroy();
    });

  it("refuses streams beyond its limit", patience, async () => {
    const raw = await openRaw(server.port);
    await raw.flood(1_000, (index) =>
      frame(headers, endHeaders, odd(index), block("POST", "/open")),
    );
    await raw.until(({ type, payload }) => type === reset && payload.readUInt32BE(0) === 7);
    const open = server.reached.filter((request) => request.endsWith("/open")).length;
    assert.ok(open <= 256, `${open}`);
    raw.socket.destroy();
  });

  it("survives any frames", patience, async () => {
    const any = fc.record({
      type: fc.nat(12),
      flags: fc.nat(255),
      stream: fc.nat(9),
      payload: fc.uint8Array({ maxLength: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(any, { maxLength: 20 }), async (frames) => {
        const raw = await openRaw(server.port);
        for (const { type, flags, stream, payload } of frames)
          raw.socket.write(frame(type, flags, stream, Buffer.from(payload)));
        raw.socket.end();
        await once(raw.socket, "close");
      }),
      { numRuns: runs(30, 2_000) },
    );
    const { session, request } = await openHttp2(server.port);
    assert.equal((await request("/after")).status, 200);
    session.destroy();
  });
});

describe("answers over HTTP/2", () => {
  const reading = Promise.withResolvers<void>();
  const answers: Readonly<Record<string, (request: Request) => Response | Promise<Response>>> = {
    "/throws": () => {
      throw new Error("a bug");
    },
    "/rejects": async () => {
      throw new Error("a bug");
    },
    "/early": () => responseOf("too large", { status: 413 }),
    "/partly": async (request) => {
      const reader = request.body?.getReader();
      await reader?.read();
      await reader?.cancel();
      return responseOf("too large", { status: 413 });
    },
    "/late": async (request) => {
      await reading.promise;
      return responseOf(`read ${(await request.bytes()).length}`, {});
    },
    "/read": () => {
      reading.resolve();
      return responseOf("", {});
    },
    "/breaks": () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            controller.error(new Error("a bug"));
          },
        }),
      ),
    "/cookies": () =>
      new Response(null, {
        status: 204,
        headers: [
          ["set-cookie", "a=1"],
          ["set-cookie", "b=2"],
        ],
      }),
  };
  let server: TestServer;
  let client: Http2Client;
  before(async () => {
    const fetch = (request: Request) =>
      answers[new URL(request.url).pathname]?.(request) ?? responseOf("hello", {});
    server = await start(fetch, { tls, http2: true });
    client = await openHttp2(server.port);
  });
  after(async () => {
    client.session.destroy();
    await server.stop(0);
  });

  for (const path of ["/throws", "/rejects"])
    it(`${path}: 500 by the application, with the cause for its log`, patience, async () => {
      server.errors.length = 0;
      const { status, body } = await client.request(path);
      assert.equal(status, 500);
      assert.ok(!body.includes("a bug"));
      assert.match(String(server.errors[0]?.cause), /a bug/);
    });

  for (const path of ["/early", "/partly"])
    it(`${path}: the rest of a body is not waited for`, patience, async () => {
      const stream = client.session.request({ ":method": "POST", ":path": path });
      stream.on("error", () => undefined);
      stream.write(Buffer.alloc(1_000_000));
      const [fields] = await once(stream, "response");
      assert.equal(fields[":status"], 413);
      let text = "";
      for await (const chunk of stream) text += chunk;
      assert.equal(text, "too large");
      assert.equal((await client.request("/")).body, "hello");
    });

  it("a body that has ended before it is read is complete", patience, async () => {
    const texts = ["", "body"].map((body) => {
      const stream = client.session.request({ ":method": "POST", ":path": "/late" });
      stream.setEncoding("utf8").end(body);
      return Array.fromAsync(stream);
    });
    // The ends have arrived when a later request is answered.
    await client.request("/");
    await client.request("/read");
    assert.deepEqual(await Promise.all(texts), [["read 0"], ["read 4"]]);
  });

  it("a body that breaks never looks complete", patience, async () => {
    const stream = client.session.request({ ":path": "/breaks" });
    const [error] = await once(stream, "error").catch((error) => [error]);
    assert.match(String(error), /closed with error/i);
  });

  it("have each cookie in a field of its own", patience, async () => {
    const { headers } = await client.request("/cookies");
    assert.deepEqual(headers["set-cookie"], ["a=1", "b=2"]);
  });

  const rejected: Readonly<Record<string, readonly [number, Record<string, string>]>> = {
    "/a/../b": [400, {}],
    "/a\\b": [400, {}],
    "/\u00e4": [400, {}],
    "/expects": [417, { expect: "200-ok" }],
    "/large": [431, { "x-large": "x".repeat(17_000) }],
  };
  for (const [path, [status, headers]] of Object.entries(rejected))
    it(`${path} is ${status} with details`, { skip: isBun && "Bun has none" }, async () => {
      const answer = await client.request(path, { headers });
      assert.equal(answer.status, status);
      assert.equal(JSON.parse(answer.body).status, status);
      const head = await client.request(path, { headers, method: "HEAD" });
      assert.deepEqual([head.status, head.body], [status, ""]);
    });

  it("OPTIONS * is for the whole server", { skip: isBun && "Bun has none" }, async () => {
    await client.request("*", { method: "OPTIONS" });
    assert.equal(server.reached.at(-1), `OPTIONS https://localhost:${server.port}*`);
  });
});

describe("stopping with HTTP/2", () => {
  it("answers what was asked, and closes sessions", patience, async () => {
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const server = await start(
      async () => {
        asked.resolve();
        await gate.promise;
        return new Response("late");
      },
      { tls, http2: true },
    );
    const idle = await openHttp2(server.port);
    const busy = await openHttp2(server.port);
    const closed = once(idle.session, "close");
    const answer = busy.request("/");
    await asked.promise;
    const stopped = server.stop(20_000);
    gate.resolve();
    assert.equal((await answer).body, "late");
    await stopped;
    await closed;
  });
});

describe("interim responses over HTTP/2", { skip: isBun && "Bun sends none" }, () => {
  it("come before the final one", patience, async () => {
    const server = await start(
      (_request, { sendInterim }) => {
        sendInterim?.(104, { location: "/-/uploads/x" });
        return new Response("done");
      },
      { tls, http2: true },
    );
    const { session, request } = await openHttp2(server.port);
    const { status, interim, body } = await request("/");
    assert.deepEqual([status, interim, body], [200, [104], "done"]);
    session.destroy();
    await server.stop(0);
  });

  it("answer Expect when the body is read, and not before", patience, async () => {
    const server = await start(
      async (request) => {
        if (request.url.endsWith("/read")) return new Response(await request.text());
        return new Response("no", { status: 401 });
      },
      { tls, http2: true },
    );
    const { session, request } = await openHttp2(server.port);
    const sent = { method: "POST", body: "hello", headers: { expect: "100-continue" } };
    const read = await request("/read", sent);
    assert.deepEqual([read.status, read.body, read.interim], [200, "hello", [100]]);
    const refused = await request("/refuse", sent);
    assert.deepEqual([refused.status, refused.interim], [401, []]);
    session.destroy();
    await server.stop(0);
  });
});
