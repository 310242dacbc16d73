// One HTTP/1.1 connection: requests are read one after another, and each is answered before the next is read.

import { afterReading } from "../../lib/turns.ts";
import { ActiveRequest, type ConnectionControls, type Serving } from "./active-request.ts";
import { endedEarly, type HttpError, isError, requestTimedOut } from "./http-errors.ts";
import { beginLater } from "./later-requests.ts";
import { findEarlyError, parseHead, type RequestHead } from "./request-head.ts";
import { sendReply } from "./response-sender.ts";
import { Output, type Socket } from "./socket.ts";
import { findTimeout, lastRequestMs } from "./timeouts.ts";

/** The socket is paused while this much waits for the application, or for the end of a response. */
const maxWaitingBytes = 262_144;

const nothing = Buffer.alloc(0);

const sectionEnd = Buffer.from("\r\n\r\n");
const largeInputBytes = 4_096;

/** Where to stop looking for a header section. Requests that follow it in a large input are left out. */
function textEnd(input: Buffer, start: number, maxHeaderBytes: number): number {
  const limit = start + 3 * maxHeaderBytes;
  const end = input.length - start > largeInputBytes ? input.indexOf(sectionEnd, start) : -1;
  return end < 0 ? limit : Math.min(limit, end + sectionEnd.length);
}

export class HttpConnection implements ConnectionControls {
  readonly serving: Serving;
  readonly output: Output;
  readonly #socket: Socket;
  /** What has arrived and is not parsed. */
  #input: Buffer = nothing;
  #lastHead: RequestHead | undefined;
  #active: ActiveRequest | undefined;
  /** Whether what has arrived waits for a later turn of the event loop. */
  #isLate = false;
  #isPaused = false;
  /** When the client has closed its sending side. */
  #endedAt: number | undefined;
  /** What arrives is dropped unless it is open. */
  #state: "open" | "rejecting" | "closing" | "closed" = "open";
  /** When the connection became idle or began to close, or when the request began. */
  #since: number;
  #activeAt: number;
  /** Whether output waited for the client when the clock was looked at last. */
  #wasSending = false;

