// Sends a reply: its header section, and a body that is known or that is read from a stream.

import type { Reply, ReplyFields } from "../../lib/reply.ts";
import type { ConnectionOption } from "./field-section.ts";
import { dateLine, type Framing, framingLines, statusLine } from "./response-head.ts";
import type { Output } from "./socket.ts";

export interface ResponseOptions {
  readonly method: string;
  /** The minor version of HTTP that the client speaks. */
  readonly minor: number;
  /** Whether this is the last response of the connection. */
  readonly closes: boolean;
}

/** Returns what sends the rest of a reply; undefined when everything was written. */
export function sendReply(
  reply: Reply,
  output: Output,
  options: ResponseOptions,
): BodySender | undefined {
  const { status, fields, body } = reply;
  const { method } = options;
  if (isStream(body)) return sendStream(status, fields, body, output, options);
  const bodyBytes = body === null ? 0 : Buffer.byteLength(body);
  const bytes = isBodiless(status) ? undefined : lengthOf(fields, method, bodyBytes);
  const framing = { bytes, isChunked: false, connection: connectionOf(options) };
  write(output, headOf(status, fields, framing), hasBody(status, method) ? body : null, bodyBytes);
  return undefined;
}

const isStream = (body: Reply["body"]): body is ReadableStream<Uint8Array> | Blob =>
  body instanceof ReadableStream || body instanceof Blob;

/** The length of the body is part of its framing. */
function headOf(status: number, fields: ReplyFields, framing: Framing): HeadText {
  fields.delete("content-length");
  const date = fields.has("date") ? "" : dateLine();
  const text = `${statusLine(status)}${fields.lines}${date}${framingLines(framing)}`;
  return { text, isAscii: fields.isAscii };
}

/** A connection of HTTP/1.0 closes unless the response says otherwise (RFC 9112 §9.3). */
const connectionOf = ({ minor, closes }: ResponseOptions): ConnectionOption | undefined =>
  closes ? "close" : minor === 0 ? "keep-alive" : undefined;

/** Whether a client of HTTP/1.0 knows where the body ends. */
export const hasLength = ({ status, fields, body }: Reply, method: string): boolean =>
  !hasBody(status, method) || !isStream(body) || fields.has("content-length");

/** Responses with these never have a body (RFC 9112 §6.3). */
const isBodiless = (status: number): boolean => status === 204 || status === 304;

const hasBody = (status: number, method: string): boolean =>
  method !== "HEAD" && !isBodiless(status);

interface HeadText {
  readonly text: string;
  readonly isAscii: boolean;
}

/** Writes a whole response at once. */
function write(
  output: Output,
  head: HeadText,
  body: string | Uint8Array | null,
  bodyBytes: number,
): void {
  const { text } = head;
  if (head.isAscii && typeof body !== "object") output.write(text + body, text.length + bodyBytes);
  else if (head.isAscii && body === null) output.write(text, text.length);
  else {
    const whole = Buffer.concat([Buffer.from(text, "latin1"), Buffer.from((body ?? "") as string)]);
    output.write(whole, whole.length);
  }
}

/** A response to HEAD may have the length of a body that it does not have. */
const lengthOf = (fields: ReplyFields, method: string, bytes: number): number =>
  method === "HEAD" && bytes === 0 ? Number(fields.get("content-length") ?? 0) : bytes;

function sendStream(
  status: number,
  fields: ReplyFields,
  body: ReadableStream<Uint8Array> | Blob,
  output: Output,
  options: ResponseOptions,
): BodySender | undefined {
  const { method, minor } = options;
  const declared = fields.get("content-length");
  const bytes = declared === null ? undefined : Number(declared);
  const isSent = hasBody(status, method);
  const isChunked = isSent && bytes === undefined && minor === 1;
  const head = headOf(status, fields, { bytes, isChunked, connection: connectionOf(options) });
  const reader = (body instanceof Blob ? body.stream() : body).getReader();
  write(output, head, null, 0);
  if (isSent) return new BodySender(reader, output, { bytes, isChunked });
  reader.cancel().catch(ignore);
  return undefined;
}

const ignore = (): void => undefined;

interface BodyReader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** Sends a stream as fast as the client reads it. */
export class BodySender {
  readonly #reader: BodyReader;
  readonly #output: Output;
  readonly #isChunked: boolean;
  /** What is missing of the declared length. */
  #missing: number;
  #isCancelled = false;

  constructor(
    reader: BodyReader,
    output: Output,
    { bytes, isChunked }: { readonly bytes: number | undefined; readonly isChunked: boolean },
  ) {
    this.#reader = reader;
    this.#output = output;
    this.#isChunked = isChunked;
    this.#missing = bytes ?? Number.POSITIVE_INFINITY;
  }

  /** Returns whether the body is whole; otherwise it must not look so. */
  async send(): Promise<boolean> {
    try {
      for (;;) {
        const { done, value } = await this.#reader.read();
        if (done || value === undefined || this.#isCancelled) break;
        this.#missing -= value.byteLength;
        if (this.#missing < 0) {
          this.cancel();
          break;
        }
        if (value.byteLength > 0) this.#write(value);
        if (this.#output.isBlocked) await this.#output.drained();
      }
    } catch {
      return false;
    }
    const isLengthRight = this.#missing === 0 || this.#missing === Number.POSITIVE_INFINITY;
    if (this.#isCancelled || !isLengthRight) return false;
    if (this.#isChunked) this.#output.write("0\r\n\r\n", 5);
    return true;
  }

  #write(content: Uint8Array): void {
    if (!this.#isChunked) this.#output.write(content, content.byteLength);
    else if (content.byteLength < separateBytes) this.#writeChunk(content);
    else this.#writeLargeChunk(content);
  }

  #writeChunk(content: Uint8Array): void {
    const start = Buffer.from(sizeLine(content));
    const chunk = Buffer.concat([start, content, lineEnd]);
    this.#output.write(chunk, chunk.length);
  }

  /** A copy of a large chunk costs more than two small writes. */
  #writeLargeChunk(content: Uint8Array): void {
    const start = sizeLine(content);
    this.#output.write(start, start.length);
    this.#output.write(content, content.byteLength);
    this.#output.write(lineEnd, lineEnd.length);
  }

  /** The client has left, or the rest must not be sent. */
  cancel(): void {
    this.#isCancelled = true;
    this.#reader.cancel().catch(ignore);
  }
}

const lineEnd = Buffer.from("\r\n");
/** A chunk from this size on is not copied. */
const separateBytes = 16_384;

const sizeLine = ({ byteLength }: Uint8Array): string => `${byteLength.toString(16)}\r\n`;
