// Reads the lines of an NDJSON body and the rows of a CSV body as drafts.

import {
  CsvSplitter,
  namedSeparator,
  readCells,
  type Separator,
  type SplitRow,
} from "../../lib/csv-splitter.ts";
import { type Line, LineSplitter } from "../../lib/json/line-splitter.ts";
import { decodeUtf8 } from "../../lib/json/utf8.ts";
import { CsvTable, type TableOptions } from "../../model/csv-table.ts";
import { type Draft, draftOf } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import { invalidBody, readFields } from "./content.ts";

/** A line of NDJSON or a row of CSV. */
export interface BulkLine {
  /** The number of its first line, from 1. */
  readonly number: number;
  readonly size: number;
  read(): Draft | Problem;
}

/** Splits a body into lines. A problem is about the whole body. */
export interface LineReader {
  /** How many bytes of an unfinished line are buffered. */
  readonly bufferedBytes: number;
  add(chunk: Uint8Array): readonly BulkLine[] | Problem;
  end(): readonly BulkLine[] | Problem;
}

/** Leaves lines out. */
export const filterLines = (
  reader: LineReader,
  isSkipped: (line: number) => boolean,
): LineReader => {
  const filter = (lines: readonly BulkLine[] | Problem) =>
    lines instanceof Problem ? lines : lines.filter(({ number }) => !isSkipped(number));
  return {
    get bufferedBytes() {
      return reader.bufferedBytes;
    },
    add: (chunk) => filter(reader.add(chunk)),
    end: () => filter(reader.end()),
  };
};

export class NdjsonLines implements LineReader {
  readonly #splitter: LineSplitter;
  readonly #maxBytes: number;

  constructor(maxBytes: number) {
    this.#splitter = new LineSplitter(maxBytes);
    this.#maxBytes = maxBytes;
  }

  get bufferedBytes(): number {
    return this.#splitter.bufferedBytes;
  }

  add(chunk: Uint8Array): readonly BulkLine[] {
    return this.#splitter.add(chunk).map(this.#lineOf);
  }

  end(): readonly BulkLine[] {
    return this.#splitter.end().map(this.#lineOf);
  }

  #lineOf = ({ number, bytes }: Line): BulkLine => ({
    number,
    size: bytes?.length ?? 0,
    read: () => (bytes === undefined ? lineTooLong(this.#maxBytes) : readFields(bytes)),
  });
}

export interface CsvFormat extends TableOptions {
  readonly encoding: "utf-8" | "windows-1252";
  /** Undefined when the header row shows it. */
  readonly separator: Separator | undefined;
}

export class CsvLines implements LineReader {
  readonly #splitter: CsvSplitter;
  readonly #maxBytes: number;
  readonly #format: CsvFormat;
  #decode: (bytes: Uint8Array) => string | Problem;
  #table: CsvTable | undefined;

  constructor(maxBytes: number, format: CsvFormat) {
    this.#splitter = new CsvSplitter(maxBytes, format.separator);
    this.#maxBytes = maxBytes;
    this.#format = format;
    this.#decode = format.encoding === "utf-8" ? fromUtf8 : fromWindows;
  }

  get bufferedBytes(): number {
    return this.#splitter.bufferedBytes;
  }

  add(chunk: Uint8Array): readonly BulkLine[] | Problem {
    return this.#linesOf(this.#splitter.add(chunk));
  }

  end(): readonly BulkLine[] | Problem {
    const lines = this.#linesOf(this.#splitter.end());
    return this.#table === undefined && !(lines instanceof Problem) ? noHeader : lines;
  }

  #linesOf(rows: readonly SplitRow[]): readonly BulkLine[] | Problem {
    const [first, ...rest] = rows;
    if (this.#table !== undefined || first === undefined) return this.#withoutEmpty(rows);
    const { number, bytes = new Uint8Array() } = first;
    const named = number === 1 ? namedSeparator(bytes) : undefined;
    if (named !== undefined) return this.#readNote(bytes, named) ?? this.#linesOf(rest);
    const table = this.#readHeader(first);
    if (table instanceof Problem) return table;
    this.#table = table;
    return this.#withoutEmpty(rest);
  }

