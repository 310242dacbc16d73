// NDJSON: bytes that come in any pieces, cut into lines.

const newline = 0x0a;

export interface Line {
  /** Counted from 1; empty lines count, too. */
  readonly number: number;
  /** None when the line is longer than it may be. */
  readonly bytes: Uint8Array | undefined;
}

/** Keeps no more than one line, and of one that is too long nothing. */
export class LineSplitter {
  readonly #maxBytes: number;
  #number = 1;
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** How many bytes of an unfinished line are kept. */
  get bufferedBytes(): number {
    return this.#pieces.length === 0 ? 0 : this.#length;
  }

  /** The lines that end in this piece; those with nothing in them are left out. */
  add(chunk: Uint8Array): readonly Line[] {
    const lines: Line[] = [];
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(newline, start);
      if (end < 0) break;
      this.#keep(chunk.subarray(start, end));
      this.#cut(lines);
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
    return lines;
  }

  /** The last line needs no newline. */
  end(): readonly Line[] {
    const lines: Line[] = [];
    this.#cut(lines);
    return lines;
  }

  #keep(piece: Uint8Array): void {
    if (piece.length === 0) return;
    this.#length += piece.length;
    if (this.#length > this.#maxBytes) this.#pieces = [];
    else this.#pieces.push(piece);
  }

  #cut(lines: Line[]): void {
    const number = this.#number++;
    if (this.#length > this.#maxBytes) lines.push({ number, bytes: undefined });
    else {
      const [first] = this.#pieces;
      const bytes = this.#pieces.length > 1 ? Buffer.concat(this.#pieces) : first;
      if (bytes !== undefined && !isBlank(bytes)) lines.push({ number, bytes });
    }
    this.#pieces = [];
    this.#length = 0;
  }
}

/** Nothing but what may stand between JSON values. */
function isBlank(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d) return false;
  return true;
}
