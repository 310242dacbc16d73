// TLS on both runtimes: requests, versions, what is no handshake, another certificate, and stopping.
// @runtimes both

import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { after, before, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import { makeCertificate } from "../certificates.ts";
import fc from "../fast-check.ts";
import { runs, within } from "../seeds.ts";
import { openTls, sendPlain, untilClosed, untilShown } from "../tls-client.ts";
import { isBun, start, type TestServer } from "./test-server.ts";

const first = makeCertificate({ name: "first" });
const second = makeCertificate({ name: "second" });
const third = makeCertificate({ name: "third" });
/** Handshakes end after 5 s on Node and 12 s on Bun. */
const patience = within(300_000);

/** The types of the records of TLS. */
const alert = 0x15;
const handshake = 0x16;

describe("TLS", () => {
  let server: TestServer;
  before(async () => {
    server = await start(undefined, { tls: first });
  });
  after(() => server.stop(0));

  it("serves requests with the address of the client, under https", async () => {
    const connection = await openTls(server.port);
    const response = await connection.get("/people?page=2");
    const seen = JSON.parse(response?.body ?? "");
    assert.equal(connection.name, "first");
    assert.equal(seen.url, "https://localhost/people?page=2");
    assert.equal(seen.peerAddress, "127.0.0.1");
    assert.equal(response?.closes, false);
    connection.write("POST /people HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello");
    assert.equal(JSON.parse((await connection.response())?.body ?? "").body, "hello");
    connection.destroy();
  });

  for (const version of ["TLSv1.2", "TLSv1.3"] as const)
    it(`speaks ${version}`, async () => {
      const connection = await openTls(server.port, { minVersion: version, maxVersion: version });
      assert.equal(connection.socket.getProtocol(), version);
      connection.destroy();
    });

  it("refuses TLS 1.0 and 1.1 with an alert", async () => {
    for (const minor of [1, 2]) {
      const answer = await sendPlain(server.port, [oldHello(minor)]);
      assert.equal(answer[0], alert);
      assert.equal(answer[6], 70, "protocol_version");
    }
  });

  it("closes a connection that speaks plain HTTP", async () => {
    const request = Buffer.from("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const answer = await sendPlain(server.port, [request]);
    assert.doesNotMatch(answer.toString("latin1"), /HTTP\/1.1 2/);
    assert.ok(!server.reached.includes("GET http://localhost/"));
  });

  it("serves a client that offers other protocols, too", async () => {
    const connection = await openTls(server.port, { ALPNProtocols: ["h2", "http/1.1"] });
    assert.notEqual(connection.socket.alpnProtocol, "h2");
    assert.equal((await connection.get("/x"))?.status, 200);
    connection.destroy();
  });

  it("computes no further handshake on an open connection", { skip: isBun }, async () => {
    const { socket } = await openTls(server.port, { maxVersion: "TLSv1.2" });
    const refused = once(socket, "error");
    socket.renegotiate({ rejectUnauthorized: false }, () => undefined);
    assert.match(String((await refused)[0]), /renegotiation/i);
  });

  it("reads a handshake in any pieces", async () => {
    const hello = await clientHello();
    const cuts = fc.array(fc.integer({ min: 1, max: hello.length - 1 }), { maxLength: 12 });
    const property = fc.asyncProperty(cuts, async (positions) => {
      assert.equal(await firstByte(server.port, pieces(hello, positions)), handshake);
    });
    await fc.assert(property, { numRuns: runs(20, 2_000) });
  });

  it("survives bytes that are no handshake", async () => {
    const hello = await clientHello();
    const change = fc.record({ at: fc.nat(hello.length - 1), value: fc.nat(255) });
    const changed = fc.array(change, { minLength: 1, maxLength: 8 }).map((changes) => {
      const bytes = Buffer.from(hello);
      for (const { at, value } of changes) bytes[at] = value;
      return bytes;
    });
    const bytes = fc.oneof(changed, fc.uint8Array({ minLength: 1, maxLength: 400 }));
    await fc.assert(
      fc.asyncProperty(bytes, async (sent) => {
        // Its length may promise more bytes. Then the server waits, until we close.
        const got = await firstByte(server.port, [sent]);
        assert.ok(got === undefined || got === alert || got === handshake, String(got));
      }),
      { numRuns: runs(40, 5_000) },
    );
    const connection = await openTls(server.port);
    assert.equal((await connection.get("/after"))?.status, 200);
    connection.destroy();
  });

  it("closes connections without a complete handshake", patience, async () => {
    const hello = await clientHello();
    const dripping = connect({ port: server.port, host: "127.0.0.1" });
    const drip = setInterval(() => dripping.write(hello.subarray(0, 1)), 500);
    dripping.write(hello.subarray(0, 5));
    await Promise.all([
      sendPlain(server.port, []),
      sendPlain(server.port, [hello.subarray(0, 40)]),
      untilClosed(dripping),
    ]).finally(() => clearInterval(drip));
  });
});

describe("a port that is taken", () => {
  const kinds = { "plain HTTP": {}, TLS: { tls: first }, "a shared port": { isShared: true } };
  for (const [holder, held] of Object.entries(kinds))
    for (const [name, options] of Object.entries({ "plain HTTP": {}, TLS: { tls: second } }))
      it(`is an error for ${name}, when ${holder} has it`, async () => {
        const server = await start(undefined, held);
        await assert.rejects(start(undefined, { ...options, port: server.port }), {
          code: "EADDRINUSE",
        });
        await server.stop(0);
      });

  it("is an error, too, when its certificate was replaced", patience, async () => {
    const server = await start(undefined, { tls: first });
    server.replaceCertificate(second);
    await assert.rejects(start(undefined, { tls: third, port: server.port }), {
      code: "EADDRINUSE",
    });
    const connection = await openTls(server.port);
    assert.equal((await connection.get("/x"))?.status, 200);
    connection.destroy();
    await server.stop(0);
  });
});

describe("another certificate", () => {
  it("is for new connections, and open ones go on", patience, async () => {
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const server = await start(
      async ({ url }) => {
        if (!url.endsWith("/slow")) return new Response("done");
        asked.resolve();
        await gate.promise;
        return new Response("late");
      },
      { tls: first },
    );
    const open = await openTls(server.port);
    const slow = await openTls(server.port);
    assert.equal((await open.get("/a"))?.body, "done");
    slow.write("GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await asked.promise;
    server.replaceCertificate(second);
    server.replaceCertificate(third);
    assert.deepEqual(await open.get("/b"), { status: 200, body: "done", closes: false });
    await untilShown(server.port, "third");
    gate.resolve();
    assert.equal((await slow.response())?.body, "late");
    for (const connection of [open, slow]) connection.destroy();
    await server.stop(5_000);
  });
});

describe("stopping with TLS", () => {
  it("answers what was asked, and closes connections without a request", async () => {
    const asked = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const server = await start(
      async () => {
        asked.resolve();
        await gate.promise;
        return new Response("late");
      },
      { tls: first },
    );
    const idle = await openTls(server.port);
    const busy = await openTls(server.port);
    const answer = busy.get("/");
    await asked.promise;
    const stopped = server.stop(3_600_000);
    gate.resolve();
    assert.equal((await answer)?.body, "late");
    await stopped;
    await idle.untilClosed();
    busy.destroy();
  });
});

/** The first bytes that a client of this runtime sends. */
async function clientHello(): Promise<Buffer> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const client = connectTls({ port, host: "127.0.0.1", servername: "localhost" });
  client.on("error", () => undefined);
  const [socket] = await once(listener, "connection");
  const [bytes] = await once(socket, "data");
  client.destroy();
  socket.destroy();
  listener.close();
  return bytes;
}

/** A ClientHello of TLS 1.0 (1) or 1.1 (2) with ECDHE-ECDSA-AES128-SHA (RFC 4346 §7.4.1.2). */
function oldHello(minor: number): Buffer {
  const extensions = Buffer.from("000a000400020017000b00020100", "hex");
  const body = Buffer.concat([
    Buffer.of(3, minor, ...Buffer.alloc(32, 7), 0, 0, 2, 0xc0, 0x09, 1, 0),
    Buffer.of(0, extensions.length),
    extensions,
  ]);
  const message = Buffer.concat([Buffer.of(1, 0, 0, body.length), body]);
  return Buffer.concat([Buffer.of(handshake, 3, 1, 0, message.length), message]);
}

function pieces(bytes: Buffer, positions: readonly number[]): readonly Buffer[] {
  const cuts = [0, ...positions.toSorted((a, b) => a - b), bytes.length];
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

/** The first byte of the answer; undefined when the server closes without one, or waits for more. */
async function firstByte(port: number, sent: readonly Uint8Array[]): Promise<number | undefined> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const answered = new Promise<number | undefined>((resolve) => {
    socket.once("data", (bytes: Buffer) => resolve(bytes[0]));
    socket.once("close", () => resolve(undefined));
    socket.on("error", () => resolve(undefined));
  });
  await once(socket, "connect");
  for (const piece of sent) {
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  const byte = await answered;
  socket.destroy();
  return byte;
}