  /** The line `sep=;` before the header row. What the parameter says must not contradict it. */
  #readNote(bytes: Uint8Array, named: string): Problem | undefined {
    if (hasMark(bytes)) this.#decode = fromUtf8;
    return named === this.#splitter.separator ? undefined : badHeader(1, otherSeparator(named));
  }

  #readHeader({ number, bytes, isUnclosed }: SplitRow): CsvTable | Problem {
    if (bytes === undefined || isUnclosed) return badHeader(number, tooLongOrUnclosed);
    if (isUtf16(bytes)) return badHeader(number, "the body is UTF-16; send it as UTF-8");
    // A byte order mark says that the text is UTF-8, whatever the charset.
    if (hasMark(bytes)) this.#decode = fromUtf8;
    const text = this.#decode(bytes);
    if (text instanceof Problem) return text;
    const cells = readCells(text, this.#splitter.separator);
    const table = typeof cells === "string" ? cells : CsvTable.of(cells, this.#format);
    return typeof table === "string" ? badHeader(number, table) : table;
  }

  /** Rows without a value are skipped, as spreadsheets add them at the end. */
  #withoutEmpty(rows: readonly SplitRow[]): readonly BulkLine[] {
    return rows.flatMap((row) => {
      const json = this.#jsonOf(row);
      if (json === undefined) return [];
      const size = row.bytes?.length ?? 0;
      return [{ number: row.number, size, read: () => draftFrom(json) }];
    });
  }

  #jsonOf({ bytes, isUnclosed }: SplitRow): string | Problem | undefined {
    if (bytes === undefined) return lineTooLong(this.#maxBytes);
    if (isUnclosed) return badRow("a quote is not closed before the end of the body");
    const text = this.#decode(bytes);
    if (text instanceof Problem) return text;
    const cells = readCells(text, this.#splitter.separator);
    if (typeof cells === "string") return badRow(cells);
    const columns = this.#table?.columns ?? 0;
    if (cells.length === columns) return this.#table?.jsonOf(cells);
    return cells.every(({ text: cell, isQuoted }) => cell === "" && !isQuoted)
      ? undefined
      : badRow(`the row has ${cells.length} cells, and the header has ${columns}`);
  }
}

function draftFrom(json: string | Problem): Draft | Problem {
  if (json instanceof Problem) return json;
  const draft = draftOf(json);
  return "fields" in draft ? draft : invalidBody(draft);
}

function fromUtf8(bytes: Uint8Array): string | Problem {
  const text = decodeUtf8(bytes);
  if (typeof text === "string") return text;
  const detail = `${text.detail}; send UTF-8, or say \`charset=windows-1252\` in Content-Type`;
  return invalidBody([{ pointer: "", detail }]);
}

const windows = new TextDecoder("windows-1252");
const fromWindows = (bytes: Uint8Array): string => windows.decode(bytes);

const hasMark = ([first, second, third]: Uint8Array): boolean =>
  first === 0xef && second === 0xbb && third === 0xbf;

const isUtf16 = ([first, second]: Uint8Array): boolean =>
  (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);

const lineTooLong = (limitBytes: number): Problem =>
  new Problem(
    "content-too-large",
    `The line is longer than ${limitBytes} bytes. It was not stored.`,
  );

const otherSeparator = (named: string): string =>
  `the line says that ${JSON.stringify(named)} separates the cells, which is no separator, or not that of the request`;

const tooLongOrUnclosed = "the header row is too long, or a quote in it is not closed";

const badRow = (detail: string): Problem => invalidBody([{ pointer: "", detail }]);

const badHeader = (line: number, detail: string): Problem =>
  new Problem("invalid-body", `The header row (line ${line}) is not valid. Nothing was stored.`, {
    errors: [{ pointer: "", detail }],
  });

const noHeader = new Problem(
  "invalid-body",
  "The body is empty; send a header row with the names of the columns.",
  { errors: [{ pointer: "", detail: "a header row is needed" }] },
);
