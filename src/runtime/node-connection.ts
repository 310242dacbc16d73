// Handles one TCP connection on Node: responses in order, errors without a request, and closing without losing a response.

import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { bodyTimedOut, type HttpError } from "./http1/http-errors.ts";
import type { ServeOptions } from "./runtime.ts";

/** After the last response the client may be inactive or keep sending for so long. */
const lingerInactivityMs = 2_000;
const lingerMs = 10_000;

export class Connection {
  readonly #socket: Socket;
  readonly #errorResponse: ServeOptions["errorResponse"];
  /** The bytes of the handshake of TLS. */
  readonly #bytesBefore: number;
  /** The response to the last request. Earlier responses may have to be sent before it. */
  #latest: ServerResponse | undefined;
  #isFinishing = false;
  #isClosing = false;

  constructor(socket: Socket, errorResponse: ServeOptions["errorResponse"]) {
    this.#socket = socket;
    this.#errorResponse = errorResponse;
    this.#bytesBefore = socket.bytesRead;
    // node:http listens for errors, but not after CONNECT, and an unhandled one ends the process.
    socket.on("error", () => {});
    // node:http calls this after the last response, and the original destroys the socket immediately.
    // If the client is still sending, the kernel resets the connection and the response may be lost.
    socket.destroySoon = () => this.#linger();
  }

  /** False after `Connection: close`: further requests must not be processed (RFC 9112 §9.6). */
  accepts(outgoing: ServerResponse): boolean {
    if (this.#isClosing) return false;
    if (this.#isFinishing) outgoing.shouldKeepAlive = false;
    this.#latest = outgoing;
    return true;
  }

  /** Accepts no further request. Pending responses are still sent. */
  close(): void {
    this.#isClosing = true;
  }

  /**
   * Accepts no further request after this one. The parser of node:http drops what follows an Upgrade in
   * the same packet, so the next bytes may be the middle of a request.
   */
  closeAfter(outgoing: ServerResponse): void {
    outgoing.shouldKeepAlive = false;
    this.#isClosing = true;
  }

  /** Responds to a request with an error, after earlier responses, and closes the connection. */
  async rejectRequest(outgoing: ServerResponse, error: HttpError, cause?: unknown): Promise<void> {
    this.#isClosing = true;
    const response = this.#errorResponse(error.status, error.detail, cause);
    const body = Buffer.from(await response.arrayBuffer());
    outgoing.shouldKeepAlive = false;
    outgoing.setHeaders(response.headers);
    outgoing.writeHead(response.status, { "Content-Length": body.length }).end(body);
  }

  /** Responds to bytes that are not a complete request, after earlier responses, and closes the connection. */
  async rejectInput(error: HttpError): Promise<void> {
    if (this.#isClosing) return;
    this.#isClosing = true;
    const message = await serialize(this.#errorResponse(error.status, error.detail));
    const latest = this.#latest;
    if (latest !== undefined && !latest.writableFinished) {
      if (latest.req.complete) await new Promise((resolve) => latest.once("close", resolve));
      // The last request is incomplete, and its response has begun or is not the next one to send.
      else if (latest.headersSent || latest.socket === null) return this.destroy();
    }
    if (this.#socket.writable) this.#socket.write(message);
    this.#linger();
  }

  /** Sends 408 in the middle of a request. Any other connection is closed without a response. */
  timeOut(): void {
    const latest = this.#latest;
    if (this.#isClosing || latest?.writableFinished !== false || latest.req.complete)
      this.destroy();
    else void this.rejectInput(bodyTimedOut);
  }

  /** Finishes the requests in progress and accepts no others. */
  finish(): void {
    this.#isFinishing = true;
    if (this.#socket.bytesRead === this.#bytesBefore) this.destroy();
    const latest = this.#latest;
    if (latest?.writableFinished !== false) return;
    latest.shouldKeepAlive = false;
    latest.once("close", () => this.#linger());
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** Closes the sending side, then reads and discards input for a while (RFC 9112 §9.6). */
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
    socket.setTimeout(lingerInactivityMs, () => socket.destroy());
    const limit = setTimeout(() => socket.destroy(), lingerMs);
    socket.once("close", () => clearTimeout(limit));
    socket.resume();
  }
}

async function serialize(response: Response): Promise<Buffer> {
  const body = Buffer.from(await response.arrayBuffer());
  const lines = [`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status]}`];
  response.headers.set("Date", new Date().toUTCString());
  response.headers.set("Connection", "close");
  response.headers.set("Content-Length", String(body.length));
  response.headers.forEach((value, name) => {
    lines.push(`${name}: ${value}`);
  });
  return Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), body]);
}
