// Finds the content and the end of a request body, by its length or by its chunks (RFC 9112 §6 and §7.1).

import { extensionsTooLarge, type HttpError, malformed } from "./http-errors.ts";

/** Reads a body in any pieces. */
export interface BodyDecoder {
  readonly isComplete: boolean;
  /** Set after bytes that are not part of a valid body. */
  readonly error: HttpError | undefined;
  /** Passes the content among the bytes on, and returns the position after what belongs to the body. */
  decode(bytes: Uint8Array, start: number, pass: (content: Uint8Array) => void): number;
}

/** A body with Content-Length. */
export class SizedBody implements BodyDecoder {
  readonly error = undefined;
  #missing: number;

  constructor(bytes: number) {
    this.#missing = bytes;
  }

  get isComplete(): boolean {
    return this.#missing === 0;
  }

  decode(bytes: Uint8Array, start: number, pass: (content: Uint8Array) => void): number {
    const end = Math.min(bytes.byteLength, start + this.#missing);
    this.#missing -= end - start;
    if (end > start) pass(slice(bytes, start, end));
    return end;
  }
}

/** The same object where it is all of it, because a reader can free what belongs to it alone. */
const slice = (bytes: Uint8Array, start: number, end: number): Uint8Array =>
  start === 0 && end === bytes.byteLength ? bytes : bytes.subarray(start, end);

const carriageReturn = 13;
const lineFeed = 10;

/** For one line: a size with extensions, or a field of the trailer. */
const maxLineBytes = 16_384;
/** For the extensions of all chunks, and for all trailers. */
const maxIgnoredBytes = 16_384;

/** At most 48 bits. */
const sizeLine = /^([0-9a-f]{1,12})(?:[ \t]*;[\t -~\x80-\xff]*)?$/i;
const trailerLine = /^[!#$%&'*+\-.^_`|~\w]+:[\t -~\x80-\xff]*$/;

/** What a line may begin with. A CR is followed by LF. */
const possibleBeginnings = {
  size: /^(?:[0-9a-f][^\r]*\r?)?$/i,
  content: /^$/,
  "end of content": /^\r?$/,
  trailer: /^[^\r]*\r?$/,
} as const;

/** A chunked body. Extensions and trailers are ignored. */
export class ChunkedBody implements BodyDecoder {
  isComplete = false;
  error: HttpError | undefined = undefined;
  #state: "size" | "content" | "end of content" | "trailer" = "size";
  #missing = 0;
  #line = "";
  #ignoredBytes = 0;

  decode(bytes: Uint8Array, start: number, pass: (content: Uint8Array) => void): number {
    let at = start;
    while (at < bytes.byteLength && !this.isComplete && this.error === undefined)
      at =
        this.#state === "content" ? this.#readContent(bytes, at, pass) : this.#readLine(bytes, at);
    return at;
  }

  #readContent(bytes: Uint8Array, at: number, pass: (content: Uint8Array) => void): number {
    const end = Math.min(bytes.byteLength, at + this.#missing);
    this.#missing -= end - at;
    if (this.#missing === 0) this.#state = "end of content";
    pass(slice(bytes, at, end));
    return end;
  }

  /** A line may arrive in pieces. It ends with CR LF and has no other CR or LF. */
  #readLine(bytes: Uint8Array, at: number): number {
    const found = bytes.indexOf(lineFeed, at);
    const end = found < 0 ? bytes.byteLength : found;
    if (this.#line.length + end - at > maxLineBytes) {
      this.error = this.#state === "size" ? extensionsTooLarge : trailersTooLarge;
      return at;
    }
    this.#line += latin1(bytes, at, end);
    if (found < 0) {
      this.#checkBeginning();
      return end;
    }
    const line = this.#line;
    this.#line = "";
    if (line.charCodeAt(line.length - 1) !== carriageReturn) this.error = badChunk;
    else this.#take(line.slice(0, -1));
    return end + 1;
  }

  /** Rejects what cannot become a line without waiting for its end. */
  #checkBeginning(): void {
    const possible = possibleBeginnings[this.#state];
    if (!possible.test(this.#line)) this.error = badChunk;
  }

  #take(line: string): void {
    if (this.#state === "size") this.#takeSize(line);
    else if (this.#state === "end of content") {
      if (line === "") this.#state = "size";
      else this.error = badChunk;
    } else if (line === "") this.isComplete = true;
    else if (!trailerLine.test(line)) this.error = malformed("A trailer field is not valid.");
    else if (this.#ignore(line.length)) this.error = trailersTooLarge;
  }

  #takeSize(line: string): void {
    const digits = sizeLine.exec(line)?.[1];
    if (digits === undefined) {
      this.error = badChunk;
      return;
    }
    if (this.#ignore(line.length - digits.length)) {
      this.error = extensionsTooLarge;
      return;
    }
    this.#missing = Number.parseInt(digits, 16);
    this.#state = this.#missing === 0 ? "trailer" : "content";
  }

  #ignore(bytes: number): boolean {
    this.#ignoredBytes += bytes;
    return this.#ignoredBytes > maxIgnoredBytes;
  }
}

const badChunk = malformed("The chunked body is not valid (RFC 9112 §7.1).");

const trailersTooLarge: HttpError = { status: 431, detail: "The trailer fields are too large." };

const latin1 = (bytes: Uint8Array, start: number, end: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1", start, end);
