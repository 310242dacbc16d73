// A connection over TLS that speaks HTTP/1.1, and tells which certificate the server has shown.

import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { type RawConnection, wrapSocket } from "./runtime/raw-connection.ts";

export interface TlsConnection extends RawConnection {
  /** The common name in the certificate of the server. */
  readonly name: string;
  readonly socket: TLSSocket;
  /** Sends a GET, and returns status, body and whether the server closes the connection after it. */
  get(path: string): Promise<{ status: number; body: string; closes: boolean } | undefined>;
}

/** Opens one again when it is reset, as Bun may do while it changes its certificate. */
export const reopenTls = (port: number): Promise<TlsConnection> =>
  openTls(port).catch((error) => {
    if (error.code !== "ECONNRESET") throw error;
    return reopenTls(port);
  });

/** Rejects when the server refuses the handshake. */
export async function openTls(
  port: number,
  options: ConnectionOptions = {},
): Promise<TlsConnection> {
  const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ...options });
  await once(socket, "secureConnect");
  const connection = wrapSocket(socket, false);
  return Object.assign(connection, {
    socket,
    name: String(socket.getPeerCertificate().subject.CN),
    async get(path: string) {
      connection.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      const response = await connection.response();
      if (response === undefined) return undefined;
      const closes = response.headers.connection?.toLowerCase() === "close";
      return { status: response.status, body: response.body, closes };
    },
  });
}

/** Sends bytes without a handshake. Resolves with what the server has sent when it closes. */
export async function sendPlain(port: number, pieces: readonly Uint8Array[]): Promise<Buffer> {
  const socket = connectTcp({ port, host: "127.0.0.1", noDelay: true });
  const received: Buffer[] = [];
  socket.on("data", (bytes: Buffer) => received.push(bytes));
  const closed = untilClosed(socket);
  await once(socket, "connect");
  for (const piece of pieces) {
    socket.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  return Buffer.concat(received);
}

/** A reset is a close, too; `once` would reject. */
export function untilClosed(socket: Socket): Promise<unknown> {
  socket.on("error", () => undefined);
  return new Promise((resolve) => socket.once("close", resolve));
}

/** Resolves when each of some new connections gets this certificate. */
export async function untilShown(port: number, name: string): Promise<void> {
  for (let inARow = 0; inARow < 20; ) {
    const connection = await reopenTls(port);
    inARow = connection.name === name ? inARow + 1 : 0;
    connection.destroy();
    if (inARow === 0) await sleep(200);
  }
}
