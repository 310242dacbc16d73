// A socket without a network: takes any number of bytes, and says what the server did to it.

import type { HttpConnection } from "../../../src/runtime/http1/connection.ts";
import type { Http1Server } from "../../../src/runtime/http1/server.ts";
import type { Socket } from "../../../src/runtime/http1/socket.ts";

export interface SocketOptions {
  /** How many bytes of a write are taken. All by default. */
  readonly take?: (bytes: number) => number;
  /** Whether a write is taken as a whole, but not sent before the next drain. Never by default. */
  readonly keeps?: (() => boolean) | undefined;
  /** Whether the server hears of a close in a later turn, not at once. */
  readonly closesLater?: boolean;
}

/** A server, as a socket sees it. */
export type Connections = Pick<Http1Server, "open" | "closed">;

export class FakeSocket implements Socket {
  readonly remoteAddress = "192.0.2.1";
  readonly connection: HttpConnection;
  readonly #server: Connections;
  readonly #options: SocketOptions;
  readonly #sent: Buffer[] = [];
  #kept: Buffer | undefined;
  isPaused = false;
  /** Whether the server has closed its sending side. */
  isShut = false;
  /** Whether the server was told of the end. */
  #knowsEnd = false;
  isClosed = false;
  /** Whether both sides were closed immediately. */
  isTerminated = false;
  /** Whether a write was not taken as a whole, or not sent, so that the server waits for a drain. */
  isFull = false;
  /** What no server may do. */
  readonly mistakes: string[] = [];
  constructor(server: Connections, options: SocketOptions = {}) {
    this.#server = server;
    this.#options = options;
    this.connection = server.open(this);
  }

  write(data: string | Uint8Array): number {
    progress();
    if (this.isShut || this.#knowsEnd)
      this.mistakes.push(`write after the end: ${JSON.stringify(String(data).slice(0, 40))}`);
    if (this.isShut || this.isClosed) return -1;
    const bytes = typeof data === "string" ? Buffer.from(data) : Buffer.from(data);
    if (this.isFull) this.mistakes.push("write before the drain");
    if (this.#options.keeps?.()) return this.#keep(bytes);
    const taken = Math.min(bytes.length, this.#options.take?.(bytes.length) ?? bytes.length);
    this.#sent.push(bytes.subarray(0, taken));
    this.isFull = taken < bytes.length;
    return taken;
  }

  #keep(bytes: Buffer): number {
    this.#kept = bytes;
    this.isFull = true;
    return bytes.length;
  }

  #sendKept(): void {
    if (this.#kept !== undefined) this.#sent.push(this.#kept);
    this.#kept = undefined;
  }

  shutdown(): void {
    progress();
    this.isShut = true;
  }

  close(): void {
    progress();
    this.#sendKept();
    this.isShut = true;
    this.#end();
  }

  terminate(): void {
    progress();
    this.isTerminated = true;
    this.#end();
  }

  /** The client resets the connection. */
  reset(): void {
    this.#end();
  }

  #end(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.#options.closesLater) setImmediate(() => this.#tell());
    else this.#tell();
  }

  #tell(): void {
    this.#knowsEnd = true;
    this.#server.closed(this.connection);
  }

  pause(): void {
    progress();
    this.isPaused = true;
  }

  resume(): void {
    progress();
    this.isPaused = false;
  }

  /** The kernel has room again. */
  drain(): void {
    this.isFull = false;
    if (this.isClosed) return;
    this.#sendKept();
    this.connection.drain();
  }

  /** Everything that was sent. */
  get sent(): Buffer {
    return Buffer.concat(this.#sent);
  }

  /** Delivers a packet as soon as the server takes it. Nothing arrives on a closed connection. */
  async receive(packet: Uint8Array): Promise<void> {
    await this.until(() => !this.isPaused || this.isClosed);
    if (!this.isClosed) this.connection.receive(Buffer.from(packet));
  }

  /** The client sends no more. */
  async end(): Promise<void> {
    await this.until(() => !this.isPaused || this.isClosed);
    if (!this.isClosed) this.connection.end();
  }

  /** Waits, and drains meanwhile. */
  async until(isDone: () => boolean): Promise<void> {
    for (let turns = 0; !isDone(); turns++) {
      if (turns > 20_000) throw new Error("the server does not go on");
      await turn();
      if (this.isFull) this.drain();
    }
  }

  /** Waits until server and application do nothing more. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < quietTurns; quiet++) {
      const before = acts;
      await turn();
      if (this.isFull) this.drain();
      if (acts !== before) quiet = 0;
    }
  }
}

let acts = 0;

/** Says that the server or the application has done something. */
export const progress = (): void => {
  acts++;
};

/** More than an application of these tests waits. */
const quietTurns = 8;

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
