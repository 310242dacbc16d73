// Sessions of HTTP/2 on Node whose clients do not read, or have left: their sockets are closed.

import assert from "node:assert/strict";
import { type EventEmitter, once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { connect as connectTls, createServer, type Server, type TLSSocket } from "node:tls";
import { Http2Sessions } from "../../src/runtime/node-http2.ts";
import type { ServeOptions } from "../../src/runtime/runtime.ts";
import { makeCertificate } from "../certificates.ts";
import { block, frame, frameTypes } from "../http2-client.ts";
import { within } from "../seeds.ts";
import { maxHeaderBytes } from "./test-server.ts";

const isBun = process.versions.bun !== undefined;
const patience = within(60_000);
const timeouts = { idleMs: 300, streamMs: 600, lingerMs: 300 };
const tls = makeCertificate();
const windowUpdate = 8;
const endOfRequest = 5;

/** More than the kernel keeps for a connection. */
const wide = 1 << 26;

/** Settings of which one is the window of a stream. */
function windowOf(bytes: number): Buffer {
  const payload = Buffer.alloc(6);
  payload.writeUInt16BE(4, 0);
  payload.writeUInt32BE(bytes, 2);
  return frame(frameTypes.settings, 0, 0, payload);
}

function moreForSession(bytes: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame(windowUpdate, 0, 0, payload);
}

/** A response without an end, in large chunks. */
const endless = (): Response =>
  new Response(
    new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }),
  );

describe("an HTTP/2 session on Node", { skip: isBun && "Bun has its own HTTP/2" }, () => {
  let server: Server;
  let opened: EventEmitter | undefined;
  before(async () => {
    const options = { fetch: async () => endless(), errorResponse: () => new Response(), tls };
    const sessions = new Http2Sessions(
      { ...options, maxHeaderBytes, host: "127.0.0.1", port: 0 } as unknown as ServeOptions,
      timeouts,
    );
    server = createServer({ ...tls, ALPNProtocols: ["h2"] }, (socket) => {
      opened = socket;
      sessions.open(socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
  });
  after(() => server.close());

  /** Asks for the response, reads nothing of it, and returns the socket of the server. */
  async function ask(window: number) {
    const plain = connect({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
    const client = connectTls({ socket: plain, rejectUnauthorized: false, ALPNProtocols: ["h2"] });
    for (const one of [plain, client]) one.on("error", () => undefined);
    await once(client, "secureConnect");
    client.pause();
    client.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    client.write(Buffer.concat([windowOf(window), moreForSession(wide)]));
    client.write(frame(frameTypes.headers, endOfRequest, 1, block("GET", "/endless")));
    while (opened === undefined) await once(server, "secureConnection");
    const socket = opened as TLSSocket;
    opened = undefined;
    // The server has sent what the client takes.
    for (let last = -1; last !== socket.bytesWritten; await sleep(100)) last = socket.bytesWritten;
    return { plain, client, socket };
  }

  const closed = (socket: TLSSocket) =>
    new Promise<void>((resolve) => {
      if (socket.closed) resolve();
      else socket.once("close", () => resolve());
    });

  for (const [name, window] of Object.entries({ "a wide window": wide, "a small window": 1_000 })) {
    it(`ends for a client that reads nothing, with ${name}`, patience, async () => {
      const { socket, plain } = await ask(window);
      await closed(socket);
      assert.ok(socket.destroyed);
      plain.destroy();
    });

    for (const leave of ["end", "reset"] as const)
      it(`ends for a client that has left by ${leave}, with ${name}`, patience, async () => {
        const { socket, plain, client } = await ask(window);
        if (leave === "end") client.end();
        else plain.resetAndDestroy();
        await closed(socket);
        assert.ok(socket.destroyed);
        plain.destroy();
      });
  }
});
