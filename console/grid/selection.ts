// The rows that a person has selected, by id, wherever they scroll.

import { signal } from "@preact/signals";
import type { Row } from "./columns.ts";

export class Selection {
  readonly rows = signal<ReadonlyMap<string, Row>>(new Map());
  /** Where a range begins. */
  anchor = 0;

  has(id: string): boolean {
    return this.rows.value.has(id);
  }

  toggle(row: Row, index: number): void {
    const rows = new Map(this.rows.peek());
    if (!rows.delete(row.id)) rows.set(row.id, row);
    this.rows.value = rows;
    this.anchor = index;
  }

  add(added: readonly Row[]): void {
    this.rows.value = new Map([...this.rows.peek(), ...added.map((row) => [row.id, row] as const)]);
  }

  clear(): void {
    this.rows.value = new Map();
  }
}
