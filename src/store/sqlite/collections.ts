// Reads the rows of collections, which the caches of readers and of the writer resolve names with.

import type { Connection, Query } from "./connection.ts";

export interface CollectionRow {
  readonly name: string;
  readonly part: number;
  readonly definition: string;
  readonly version: number;
  readonly createdAt: number;
}

type Row = readonly [
  ...(readonly [name: string, part: number, definition: string, version: number]),
  createdAt: number,
];
const columns = "name, part, definition, version, created";

export class CollectionRows {
  readonly #find: Query<Row>;
  readonly #all: Query<Row>;

  constructor(connection: Connection) {
    this.#find = connection.query(`SELECT ${columns} FROM collections WHERE name = ?`);
    this.#all = connection.query(`SELECT ${columns} FROM collections ORDER BY name`);
  }

  find(name: string): CollectionRow | undefined {
    const row = this.#find.one(name);
    return row && toCollectionRow(row);
  }

  all(): readonly CollectionRow[] {
    return this.#all.all().map(toCollectionRow);
  }
}

function toCollectionRow([name, part, definition, version, createdAt]: Row): CollectionRow {
  return { name, part, definition, version, createdAt };
}
