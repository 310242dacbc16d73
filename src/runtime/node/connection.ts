// One TCP connection: its answers in order, refusals without a request, and a close that loses no answer.

import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

/** After the last answer the client has this long to fall silent or hang up, and this long in all. */
const lingerSilenceMs = 2_000;
const lingerMs = 10_000;

export class Connection {
  readonly #socket: Socket;
  /** The answer to the request that came last; earlier ones may still be due before it. */
  #latest: ServerResponse | undefined;
  #isLast = false;
  #isClosing = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    // node:http ends with this and destroys the socket as soon as the answer is written. If the
    // client is still sending, the kernel then resets the connection and the answer may be lost.
    socket.destroySoon = () => this.#linger();
  }

  /** False when a close was announced: requests sent after it must not be processed (RFC 9112 §9.6). */
  admits(outgoing: ServerResponse): boolean {
    if (this.#isClosing) return false;
    if (this.#isLast) outgoing.shouldKeepAlive = false;
    this.#latest = outgoing;
    return true;
  }

  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** The parser takes no further byte: what is due is still answered, what follows is not read. */
  close(): void {
    this.#isClosing = true;
  }

  /** Lets what is in flight finish and takes nothing new. */
  finish(): void {
    this.#isLast = true;
    const latest = this.#latest;
    if (this.#socket.bytesRead === 0) this.cut();
    if (latest === undefined || latest.writableFinished) return;
    latest.shouldKeepAlive = false;
    latest.once("close", () => this.#linger());
  }

  cut(): void {
    this.#socket.destroy();
  }

  /** Whether a body is on its way and can still be refused. */
  get isReceiving(): boolean {
    const latest = this.#latest;
    return !this.#isClosing && latest?.writableFinished === false && !latest.req.complete;
  }

  /** Answers bytes that are no request, after the answers that are still due, and closes. */
  async refuse(answer: Response): Promise<void> {
    this.#isClosing = true;
    const message = await serialise(answer);
    const latest = this.#latest;
    if (latest !== undefined && !latest.writableFinished) {
      if (latest.req.complete) await new Promise((resolve) => latest.once("close", resolve));
      // Its body is what broke, and part of an answer is on the wire already or must wait for others.
      else if (latest.headersSent || latest.socket === null) return this.cut();
    }
    if (this.#socket.writable) this.#socket.write(message);
    this.#linger();
  }

  /** Half-closes and reads on for a while (RFC 9112 §9.6), out of the parser's sight. */
  #linger(): void {
    const socket = this.#socket;
    if (socket.writableEnded) return;
    this.#isClosing = true;
    socket.end(() => {
      if (socket.readableEnded) socket.destroy();
    });
    socket.removeAllListeners("data");
    socket.on("data", () => {});
    socket.once("end", () => socket.destroy());
    socket.setTimeout(lingerSilenceMs, () => socket.destroy());
    const limit = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(limit));
    socket.resume();
  }
}

async function serialise(answer: Response): Promise<Buffer> {
  const body = Buffer.from(await answer.arrayBuffer());
  const lines = [`HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`];
  answer.headers.delete("content-length");
  answer.headers.forEach((value, name) => {
    lines.push(`${name}: ${value}`);
  });
  lines.push(
    `Date: ${new Date().toUTCString()}`,
    "Connection: close",
    `Content-Length: ${body.length}`,
  );
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}
