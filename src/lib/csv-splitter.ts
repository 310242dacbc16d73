// Splits a stream of CSV bytes (RFC 4180) into rows: a line break within quotes does not end a row.

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const separators = { ",": 0x2c, ";": 0x3b, "\t": 0x09 } as const;

export type Separator = keyof typeof separators;

export interface SplitRow {
  /** The number of its first line, from 1. */
  readonly number: number;
  /** Undefined when the row exceeds the limit. */
  readonly bytes: Uint8Array | undefined;
  /** Set when a quote is not closed at the end of the body. */
  readonly isUnclosed?: true;
}

/** Where the next byte is. */
type SplitterState = "cell start" | "plain" | "quoted" | "after quote";

/** Buffers at most one row, and nothing of a row that exceeds the limit. */
export class CsvSplitter {
  readonly #maxBytes: number;
  /** Undefined until the first row has shown it. */
  #separator: Separator | undefined;
  #place: SplitterState = "cell start";
  #wasReturn = false;
  #line = 1;
  #rowLine = 1;
  #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number, separator?: Separator) {
    this.#maxBytes = maxBytes;
    this.#separator = separator;
  }

  /** The given one, the one that the first row names, or the most frequent one in the first row. */
  get separator(): Separator {
    return this.#separator ?? ",";
  }

  /** How many bytes of an unfinished row are buffered. */
  get bufferedBytes(): number {
    return this.#chunks.length === 0 ? 0 : this.#length;
  }

  /** Returns the rows that end in this chunk, without empty ones. */
  add(chunk: Uint8Array): readonly SplitRow[] {
    const rows: SplitRow[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0;
      if (byte === lineFeed || byte === carriageReturn) {
        const isSecond = byte === lineFeed && this.#wasReturn;
        this.#wasReturn = byte === carriageReturn;
        if (!isSecond) this.#line++;
        if (this.#place === "quoted") continue;
        // The line feed after a carriage return belongs to the row before.
        if (!isSecond) {
          this.#append(chunk.subarray(start, at));
          this.#finishRow(rows);
        }
        this.#rowLine = this.#line;
        start = at + 1;
      } else {
        this.#wasReturn = false;
        if (byte === quote) this.#addQuote();
        else if (this.#place !== "quoted")
          this.#place = this.#isSeparator(byte) ? "cell start" : "plain";
      }
    }
    this.#append(chunk.subarray(start));
    return rows;
  }

  /** Returns the last row, which needs no line break. */
  end(): readonly SplitRow[] {
    const rows: SplitRow[] = [];
    const isUnclosed = this.#place === "quoted";
    const number = this.#rowLine;
    this.#finishRow(rows);
    return isUnclosed ? rows.map(({ bytes }) => ({ number, bytes, isUnclosed })) : rows;
  }

  /** A quote opens a cell at its start only; within quotes, two are one. */
  #addQuote(): void {
    if (this.#place === "cell start" || this.#place === "after quote") this.#place = "quoted";
    else if (this.#place === "quoted") this.#place = "after quote";
  }

  #isSeparator(byte: number): boolean {
    if (this.#separator !== undefined) return byte === separators[this.#separator];
    return byte === separators[","] || byte === separators[";"] || byte === separators["\t"];
  }

  #append(chunk: Uint8Array): void {
    if (chunk.length === 0) return;
    this.#length += chunk.length;
    if (this.#length > this.#maxBytes) this.#chunks = [];
    else this.#chunks.push(chunk);
  }

  #finishRow(rows: SplitRow[]): void {
    const number = this.#rowLine;
    if (this.#length > this.#maxBytes) rows.push({ number, bytes: undefined });
    else if (this.#length > 0) {
      const [first] = this.#chunks;
      const bytes = this.#chunks.length > 1 ? Buffer.concat(this.#chunks) : first;
      if (bytes !== undefined) {
        this.#separator ??= supportedSeparator(namedSeparator(bytes)) ?? separatorIn(bytes);
        rows.push({ number, bytes });
      }
    }
    this.#chunks = [];
    this.#length = 0;
    this.#place = "cell start";
  }
}

/** Returns X of a row `sep=X`, which Excel reads as a note about the file. */
export function namedSeparator(row: Uint8Array): string | undefined {
  if (row.length > maxNoteBytes) return undefined;
  const text = Buffer.from(row).toString().replace("\ufeff", "");
  return /^"?sep=(.)"?$/i.exec(text)?.[1];
}

const maxNoteBytes = 16;

const supportedSeparator = (text = ""): Separator | undefined =>
  Object.hasOwn(separators, text) ? (text as Separator) : undefined;

/** Returns the most frequent separator outside of quotes; the comma when there is none. */
function separatorIn(header: Uint8Array): Separator {
  const counts = new Map<number, number>();
  let isQuoted = false;
  for (const byte of header)
    if (byte === quote) isQuoted = !isQuoted;
    else if (!isQuoted) counts.set(byte, (counts.get(byte) ?? 0) + 1);
  const countOf = (separator: Separator) => counts.get(separators[separator]) ?? 0;
  return ([";", "\t"] as const).reduce<Separator>(
    (best, each) => (countOf(each) > countOf(best) ? each : best),
    ",",
  );
}

export interface Cell {
  readonly text: string;
  readonly isQuoted: boolean;
}

/** Returns the cells of a row, or what is malformed. */
export function readCells(row: string, separator: Separator): readonly Cell[] | string {
  const cells: Cell[] = [];
  let at = 0;
  for (;;) {
    const place = `cell ${cells.length + 1}`;
    if (row[at] === '"') {
      let text = "";
      for (let from = at + 1; ; ) {
        const end = row.indexOf('"', from);
        if (end < 0) return `the quote of ${place} is not closed`;
        text += row.slice(from, end);
        at = end + 1;
        if (row[at] !== '"') break;
        text += '"';
        from = at + 1;
      }
      cells.push({ text, isQuoted: true });
      if (at < row.length && row[at] !== separator)
        return `${place} continues after its closing quote; write a quote within quotes twice`;
    } else {
      const end = row.indexOf(separator, at);
      const text = end < 0 ? row.slice(at) : row.slice(at, end);
      if (text.includes('"'))
        return `${place} has a quote within; write the cell in quotes, and each quote in it twice`;
      cells.push({ text, isQuoted: false });
      at += text.length;
    }
    if (at >= row.length) return cells;
    at++;
  }
}
