// Reads a multipart body part by part while it arrives (RFC 2046 §5.1), with constant memory.

import { isUtf8 } from "node:buffer";
import { Problem } from "../../model/problem.ts";
import { trimField } from "../headers/field-list.ts";
import { BodyError } from "./decoding.ts";

/** The limit for the header section of one part, its delimiter line included. */
export const maxPartHeaderBytes = 8_192;

export interface MultipartPart {
  /** Values by name in lower case; each byte of a value is one character. */
  readonly headers: ReadonlyMap<string, string>;
  /** Must be read before the next part is asked for; what is left unread is skipped. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/**
 * Throws `BodyError` when the multipart body is not complete, and any error of the source.
 * The caller pulls: nothing is read ahead, so each error reaches the caller and no other place.
 */
export async function* readParts(
  source: AsyncIterable<Uint8Array>,
  boundary: string,
): AsyncGenerator<MultipartPart, void, undefined> {
  const reader = new MultipartReader(source, boundary);
  try {
    await reader.skipToDelimiter(); // the preamble
    for (;;) {
      const headers = await reader.readHeader();
      if (headers === undefined) break;
      yield { headers, bytes: reader.readToDelimiter() };
      await reader.skipToDelimiter();
    }
    await reader.skipToEnd(); // the epilogue
  } finally {
    await reader.close();
  }
}

const lineEnd = Buffer.from("\r\n");
const carriageReturn = 0x0d;

/**
 * Adds a line end before and after the body, so that the first delimiter looks like all others and the
 * closing one always ends its line.
 */
async function* framed(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield lineEnd;
  yield* source;
  yield lineEnd;
}

class MultipartReader {
  readonly #source: AsyncGenerator<Uint8Array>;
  /** It has one CR, its first byte: a boundary cannot hold line ends. */
  readonly #delimiter: Buffer;
  /** Bytes that have arrived and are not consumed. */
  #buffer: Buffer = Buffer.alloc(0);
  #isAtDelimiter = false;
  /** The buffer begins with the line end of the header section, which is not content. */
  #isAfterHeader = false;

  constructor(source: AsyncIterable<Uint8Array>, boundary: string) {
    this.#source = framed(source);
    this.#delimiter = Buffer.from(`\r\n--${boundary}`);
  }

  /** Yields all bytes before the next delimiter, and consumes that as well. */
  async *readToDelimiter(): AsyncGenerator<Uint8Array, void, undefined> {
    for (;;) {
      const found = this.#buffer.indexOf(this.#delimiter);
      const end = found < 0 ? this.#endOfContent() : found;
      const content = this.#buffer.subarray(this.#isAfterHeader ? lineEnd.length : 0, end);
      if (end > 0) this.#isAfterHeader = false;
      this.#buffer = this.#buffer.subarray(found < 0 ? end : found + this.#delimiter.length);
      this.#isAtDelimiter = found >= 0;
      if (content.length > 0) yield content;
      if (found >= 0) return;
      await this.#receive();
    }
  }

  async skipToDelimiter(): Promise<void> {
    if (this.#isAtDelimiter) return;
    for await (const _ of this.readToDelimiter());
  }

  /** Where the beginning of a delimiter stands at the end of the buffer; else the buffer's length. */
  #endOfContent(): number {
    const { length } = this.#buffer;
    const tail = this.#buffer.subarray(Math.max(0, length - this.#delimiter.length + 1));
    const start = tail.lastIndexOf(carriageReturn);
    if (start < 0) return length;
    const beginning = tail.subarray(start);
    const isBeginning = this.#delimiter.subarray(0, beginning.length).equals(beginning);
    return isBeginning ? length - beginning.length : length;
  }

