// What a person has selected: rows by id, wherever they scroll, or all that match.

import { signal } from "@preact/signals";
import type { Row } from "./columns.ts";

export class Selection {
  readonly rows = signal<ReadonlyMap<string, Row>>(new Map());
  /** When all that match are selected: the ids of those that are not. */
  readonly except = signal<ReadonlySet<string> | undefined>(undefined);
  /** Where a range begins. */
  anchor = 0;

  has(id: string): boolean {
    return this.except.value === undefined ? this.rows.value.has(id) : !this.except.value.has(id);
  }

  /** How many are selected of a list of so many; undefined when nobody has counted them. */
  countIn(total: number | undefined): number | undefined {
    if (this.except.value === undefined) return this.rows.value.size;
    return total === undefined ? undefined : total - this.except.value.size;
  }

  toggle(row: Row, index: number): void {
    this.anchor = index;
    const except = this.except.peek();
    if (except !== undefined) this.except.value = except.symmetricDifference(new Set([row.id]));
    else if (this.rows.peek().has(row.id)) this.remove(row.id);
    else this.add([row]);
  }

  add(added: readonly Row[]): void {
    const except = this.except.peek();
    if (except !== undefined) this.except.value = except.difference(idsOf(added));
    else
      this.rows.value = new Map([
        ...this.rows.peek(),
        ...added.map((row) => [row.id, row] as const),
      ]);
  }

  private remove(id: string): void {
    const rows = new Map(this.rows.peek());
    rows.delete(id);
    this.rows.value = rows;
  }

  addAll(): void {
    this.rows.value = new Map();
    this.except.value = new Set();
  }

  clear(): void {
    this.rows.value = new Map();
    this.except.value = undefined;
  }
}

const idsOf = (rows: readonly Row[]): ReadonlySet<string> => new Set(rows.map(({ id }) => id));