  constructor(socket: Socket, serving: Serving) {
    this.#socket = socket;
    this.serving = serving;
    this.output = new Output(socket, () => queueMicrotask(() => this.#lose()));
    this.#since = serving.now;
    this.#activeAt = serving.now;
  }

  peerAddress(): string {
    return this.#socket.remoteAddress;
  }

  receive(bytes: Buffer): void {
    this.#activeAt = this.serving.now;
    if (this.#state !== "open") return;
    if (this.#active?.isReceiving) this.#receiveBody(this.#active, bytes);
    else this.#receiveNext(bytes);
  }

  /** What arrives before the response to a request belongs to the next one. */
  #receiveNext(bytes: Buffer): void {
    const active = this.#active;
    if (this.#input.length > 0) this.#input = Buffer.concat([this.#input, bytes]);
    else {
      this.#input = bytes;
      // Empty lines do not begin a request.
      if (active === undefined && bytes[0] !== 13) this.#since = this.serving.now;
    }
    if (active === undefined && !this.#isLate) this.#begin();
    else if (this.#input.length > maxWaitingBytes) this.#pause();
  }

  /** The socket takes bytes again. */
  drain(): void {
    this.#activeAt = this.serving.now;
    this.output.drain();
  }

  /** The client sends no more. It gets the responses to what it has sent. */
  end(): void {
    this.#endedAt = this.serving.now;
    if (this.#state === "closing") this.#socket.close();
    else this.#closeAfterLast();
  }

  /**
   * Closes the connection of a client that sends no more, unless a response is due. What is not whole is
   * rejected.
   */
  #closeAfterLast(): void {
    const active = this.#active;
    if (this.#state !== "open" || this.#isLate) return;
    if (active?.isReceiving) this.#rejectBody(active, endedEarly);
    else if (active !== undefined) return;
    else if (this.#input.length > 0) this.#reject(endedEarly);
    else this.#closeSocket();
  }

  /** The socket is closed. */
  close(): void {
    this.#state = "closed";
    this.#active?.cancel("The client has left.");
    this.#active = undefined;
    this.output.abandon();
  }

  /** Closes the connection when it is idle. A request that is on its way is answered before, as the last one. */
  finish(): void {
    const close = () => {
      if (this.#isIdle) this.#closeSocket();
    };
    setTimeout(() => afterReading(close), lastRequestMs).unref();
  }

  get #isIdle(): boolean {
    return this.#state === "open" && this.#active === undefined && this.#input.length === 0;
  }

  #closeSocket(): void {
    this.#state = "closing";
    this.#since = this.serving.now;
    this.#socket.close();
  }

  /** Ends the connection now. A last response that was sent as a whole may still be on its way. */
  destroy(): void {
    if (this.#state === "closing" || this.#isIdle) this.#socket.close();
    else this.#socket.terminate();
  }

  /** Bun does not always say that a client has left whose data was not read. */
  #lose(): void {
    if (this.#state !== "closed") this.#socket.terminate();
  }

  /** Gives up the request. The client gets the responses to those before it. */
  #leave(): void {
    this.#active?.cancel("The client has left.");
    this.#active = undefined;
    this.#closeSocket();
  }

  /** Is called once a second. */
  checkTime(): void {
    const active = this.#active;
    const isSending = this.output.isBlocked;
    // The time that the application took is not that of the client.
    if (isSending && !this.#wasSending) this.#activeAt = this.serving.now;
    this.#wasSending = isSending;
    const timeout = findTimeout({
      now: this.serving.now,
      since: this.#since,
      activeAt: this.#activeAt,
      isClosing: this.#state !== "open",
      isWaiting: active === undefined && !this.#isLate,
      isReceiving: active?.isWaitingForClient === true && !this.#isPaused,
      isSending,
      endedAt: active?.mayTakeLong === true ? this.#endedAt : undefined,
    });
    if (timeout === undefined) return;
    if (timeout === "leave") this.#leave();
    else if (timeout === "destroy" || this.#state !== "open") this.destroy();
    else if (active !== undefined) this.#rejectBody(active, timeout);
    else if (this.#input.length > 0) this.#reject(requestTimedOut);
    else this.#closeSocket();
  }

  /** Begins the next request, if it is complete and valid. */
  #begin(): void {
    const { maxHeaderBytes } = this.serving;
    const input = this.#input;
    let start = 0;
    // Empty lines before a request are ignored (RFC 9112 §2.2).
    while (input[start] === 13 && input[start + 1] === 10) start += 2;
    const text = input.toString("latin1", start, textEnd(input, start, maxHeaderBytes));
    const end = text.indexOf("\r\n\r\n");
    const head =
      end < 0
        ? findEarlyError(text, maxHeaderBytes)
        : parseHead(text.slice(0, end), this.serving, this.#lastHead);
    if (head === undefined) {
      this.#input = input.subarray(start);
      this.#unpause();
      if (this.#endedAt !== undefined) this.#closeAfterLast();
      return;
    }
    if (isError(head)) {
      this.#input = input.subarray(start);
      this.#reject(head);
      return;
    }
    this.#lastHead = head;
    this.#since = this.serving.now;
    const active = new ActiveRequest(head, this);
    this.#active = active;
    const rest = start + end + 4;
    this.#input = nothing;
    if (rest < input.length) this.#receiveBody(active, input.subarray(rest));
    if (this.#active === active) active.run();
    const isWaiting = this.#isPaused && this.#active === active;
    if (isWaiting && active.waitingBytes <= maxWaitingBytes) this.resume();
    if (this.#endedAt !== undefined) this.#closeAfterLast();
  }

  /** What follows the body is kept for the next request. */
  #receiveBody(active: ActiveRequest, bytes: Buffer): void {
    const rest = active.receive(bytes);
    if (isError(rest)) {
      this.#rejectBody(active, rest);
      return;
    }
    if (rest.length > 0) this.#input = rest;
    if (active.waitingBytes > maxWaitingBytes) this.#pause();
    if (active.isDone) this.complete(active);
  }

  /** The rest of the request is not valid, or does not come. */
  #rejectBody(active: ActiveRequest, error: HttpError): void {
    const { hasResponse, hasSentResponse } = active;
    active.cancel(error.detail);
    if (hasSentResponse) this.#closeSocket();
    else if (hasResponse) this.destroy();
    else this.#reject(error, active.method);
  }

  /** Answers bytes that are not a valid request, and closes the connection. The response to HEAD has no body. */
  #reject(error: HttpError, method = isHead(this.#input) ? "HEAD" : ""): void {
    this.#active = undefined;
    this.#state = "rejecting";
    this.#since = this.serving.now;
    this.#input = nothing;
    this.resume();
    try {
      this.#sendError(error, method);
    } catch {
      this.destroy();
    }
  }

  #sendError({ status, detail }: HttpError, method: string): void {
    const reply = this.serving.errorResponse(status, detail);
    sendReply(reply, this.output, { method, minor: 1, closes: true });
    this.output.whenDrained(() => this.#linger());
  }

  /** Goes on with the next request, or closes after the last one. */
  complete(active: ActiveRequest): void {
    if (this.#active !== active) return;
    this.#active = undefined;
    this.#since = this.serving.now;
    this.#activeAt = this.serving.now;
    if (active.isLast) this.#linger();
    else if (this.#input.length > 0) this.#beginLater();
    else {
      this.#unpause();
      if (this.#endedAt !== undefined) this.#closeAfterLast();
      else if (this.serving.isStopping) this.finish();
    }
  }

  /** Other clients are served before the next request of this one. */
  #beginLater(): void {
    this.#pause();
    this.#isLate = true;
    beginLater(() => {
      this.#isLate = false;
      if (this.#state === "open") this.#begin();
    });
  }

  /** Closes the sending side, then drops what arrives for a while, so that the client gets the response (RFC 9112 §9.6). */
  #linger(): void {
    if (this.#state === "closed") return;
    this.#state = "closing";
    this.#since = this.serving.now;
    this.#activeAt = this.serving.now;
    this.#input = nothing;
    this.resume();
    if (this.#endedAt !== undefined) this.#socket.close();
    else this.#socket.shutdown();
  }

  #pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  /** More may arrive, unless too much waits for the end of this response. */
  resume(): void {
    this.#activeAt = this.serving.now;
    if (this.#input.length <= maxWaitingBytes) this.#unpause();
  }

  #unpause(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#socket.resume();
  }
}

const isHead = (input: Buffer): boolean => input.toString("latin1", 0, 5) === "HEAD ";
