// A request that is being answered: receives the body, runs the application, and sends what it returns.

import type { Client, Fetch, InterimFields, SendInterim } from "../../lib/client.ts";
import { discard, type Reply, SharedFields } from "../../lib/reply.ts";
import { type BodyDecoder, ChunkedBody, SizedBody } from "./body-decoder.ts";
import { failed, type HttpError } from "./http-errors.ts";
import { IncomingRequest } from "./incoming-request.ts";
import { RequestBody } from "./request-body.ts";
import type { HeadOptions, RequestHead } from "./request-head.ts";
import { statusLine } from "./response-head.ts";
import { type BodySender, hasLength, sendReply } from "./response-sender.ts";
import type { Output } from "./socket.ts";

/** The rest of a body up to this size is read after an early response; otherwise the connection closes. */
const drainBytes = 65_536;

/** What all connections of a server share. */
export interface Serving extends HeadOptions {
  readonly fetch: Fetch;
  /** Returns the reply to what is rejected before there is a request, and to what fails. */
  readonly errorResponse: (status: number, detail: string, cause?: unknown) => Reply;
  readonly releaseChunk?: (chunk: Uint8Array) => void;
  isStopping: boolean;
  /** Milliseconds that were for clients, counted once a second. */
  now: number;
}

/** What a request uses of its connection. */
export interface ConnectionControls {
  readonly serving: Serving;
  readonly output: Output;
  peerAddress(): string;
  /** The application has read what was received, and can take more. */
  resume(): void;
  /** The whole response was sent. */
  complete(request: ActiveRequest): void;
  destroy(): void;
}

const nothing = Buffer.alloc(0);

const readMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "QUERY", "OPTIONS"]);

export class ActiveRequest implements Client {
  readonly #connection: ConnectionControls;
  readonly #head: RequestHead;
  readonly #request: IncomingRequest;
  readonly #body: RequestBody | undefined;
  /** Set until the whole body has arrived. */
  #decoder: BodyDecoder | undefined;
  /** Whether the client waits for 100 before it sends the body. */
  #owesContinue: boolean;
  #state: "handling" | "responding" | "responded" | "cancelled" = "handling";
  #sender: BodySender | undefined;
  /** Whether no other request follows on the connection. */
  isLast = false;
  readonly sendInterim: SendInterim | undefined;
  readonly sendsOneByOne = true;

  constructor(head: RequestHead, connection: ConnectionControls) {
    const { bodyBytes, expectsContinue, headers } = head.fields;
    this.#connection = connection;
    this.#head = head;
    this.#owesContinue = expectsContinue && head.minor === 1;
    if (bodyBytes !== 0) {
      this.#body = new RequestBody(() => this.#want());
      this.#decoder = bodyBytes < 0 ? new ChunkedBody() : new SizedBody(bodyBytes);
    }
    this.#request = new IncomingRequest(head.method, head.url, headers, this.#body);
    // HTTP/1.0 has no interim responses.
    if (head.method !== "GET" && head.minor === 1)
      this.sendInterim = (status, fields) => this.#sendInterim(status, fields);
  }

  peerAddress(): string {
    return this.#connection.peerAddress();
  }

  get releaseChunk(): Serving["releaseChunk"] {
    return this.#connection.serving.releaseChunk;
  }

  get hasResponse(): boolean {
    return this.#state !== "handling";
  }

  get method(): string {
    return this.#head.method;
  }

  get hasSentResponse(): boolean {
    return this.#state === "responded";
  }

