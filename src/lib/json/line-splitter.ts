// Splits a stream of NDJSON bytes into lines.

const newline = 0x0a;

export interface Line {
  /** The line number, from 1. Empty lines are counted. */
  readonly number: number;
  /** Undefined when the line exceeds the limit. */
  readonly bytes: Uint8Array | undefined;
}

/** Buffers at most one line, and nothing of a line that exceeds the limit. */
export class LineSplitter {
  readonly #maxBytes: number;
  #number = 1;
  #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** How many bytes of an unfinished line are buffered. */
  get bufferedBytes(): number {
    return this.#chunks.length === 0 ? 0 : this.#length;
  }

  /** Returns the lines that end in this chunk, without blank lines. */
  add(chunk: Uint8Array): readonly Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(newline, start);
      if (end < 0) break;
      this.#append(chunk.subarray(start, end));
      this.#finishLine(lines);
      start = end + 1;
    }
    this.#append(chunk.subarray(start));
    return lines;
  }

  /** Returns the last line, which needs no newline. */
  end(): readonly Line[] {
    const lines: Line[] = [];
    this.#finishLine(lines);
    return lines;
  }

  #append(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#length += chunk.length;
    if (this.#length > this.#maxBytes) this.#chunks = [];
    else this.#chunks.push(chunk);
  }

  #finishLine(lines: Line[]): void {
    const number = this.#number++;
    if (this.#length > this.#maxBytes) lines.push({ number, bytes: undefined });
    else {
      const [first] = this.#chunks;
      const bytes = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : first;
      if (bytes !== undefined && !isBlank(bytes)) lines.push({ number, bytes });
    }
    this.#chunks = [];
    this.#length = 0;
  }
}

/** Whether the line has only JSON whitespace. */
function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}
