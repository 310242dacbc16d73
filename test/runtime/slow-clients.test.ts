// Clients that do not read, or leave, and applications that do not read: over TCP and TLS.
// @runtimes both

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { after, before, beforeEach, describe, it } from "node:test";
import { connect as connectTls } from "node:tls";
import type { Client } from "../../src/lib/client.ts";
import { makeCertificate } from "../certificates.ts";
import { within } from "../seeds.ts";
import { passTurns } from "../turns-of.ts";
import { start, type TestServer } from "./test-server.ts";
import { responseOf } from "./web-reply.ts";

const patience = within(300_000);
const chunkBytes = 65_536;
/** More than the kernel keeps for a connection. */
const totalBytes = 512 * chunkBytes;
const chunkAt = (position: number): Buffer => Buffer.alloc(chunkBytes, position / chunkBytes);

/** Makes a large response while it is read, and reads a body when it is told to. */
class Application {
  madeBytes = 0;
  #sendsOneByOne = false;
  #lastChunk: Uint8Array | undefined;
  readonly mayRead = Promise.withResolvers<void>();
  readonly arrived = Promise.withResolvers<AbortSignal>();
  readonly cancelled = Promise.withResolvers<void>();
  readonly bodyFailed = Promise.withResolvers<void>();

  async fetch(request: Request, client: Client): Promise<Response> {
    this.#sendsOneByOne = client.sendsOneByOne === true;
    this.arrived.resolve(request.signal);
    if (request.url.endsWith("/never")) return new Promise<Response>(() => undefined);
    if (request.method === "GET")
      return new Response(this.#content(), { headers: { "content-length": String(totalBytes) } });
    await this.mayRead.promise;
    return responseOf(await this.#read(request), {});
  }

  #content(): ReadableStream<Uint8Array> {
    return new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          // A chunk that was sent may be used for something else.
          if (this.#sendsOneByOne) this.#lastChunk?.fill(255);
          const chunk = new Uint8Array(chunkAt(this.madeBytes));
          this.#lastChunk = chunk;
          controller.enqueue(chunk);
          this.madeBytes += chunkBytes;
          if (this.madeBytes === totalBytes) controller.close();
        },
        cancel: () => this.cancelled.resolve(),
      },
      { highWaterMark: 0 },
    );
  }

  /** Returns the hash of the body. */
  async #read(request: Request): Promise<string> {
    const hash = createHash("sha256");
    try {
      for await (const chunk of request.body ?? []) hash.update(chunk);
    } catch (error) {
      this.bodyFailed.resolve();
      throw error;
    }
    return hash.digest("hex");
  }
}

/** A request whose response is not read unless the test does. */
interface Sent {
  readonly stream: Duplex;
  /** Leaves without saying so. */
  leave(): void;
}

type Send = (port: number, method: string, path: string) => Promise<Sent>;

const headOf = (method: string, path: string): string =>
  [
    `${method} ${path} HTTP/1.1`,
    "Host: a",
    "Connection: close",
    ...(method === "POST" ? [`Content-Length: ${totalBytes}`] : []),
    "\r\n",
  ].join("\r\n");

const overTcp: Send = async (port, method, path) => {
  const stream = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  await once(stream, "connect");
  stream.write(headOf(method, path));
  return { stream, leave: () => stream.resetAndDestroy() };
};

const overTls: Send = async (port, method, path) => {
  const plain = connect({ port, host: "127.0.0.1" });
  const stream = connectTls({ socket: plain, rejectUnauthorized: false });
  await once(stream, "secureConnect");
  stream.write(headOf(method, path));
  return { stream, leave: () => plain.resetAndDestroy() };
};

/** Waits until a number stays the same in many turns of the event loop, which both sides share. */
async function settled(count: () => number): Promise<void> {
  let last: number;
  do {
    last = count();
    await passTurns(200);
  } while (count() !== last);
}

