// Finds the files that resources reference.

import type { Connection, Query } from "./connection.ts";

export class FileReferenceReader {
  readonly #any: Query<readonly [1]>;
  readonly #find: Query<readonly [key: string]>;

  constructor(connection: Connection) {
    this.#any = connection.query("SELECT 1 FROM files WHERE part = ? LIMIT 1");
    this.#find = connection.query(
      "SELECT key FROM files WHERE part = ? AND key IN (SELECT value FROM json_each(?))",
    );
  }

  /** Returns those of the keys that a resource of these parts references. */
  among(keys: readonly string[], parts: readonly number[]): ReadonlySet<string> {
    const wanted = JSON.stringify(keys);
    const found = parts
      .filter((part) => this.#any.one(part))
      .flatMap((part) => this.#find.all(part, wanted));
    return new Set(found.map(([key]) => key));
  }
}
