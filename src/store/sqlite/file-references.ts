// The keys of the files that resources name: kept in a table, so that one look tells what nobody names.

import { readFiles } from "../../model/file.ts";
import type { Connection, Query } from "./connection.ts";

/** Follows the resources of one collection. */
export class FileReferenceWriter {
  readonly #collection: number;
  readonly #insert: Query<never>;
  readonly #delete: Query<never>;

  constructor(connection: Connection, collection: number) {
    this.#collection = collection;
    this.#insert = connection.query("INSERT OR REPLACE INTO files (key, collection) VALUES (?, ?)");
    this.#delete = connection.query("DELETE FROM files WHERE key = ?");
  }

  /** What stays with its resource costs nothing. */
  move(last: string | undefined, next: string | undefined): void {
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

  /** Those of the keys that a resource names. */
  among(keys: readonly string[]): ReadonlySet<string> {
    return new Set(this.#find.all(JSON.stringify(keys)).map(([key]) => key));
  }
}

const keysIn = (parts: string | undefined): ReadonlySet<string> =>
  new Set(readFiles(parts).map(({ key }) => key));
