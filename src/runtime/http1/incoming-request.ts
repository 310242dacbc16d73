// A request as the application reads it: the members of Request, made when they are used.

import { type ReceivedRequest, takeBody } from "../../lib/received-request.ts";
import type { ReceivedHeaders } from "./received-headers.ts";
import type { RequestBody } from "./request-body.ts";

/** What a Request of the platform has and the application may use, without what it costs to make one. */
export class IncomingRequest implements ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: ReceivedHeaders;
  readonly #body: RequestBody | undefined;
  #stream: ReadableStream<Uint8Array> | undefined;
  #bodyUsed = false;
  #abort: AbortController | undefined;
  #isGone = false;

  constructor(
    method: string,
    url: string,
    headers: ReceivedHeaders,
    body: RequestBody | undefined,
  ) {
    this.method = method;
    this.url = url;
    this.headers = headers;
    this.#body = body;
  }

  /** Aborted when the client leaves before it has the response. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#isGone) this.#abort.abort();
    }
    return this.#abort.signal;
  }

  /** The client has left. */
  abort(): void {
    this.#isGone = true;
    this.#abort?.abort();
  }

  get body(): ReadableStream<Uint8Array> | null {
    if (this.#body === undefined) return null;
    this.#stream ??= this.#body.stream();
    return this.#stream;
  }

  /** Whether the application reads the body while it arrives. */
  get isStreamed(): boolean {
    return this.#stream !== undefined;
  }

  get bodyUsed(): boolean {
    return this.#bodyUsed || (this.#stream?.locked ?? false);
  }

  [takeBody](): Uint8Array<ArrayBuffer> | undefined {
    const body = this.#body;
    if (this.bodyUsed || !body?.isComplete) return undefined;
    this.#bodyUsed = true;
    return body.take();
  }

  async bytes(): Promise<Uint8Array<ArrayBuffer>> {
    if (this.bodyUsed) throw new TypeError("The body was already read.");
    if (this.#body === undefined) return new Uint8Array();
    this.#bodyUsed = true;
    return this.#body.bytes();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    const bytes = await this.bytes();
    const { buffer, byteOffset, byteLength } = bytes;
    return byteLength === buffer.byteLength
      ? buffer
      : buffer.slice(byteOffset, byteOffset + byteLength);
  }

  async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async blob(): Promise<Blob> {
    return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" });
  }

  async formData(): Promise<unknown> {
    const type = this.headers.get("content-type") ?? "";
    return new Response(await this.bytes(), { headers: { "content-type": type } }).formData();
  }
}
