// Inserts resources while a batch is applied; new ones wait for each other, and are inserted together.

import type { ResourceRow } from "../core/rows.ts";
import type { DirectInsert } from "../core/state.ts";
import type { ResourceWriter } from "./resource-writer.ts";

export class DirectInserter implements DirectInsert {
  readonly #writer: ResourceWriter;
  /** The rows that wait, all of one part. */
  #part = 0;
  #waiting: ResourceRow[] = [];

  constructor(writer: ResourceWriter) {
    this.#writer = writer;
  }

  insert(part: number, row: ResourceRow): boolean {
    this.flush();
    return this.#writer.insert(part, row);
  }

  insertNew(part: number, row: ResourceRow): void {
    if (part !== this.#part) this.flush();
    this.#part = part;
    this.#waiting.push(row);
  }

  undo(part: number, seq: number): void {
    this.flush();
    this.#writer.delete(part, seq);
  }

  /** Must be called before resources are read, and before the commit. */
  flush(): void {
    if (this.#waiting.length === 0) return;
    const rows = this.#waiting;
    this.#waiting = [];
    this.#writer.insertAll(this.#part, rows);
  }
}
