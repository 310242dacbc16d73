// Counts the resources in the bytes of an export.

const lineFeed = 10;
const quote = 34;

export class RowCounter {
  readonly #isCsv: boolean;
  #isQuoted = false;
  #lines = 0;

  constructor(type: "ndjson" | "csv") {
    this.#isCsv = type === "csv";
  }

  /** The number of resources so far. The first row of CSV is the header. */
  get rows(): number {
    return this.#isCsv ? Math.max(0, this.#lines - 1) : this.#lines;
  }

  /** Returns how many resources end in these bytes. */
  add(chunk: Uint8Array): number {
    const before = this.rows;
    if (this.#isCsv) this.#addCsv(chunk);
    else
      for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, at + 1))
        this.#lines++;
    return this.rows - before;
  }

  /** A line break within quotes does not end a row. */
  #addCsv(chunk: Uint8Array): void {
    for (const byte of chunk) {
      if (byte === quote) this.#isQuoted = !this.#isQuoted;
      else if (byte === lineFeed && !this.#isQuoted) this.#lines++;
    }
  }
}
