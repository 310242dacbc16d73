// One TCP connection: its answers in order, refusals that have no request, a close that loses no answer.

import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import type { ServeOptions } from "../runtime.ts";
import type { Refusal } from "./request.ts";

/** After the last answer the client may be silent this long, and go on sending this long in all. */
const lingerSilenceMs = 2_000;
const lingerMs = 10_000;

export class Connection {
  readonly #socket: Socket;
  readonly #refuse: ServeOptions["refuse"];
  /** The answer to the request that came last; earlier ones may be due before it. */
  #latest: ServerResponse | undefined;
  #isFinishing = false;
  #isClosing = false;

  constructor(socket: Socket, refuse: ServeOptions["refuse"]) {
    this.#socket = socket;
    this.#refuse = refuse;
    // node:http listens for errors, but not after CONNECT, and one nobody hears ends the process.
    socket.on("error", () => {});
    // node:http calls this after the last answer, and the original destroys the socket at once. If
    // the client is still sending, the kernel then resets the connection and the answer may be lost.
    socket.destroySoon = () => this.#linger();
  }

  /** False after a close was announced: what is sent then must not be processed (RFC 9112 §9.6). */
  admits(outgoing: ServerResponse): boolean {
    if (this.#isClosing) return false;
    if (this.#isFinishing) outgoing.shouldKeepAlive = false;
    this.#latest = outgoing;
    return true;
  }

  /** Takes no further request; answers that are due are still given. */
  close(): void {
    this.#isClosing = true;
  }

  /**
   * Takes no further request after this one. The parser of node:http drops what follows an Upgrade in
   * the same packet, so what comes next could be the middle of a request.
   */
  closeAfter(outgoing: ServerResponse): void {
    outgoing.shouldKeepAlive = false;
    this.#isClosing = true;
  }

  /** Answers a request with a refusal, in its turn, and closes. */
  async refuseRequest(outgoing: ServerResponse, refusal: Refusal, cause?: unknown): Promise<void> {
    this.#isClosing = true;
    const answer = this.#refuse(refusal.status, refusal.detail, cause);
    const body = Buffer.from(await answer.arrayBuffer());
    outgoing.shouldKeepAlive = false;
    outgoing.setHeaders(answer.headers);
    outgoing.writeHead(answer.status, { "Content-Length": body.length }).end(body);
  }

  /** Answers bytes that are no request, or not a whole one, after what is due, and closes. */
  async refuseBytes(refusal: Refusal): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const message = await serialise(this.#refuse(refusal.status, refusal.detail));
    const latest = this.#latest;
    if (latest !== undefined && !latest.writableFinished) {
      if (latest.req.complete) await new Promise((resolve) => latest.once("close", resolve));
      // It is the latest request that broke; its answer has begun, or is not the next one due.
      else if (latest.headersSent || latest.socket === null) return this.cut();
    }
    if (this.#socket.writable) this.#socket.write(message);
    this.#linger();
  }

  /** A connection in the middle of a request gets a refusal; any other one is just closed. */
  timeOut(): void {
    const latest = this.#latest;
    if (this.#isClosing || latest?.writableFinished !== false || latest.req.complete) this.cut();
    else void this.refuseBytes({ status: 408, detail: "The request stopped arriving." });
  }

  /** Lets what is in flight end and takes nothing new. */
  finish(): void {
    this.#isFinishing = true;
    if (this.#socket.bytesRead === 0) this.cut();
    const latest = this.#latest;
    if (latest?.writableFinished !== false) return;
    latest.shouldKeepAlive = false;
    latest.once("close", () => this.#linger());
  }

  cut(): void {
    this.#socket.destroy();
  }

  /** Half-closes and reads on for a while (RFC 9112 §9.6), past the parser. */
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
  answer.headers.set("Date", new Date().toUTCString());
  answer.headers.set("Connection", "close");
  answer.headers.set("Content-Length", String(body.length));
  answer.headers.forEach((value, name) => {
    lines.push(`${name}: ${value}`);
  });
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}
