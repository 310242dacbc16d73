// Compares the rows of a table in two stores, in the order of their keys.

import { keyOf, type SourceRow, type SourceTable, stepRows } from "./source-tables.ts";

type RowSteps = AsyncIterable<readonly SourceRow[]>;

/** What to do so that a store has some more rows as they are wanted. */
export interface RowDifference {
  /** The wanted rows that were compared. */
  readonly rows: readonly SourceRow[];
  /** Rows that are there and not wanted, or not like this. */
  readonly deleted: readonly SourceRow[];
  readonly inserted: readonly SourceRow[];
}

/** The store may be written to after each step: what is read of it next is behind the wanted rows. */
export async function* compareRows(
  table: SourceTable,
  wanted: RowSteps,
  present: RowSteps,
): AsyncGenerator<RowDifference> {
  const there = new Ahead(present);
  for await (const rows of wanted) {
    const inserted: SourceRow[] = [];
    let deleted: SourceRow[] = [];
    for (const row of rows) {
      if (there.isEmpty) await there.fill();
      while (there.row && compareKeys(table, there.row, row) < 0) {
        deleted.push(there.row);
        there.shift();
        if (deleted.length >= stepRows) {
          yield { rows: [], deleted, inserted: [] };
          deleted = [];
        }
        if (there.isEmpty) await there.fill();
      }
      const former = there.row && compareKeys(table, there.row, row) === 0 ? there.row : undefined;
      if (former) there.shift();
      if (former && isSame(former, row)) continue;
      if (former) deleted.push(former);
      inserted.push(row);
    }
    yield { rows, deleted, inserted };
  }
  for (await there.fill(); !there.isEmpty; await there.fill())
    yield { rows: [], deleted: there.take(), inserted: [] };
}

/** Reads the next step when the last one is used up. */
class Ahead {
  readonly #steps: AsyncIterator<readonly SourceRow[]>;
  #rows: readonly SourceRow[] = [];
  #place = 0;
  #isDone = false;

  constructor(steps: RowSteps) {
    this.#steps = steps[Symbol.asyncIterator]();
  }

  get isEmpty(): boolean {
    return this.#place >= this.#rows.length;
  }

  get row(): SourceRow | undefined {
    return this.#rows[this.#place];
  }

  shift(): void {
    this.#place++;
  }

  /** Returns all rows that are read. */
  take(): readonly SourceRow[] {
    const rows = this.#rows.slice(this.#place);
    this.#place = this.#rows.length;
    return rows;
  }

  async fill(): Promise<void> {
    if (this.#isDone || !this.isEmpty) return;
    const next = await this.#steps.next();
    this.#isDone = next.done === true;
    this.#rows = next.done ? [] : next.value;
    this.#place = 0;
  }
}

const isSame = (row: SourceRow, other: SourceRow): boolean =>
  row.every((value, place) => value === other[place]);

/** Both engines order texts by their bytes in UTF-8. */
function compareKeys(table: SourceTable, row: SourceRow, other: SourceRow): number {
  const keys = keyOf(table, other);
  for (const [place, value] of keyOf(table, row).entries()) {
    const order = compareValues(value ?? "", keys[place] ?? "");
    if (order !== 0) return order;
  }
  return 0;
}

const compareValues = (value: string | number, other: string | number): number =>
  typeof value === "number" && typeof other === "number"
    ? value - other
    : Buffer.compare(Buffer.from(String(value)), Buffer.from(String(other)));
