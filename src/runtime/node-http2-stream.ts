// Answers one request of HTTP/2: reads its stream, runs the application, and sends what it returns.

import type { ServerHttp2Stream } from "node:http2";
import type { InterimFields } from "../lib/client.ts";
import { failed, type HttpError, isError } from "./http1/http-errors.ts";
import { IncomingRequest } from "./http1/incoming-request.ts";
import { RequestBody } from "./http1/request-body.ts";
import { type Http2Head, readHead } from "./node-http2-head.ts";
import { resetStream, respond, type Sender } from "./node-http2-response.ts";
import type { ServeOptions } from "./runtime.ts";

/** The stream is paused while this much waits for the application. */
const maxWaitingBytes = 65_536;

/** What all streams of a session share. */
export interface StreamServing
  extends Pick<ServeOptions, "fetch" | "errorResponse" | "maxHeaderBytes"> {
  readonly peerAddress: () => string;
  /** A stream is reset when it transfers nothing for so long. */
  readonly timeoutMs: number;
}

/** `lines` has the names and values of the header section in turn. */
export function answerStream(
  stream: ServerHttp2Stream,
  lines: readonly string[],
  serving: StreamServing,
): void {
  stream.setTimeout(serving.timeoutMs, () => resetStream(stream));
  stream.on("error", () => undefined);
  const head = readHead(lines, serving.maxHeaderBytes, !stream.endAfterHeaders);
  if (isError(head)) reject(stream, methodOf(lines), serving, head);
  else new ActiveStream(stream, serving, head).run();
}

/** Responds with an error. Where that fails, too, the stream is reset. */
function reject(
  stream: ServerHttp2Stream,
  method: string,
  { errorResponse }: StreamServing,
  { status, detail, cause }: HttpError & { readonly cause?: unknown },
): void {
  try {
    respond(stream, errorResponse(status, detail, cause), method);
  } catch {
    resetStream(stream);
  }
}

const methodOf = (lines: readonly string[]): string => lines[lines.indexOf(":method") + 1] ?? "";

class ActiveStream {
  readonly #stream: ServerHttp2Stream;
  readonly #serving: StreamServing;
  readonly #head: Http2Head;
  readonly #body: RequestBody | undefined;
  readonly #request: IncomingRequest;
  #sender: Sender | undefined;
  /** Whether the client waits for 100 before it sends the body. */
  #owesContinue: boolean;
  #isReading = false;

  constructor(stream: ServerHttp2Stream, serving: StreamServing, head: Http2Head) {
    const { method, authority, path, headers, expectsContinue } = head;
    this.#stream = stream;
    this.#serving = serving;
    this.#head = head;
    this.#owesContinue = expectsContinue;
    if (!stream.endAfterHeaders) this.#body = this.#receive();
    this.#request = new IncomingRequest(method, `https://${authority}${path}`, headers, this.#body);
    stream.once("close", () => this.#close());
  }

  /** The end of an empty body is reported when it arrives, before the application has read anything. */
  #receive(): RequestBody {
    const stream = this.#stream;
    const body = new RequestBody(() => this.#want());
    // A stream that was reset ends, too.
    stream.on("end", () => {
      if (!stream.closed) body.end();
    });
    return body;
  }

  /** The application waits for more of the body, or drops it. */
  #want(): void {
    const body = this.#body;
    if (body === undefined || body.isDiscarded) return;
    if (this.#owesContinue) this.#sendInterim(100, {});
    this.#owesContinue = false;
    if (this.#isReading) this.#stream.resume();
    else this.#read(body);
  }

  #read(body: RequestBody): void {
    const stream = this.#stream;
    this.#isReading = true;
    stream.on("data", (bytes: Buffer) => {
      body.push(bytes);
      if (body.waitingBytes > maxWaitingBytes) stream.pause();
    });
  }

  run(): void {
    this.#fetch().catch((cause) => this.#fail(cause));
  }

  async #fetch(): Promise<void> {
    const { fetch, peerAddress } = this.#serving;
    const sendInterim = (status: number, fields: InterimFields) =>
      this.#sendInterim(status, fields);
    // It has the members of a Request that an application uses.
    const request = this.#request as unknown as Request;
    this.#respond(await fetch(request, { peerAddress, sendInterim, sendsOneByOne: true }));
  }

  #sendInterim(status: number, fields: InterimFields): void {
    const stream = this.#stream;
    if (stream.closed || stream.headersSent) return;
    stream.additionalHeaders({ ":status": status, ...fields });
  }

  #respond(response: Response): void {
    this.#sender = respond(this.#stream, response, this.#head.method);
  }

  /** Also when the header section of a response could not be written. */
  #fail(cause: unknown): void {
    if (this.#stream.headersSent) resetStream(this.#stream);
    else reject(this.#stream, this.#head.method, this.#serving, { ...failed, cause });
  }

  #close(): void {
    const { aborted, writableFinished } = this.#stream;
    if (aborted || !writableFinished) this.#request.abort();
    this.#body?.fail(new Error("The client has left."));
    this.#sender?.cancel();
  }
}
