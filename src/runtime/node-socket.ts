// A socket of Node as HTTP/1.1 uses it: says when the client does not read, and takes no more then.

import type { Socket as TcpSocket } from "node:net";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import type { Http1Server } from "./http1/server.ts";
import type { Socket } from "./http1/socket.ts";

/** Large data is written in pieces, so that a client that reads slowly is seen to read. */
const pieceBytes = 65_536;

/** Writes to a stream of Node, which takes everything and keeps what the kernel does not take. */
export class NodeWriter {
  readonly #stream: Duplex;
  readonly #drained: () => void;
  isFull = false;

  constructor(stream: Duplex, drained: () => void) {
    this.#stream = stream;
    this.#drained = drained;
  }

  write(data: string | Uint8Array, byteLength: number): number {
    if (!this.#stream.writable) return -1;
    if (typeof data === "string" || byteLength <= pieceBytes) {
      this.#writePiece(data);
      return byteLength;
    }
    let taken = 0;
    for (; taken < byteLength && !this.isFull; taken += pieceBytes)
      this.#writePiece(data.subarray(taken, taken + pieceBytes));
    return Math.min(taken, byteLength);
  }

  #writePiece(data: string | Uint8Array): void {
    this.#stream.write(data, this.#written);
    this.isFull = this.#stream.writableLength > 0;
  }

  /** After an error the stream is closed. */
  readonly #written = (error?: Error | null): void => {
    if (error || !this.isFull || this.#stream.writableLength > 0) return;
    this.isFull = false;
    this.#drained();
  };
}

class NodeSocket extends NodeWriter implements Socket {
  readonly #socket: TcpSocket;
  #remoteAddress: string | undefined;

  constructor(socket: TcpSocket, drained: () => void) {
    super(socket, drained);
    this.#socket = socket;
  }

  shutdown(): void {
    this.#socket.end();
  }

  /** All that was written is in the kernel, or the client does not read the end of TLS. */
  close(): void {
    if (this.#socket.writableEnded) this.#socket.destroy();
    else this.#socket.destroySoon();
  }

  /** With a reset, so that a response that has no length does not look complete. TLS shows it, too. */
  terminate(): void {
    if (this.#socket instanceof TLSSocket) this.#socket.destroy();
    else this.#socket.resetAndDestroy();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Node asks the kernel for it. */
  get remoteAddress(): string {
    this.#remoteAddress ??= this.#socket.remoteAddress;
    return this.#remoteAddress ?? "";
  }
}

/** Serves HTTP/1.1 on a connection. */
export function openHttp1(server: Http1Server, socket: TcpSocket): void {
  // The connection decides when it ends.
  socket.allowHalfOpen = true;
  const connection = server.open(new NodeSocket(socket, () => connection.drain()));
  socket.on("data", (bytes: Buffer) => connection.receive(bytes));
  socket.on("end", () => connection.end());
  socket.on("close", () => server.closed(connection));
  // It is closed then.
  socket.on("error", () => undefined);
}