  /** Whether there is no response yet, and the request may take long: a read, or an import. */
  get mayTakeLong(): boolean {
    const isLong = readMethods.has(this.#head.method) || this.#request.isStreamed;
    return isLong && this.#state === "handling";
  }

  /** Whether the rest of the body is missing. */
  get isReceiving(): boolean {
    return this.#decoder !== undefined;
  }

  /** Whether the client is expected to send. One that waits for 100 is not. */
  get isWaitingForClient(): boolean {
    return this.isReceiving && !(this.#owesContinue && this.#state === "handling");
  }

  /** Whether the body has arrived and the response was sent. */
  get isDone(): boolean {
    return this.#state === "responded" && this.#decoder === undefined;
  }

  /** What the application has not read of the body. */
  get waitingBytes(): number {
    return this.#body?.waitingBytes ?? 0;
  }

  /** Takes what belongs to the body, and returns the rest of the bytes, or an error. */
  receive(bytes: Buffer): Buffer | HttpError {
    const decoder = this.#decoder;
    const body = this.#body;
    if (decoder === undefined || body === undefined) return bytes;
    const end = decoder.decode(bytes, 0, (content) => body.push(content));
    if (decoder.error !== undefined) return decoder.error;
    if (decoder.isComplete) {
      this.#decoder = undefined;
      this.#owesContinue = false;
      body.end();
    }
    return end === bytes.length ? nothing : bytes.subarray(end);
  }

  /** The application waits for more of the body, or drops it. */
  #want(): void {
    if (this.#owesContinue && this.#state === "handling" && !this.#body?.isDiscarded) {
      this.#owesContinue = false;
      this.#sendInterim(100, {});
    }
    this.#connection.resume();
  }

  run(): void {
    try {
      // It has the members of a Request that an application uses.
      const request = this.#request as unknown as Request;
      const reply = this.#connection.serving.fetch(request, this);
      if (reply instanceof Promise)
        reply.then(
          (later) => this.#respondOrFail(later),
          (cause) => this.#fail(cause),
        );
      else this.#respond(reply);
    } catch (cause) {
      this.#fail(cause);
    }
  }

  #respondOrFail(reply: Reply): void {
    try {
      this.#respond(reply);
    } catch (cause) {
      this.#fail(cause);
    }
  }

  #sendInterim(status: number, headers: InterimFields): void {
    if (this.#state !== "handling") return;
    const text = `${statusLine(status)}${new SharedFields(Object.entries(headers)).lines}\r\n`;
    const bytes = Buffer.from(text, "latin1");
    this.#connection.output.write(bytes, bytes.length);
  }

  /** Also when the header section of a response could not be written. */
  #fail(cause: unknown): void {
    if (this.#state === "responding") this.#state = "handling";
    if (this.#state !== "handling") return;
    const { errorResponse } = this.#connection.serving;
    try {
      this.#respond(errorResponse(failed.status, failed.detail, cause));
    } catch {
      this.#connection.destroy();
    }
  }

  /** Sends the reply, unless the request was rejected or its client has left. */
  #respond(reply: Reply): void {
    if (this.#state !== "handling") {
      discard(reply);
      return;
    }
    const { output } = this.#connection;
    const { method, minor } = this.#head;
    this.isLast = this.#mustBeLast(reply);
    this.#state = "responding";
    this.#sender = sendReply(reply, output, { method, minor, closes: this.isLast });
    if (this.#sender === undefined) output.whenDrained(() => this.#complete());
    else
      void this.#sender.send().then((isWhole) => {
        if (isWhole) output.whenDrained(() => this.#complete());
        else this.#connection.destroy();
      });
  }

  /** A large body that was not read is not waited for, and one that waits for a 100 may never come. */
  #mustBeLast(reply: Reply): boolean {
    const { minor, method, fields } = this.#head;
    if (fields.connection === "close" || this.#connection.serving.isStopping) return true;
    if (minor === 0 && !(fields.connection === "keep-alive" && hasLength(reply, method)))
      return true;
    if (this.#decoder === undefined) return false;
    return this.#owesContinue || fields.bodyBytes < 0 || fields.bodyBytes > drainBytes;
  }

  #complete(): void {
    if (this.#state !== "responding") return;
    this.#state = "responded";
    if (this.#decoder !== undefined)
      this.#body?.fail(new Error("The response was sent before the body had arrived."));
    if (this.#decoder === undefined || this.isLast) this.#connection.complete(this);
    else this.#connection.resume();
  }

  /** The client has left, or the rest of the request is not valid. */
  cancel(reason: string): void {
    if (this.#state === "cancelled") return;
    if (this.#state !== "responded") this.#request.abort();
    this.#state = "cancelled";
    this.#body?.fail(new Error(reason));
    this.#sender?.cancel();
  }
}