  /** Reads the rest of a delimiter line and the header section; undefined after the closing one. */
  async readHeader(): Promise<ReadonlyMap<string, string> | undefined> {
    const lines: Buffer[] = [];
    let budget = maxPartHeaderBytes;
    for (;;) {
      const line = await this.#readLine(budget);
      budget -= line.length + lineEnd.length;
      if (lines.length === 0 && isClosing(line)) return undefined;
      if (lines.length > 0 && line.length === 0) break;
      lines.push(line);
    }
    // A part without content may have one line end between its header and the next delimiter.
    this.#buffer = Buffer.concat([lineEnd, this.#buffer]);
    this.#isAfterHeader = true;
    this.#isAtDelimiter = false;
    const [, ...fields] = lines;
    const headers = readPartHeader(fields);
    if (typeof headers === "string") throw new BodyError(malformed(headers));
    return headers;
  }

  /** Reads a line up to its CR LF, which is consumed and not returned. */
  async #readLine(maxBytes: number): Promise<Buffer> {
    for (let searched = 0; ; ) {
      const end = this.#buffer.indexOf(lineEnd, searched);
      if ((end < 0 ? this.#buffer.length - 1 : end) > maxBytes) throw new BodyError(longHeader);
      if (end >= 0) {
        const line = this.#buffer.subarray(0, end);
        this.#buffer = this.#buffer.subarray(end + lineEnd.length);
        return line;
      }
      searched = Math.max(0, this.#buffer.length - 1);
      await this.#receive();
    }
  }

  async #receive(): Promise<void> {
    const { done, value } = await this.#source.next();
    if (done) throw new BodyError(brokenOff);
    const chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
  }

  async skipToEnd(): Promise<void> {
    for await (const _ of this.#source);
  }

  async close(): Promise<void> {
    await this.#source.return(undefined);
  }
}

const paddingOnly = /^[ \t]*$/;

/** Whether a delimiter line is the closing one. Only padding may follow (RFC 2046 §5.1.1). */
function isClosing(restOfLine: Buffer): boolean {
  const rest = restOfLine.toString("latin1");
  const closes = rest.startsWith("--");
  if (!paddingOnly.test(closes ? rest.slice(2) : rest)) throw new BodyError(badDelimiter);
  return closes;
}

const malformed = (detail: string): Problem =>
  new Problem("invalid-body", "The body is not a complete multipart body. Nothing was stored.", {
    errors: [{ pointer: "", detail }],
  });

const brokenOff = malformed("it ends before the closing boundary that Content-Type names");
const badDelimiter = malformed(
  "a line begins with the boundary and continues; choose a boundary that does not occur in the content",
);
const longHeader = malformed(`the header of a part is longer than ${maxPartHeaderBytes} bytes`);

/** These decide what a part is, so a second one would be ambiguous. */
const singleFields = new Set(["content-disposition", "content-type"]);

const fieldShape = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):(.*)$/;
const forbidden = /[\0\r\n]/;

/** Returns the first field of each name in lower case; a string describes an error. */
function readPartHeader(lines: readonly Uint8Array[]): ReadonlyMap<string, string> | string {
  if (lines.length === 0) return "a part has no header (RFC 7578 §4.2)";
  const fields = new Map<string, string>();
  for (const line of unfolded(lines)) {
    if (!isUtf8(Buffer.from(line, "latin1"))) return "the header of a part is not UTF-8";
    const [, name = "", value = ""] = fieldShape.exec(line) ?? [];
    if (name === "" || forbidden.test(line))
      return "a line in the header of a part is not `name: value`";
    const key = name.toLowerCase();
    if (!fields.has(key)) fields.set(key, trimField(value));
    else if (singleFields.has(key)) return `a part has more than one ${name}`;
  }
  return fields;
}

/** A line that begins with white space continues the one before it (RFC 5322 §2.2.3). */
function unfolded(lines: readonly Uint8Array[]): readonly string[] {
  const whole: string[] = [];
  for (const bytes of lines) {
    const line = Buffer.from(bytes).toString("latin1");
    const last = whole.at(-1);
    if (last !== undefined && /^[ \t]/.test(line)) whole[whole.length - 1] = last + line;
    else whole.push(line);
  }
  return whole;
}