/** The content of a response. */
async function contentOf({ stream }: Sent): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const all = Buffer.concat(chunks);
  return all.subarray(all.indexOf("\r\n\r\n") + 4);
}

const hashOf = (chunks: Iterable<Uint8Array>): string => {
  const hash = createHash("sha256");
  for (const chunk of chunks) hash.update(chunk);
  return hash.digest("hex");
};

function* allChunks(): Generator<Buffer> {
  for (let at = 0; at < totalBytes; at += chunkBytes) yield chunkAt(at);
}

const tls = makeCertificate();
const ways: readonly (readonly [string, Send, object])[] = [
  ["TCP", overTcp, {}],
  ["TLS", overTls, { tls }],
];

for (const [name, send, options] of ways)
  describe(`over ${name}`, () => {
    let server: TestServer;
    let application: Application;
    before(async () => {
      server = await start((request, client) => application.fetch(request, client), options);
    });
    after(() => server.stop(0));
    beforeEach(() => {
      application = new Application();
    });

    it("a response is made as fast as the client reads it", patience, async () => {
      const sent = await send(server.port, "GET", "/");
      await application.arrived.promise;
      await settled(() => application.madeBytes);
      assert.ok(application.madeBytes < totalBytes / 2, `${application.madeBytes}`);
      assert.equal(hashOf([await contentOf(sent)]), hashOf(allChunks()));
    });

    it("a body is received as fast as the application reads it", patience, async () => {
      const sent = await send(server.port, "POST", "/");
      for (const chunk of allChunks()) sent.stream.write(chunk);
      await application.arrived.promise;
      await settled(() => sent.stream.writableLength);
      assert.ok(sent.stream.writableLength > totalBytes / 2, `${sent.stream.writableLength}`);
      application.mayRead.resolve();
      assert.equal(String(await contentOf(sent)), hashOf(allChunks()));
    });

    it("a client that leaves within a response ends it", patience, async () => {
      const sent = await send(server.port, "GET", "/");
      const signal = await application.arrived.promise;
      await settled(() => application.madeBytes);
      sent.leave();
      await application.cancelled.promise;
      assert.ok(signal.aborted);
    });

    it("a client that leaves within a body leaves no whole one", patience, async () => {
      const sent = await send(server.port, "POST", "/");
      application.mayRead.resolve();
      sent.stream.on("error", () => undefined);
      await new Promise((resolve) => sent.stream.write(chunkAt(0), resolve));
      await application.arrived.promise;
      sent.leave();
      await application.bodyFailed.promise;
    });

    it("a client that leaves before the response aborts the request", patience, async () => {
      const sent = await send(server.port, "GET", "/never");
      const signal = await application.arrived.promise;
      sent.leave();
      if (!signal.aborted) await once(signal, "abort");
    });
  });

for (const [name, send, options] of ways)
  describe(`over ${name}, a client that ends its side`, () => {
    it("and waits for a read, is taken for gone soon", patience, async () => {
      const application = new Application();
      const server = await start((request, client) => application.fetch(request, client), options);
      const sent = await send(server.port, "GET", "/never");
      const signal = await application.arrived.promise;
      sent.stream.on("error", () => undefined).resume();
      const closed = new Promise((resolve) => sent.stream.once("close", resolve));
      sent.stream.end();
      if (!signal.aborted) await once(signal, "abort");
      await closed;
      await server.stop(0);
    });

    it("gets a response that comes later", patience, async () => {
      const arrived = Promise.withResolvers<void>();
      const mayRespond = Promise.withResolvers<void>();
      const server = await start(async () => {
        arrived.resolve();
        await mayRespond.promise;
        return responseOf("hello".repeat(100_000), {});
      }, options);
      const sent = await send(server.port, "GET", "/");
      await arrived.promise;
      sent.stream.end();
      await passTurns();
      mayRespond.resolve();
      const content = await contentOf(sent);
      await server.stop(0);
      assert.equal(content.toString(), "hello".repeat(100_000));
    });
  });
