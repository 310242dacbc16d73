// Maintains the table of file keys that resources reference, so that unreferenced files can be found.

import { readFiles } from "../../model/file.ts";
import type { Connection, Query } from "./connection.ts";

/** Writes the file references of one collection. */
export class FileReferenceWriter {
  readonly #collection: number;
  readonly #insert: Query<never>;
  readonly #delete: Query<never>;

  constructor(connection: Connection, collection: number) {
    this.#collection = collection;
    this.#insert = connection.query("INSERT OR REPLACE INTO files (key, collection) VALUES (?, ?)");
    this.#delete = connection.query("DELETE FROM files WHERE key = ?");
  }

  /** Writes only the differences. */
  update(last: string | undefined, next: string | undefined): void {
    const before = keysIn(last);
    const after = keysIn(next);
    for (const key of before) if (!after.has(key)) this.#delete.run(key);
    for (const key of after) if (!before.has(key)) this.#insert.run(key, this.#collection);
  }
}

export class FileReferenceReader {
  readonly #find: Query<readonly [key: string]>;

  constructor(connection: Connection) {
    this.#find = connection.query(
      "SELECT key FROM files WHERE key IN (SELECT value FROM json_each(?))",
    );
  }

  /** Returns those of the keys that a resource references. */
  among(keys: readonly string[]): ReadonlySet<string> {
    return new Set(this.#find.all(JSON.stringify(keys)).map(([key]) => key));
  }
}

const keysIn = (parts: string | undefined): ReadonlySet<string> =>
  new Set(readFiles(parts).map(({ key }) => key));
