// Splits CSV (RFC 4180) into rows without changing a cell, so that columns can be left out and renamed.

export interface CsvRow {
  /** The line of the file where it begins, from 1. */
  readonly line: number;
  /** As they stand in the file, with their quotes. */
  readonly cells: readonly string[];
}

export type Separator = "," | ";" | "\t";

/** A first line `sep=;`, as Excel reads it, is no row. */
const separatorLine = /^"?sep=([,;\t])"?$/i;

/** The one that the first line names, or the most frequent one in it, as the server decides. */
export function findSeparator(text: string): Separator {
  const [header = ""] = text.split(/\r?\n/, 1);
  const [, named] = separatorLine.exec(header) ?? [];
  if (named !== undefined) return named as Separator;
  const candidates: readonly Separator[] = [",", ";", "\t"];
  const count = (separator: string): number => header.split(separator).length;
  return candidates.reduce((best, one) => (count(one) > count(best) ? one : best));
}

/** Takes the text in pieces, and returns the rows that are complete. */
export class CsvSplitter {
  readonly #separator: string;
  #rest = "";
  #line = 1;

  constructor(separator: Separator) {
    this.#separator = separator;
  }

  push(text: string): readonly CsvRow[] {
    this.#rest += text;
    return this.#take(false);
  }

  end(): readonly CsvRow[] {
    return this.#take(true);
  }

  #take(isEnd: boolean): readonly CsvRow[] {
    const rows: CsvRow[] = [];
    let start = 0;
    let cellStart = 0;
    let cells: string[] = [];
    let isQuoted = false;
    let breaks = 0;
    const text = this.#rest;
    for (let index = 0; index < text.length; index++) {
      const character = text[index];
      if (character === "\n") breaks++;
      if (character === '"') isQuoted = !isQuoted && text[cellStart] === '"';
      else if (isQuoted) continue;
      else if (character === this.#separator) {
        cells.push(text.slice(cellStart, index));
        cellStart = index + 1;
      } else if (character === "\n") {
        cells.push(text.slice(cellStart, index));
        this.#add(rows, cells, breaks);
        cells = [];
        breaks = 0;
        start = cellStart = index + 1;
      }
    }
    this.#rest = text.slice(start);
    if (!isEnd || this.#rest === "") return rows;
    cells.push(text.slice(cellStart));
    this.#add(rows, cells, breaks + 1);
    this.#rest = "";
    return rows;
  }

  /** Empty rows and the line of the separator are skipped, as the server does. */
  #add(rows: CsvRow[], cells: readonly string[], breaks: number): void {
    const last = cells.at(-1)?.replace(/\r$/, "") ?? "";
    const row = { line: this.#line, cells: cells.with(-1, last) };
    const isNote = this.#line === 1 && separatorLine.test(row.cells.join(this.#separator));
    if (!isNote && (cells.length > 1 || last !== "")) rows.push(row);
    this.#line += breaks;
  }
}

/** The text of a cell. */
export const cellText = (cell: string): string =>
  cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;

/** A cell with this text. */
export const asCell = (text: string): string =>
  /[",;\t\r\n]/.test(text) || text === "" ? `"${text.replaceAll('"', '""')}"` : text;
