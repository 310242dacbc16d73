// Finds the files that resources reference, and adds up their sizes.

import type { Connection, PreparedQuery } from "./connection.ts";

export class FileReferenceReader {
  readonly #any: PreparedQuery<readonly [1]>;
  readonly #find: PreparedQuery<readonly [key: string]>;
  readonly #bytesOfOwner: PreparedQuery<readonly [number]>;
  readonly #bytesOfAll: PreparedQuery<readonly [number]>;

  constructor(connection: Connection) {
    this.#any = connection.query("SELECT 1 FROM files WHERE part = ? LIMIT 1");
    this.#find = connection.query(
      "SELECT key FROM files WHERE part = ? AND key IN (SELECT value FROM json_each(?))",
    );
    const sum = "SELECT coalesce(sum(bytes), 0) FROM files INDEXED BY files_by_owner";
    const isPresent = "part NOT IN (SELECT part FROM deleted_parts)";
    this.#bytesOfOwner = connection.query(`${sum} WHERE owner = ? AND ${isPresent}`);
    this.#bytesOfAll = connection.query(`${sum} WHERE ${isPresent}`);
  }

  /** Returns those of the keys that a resource of these parts references. */
  among(keys: readonly string[], parts: readonly number[]): ReadonlySet<string> {
    const wanted = JSON.stringify(keys);
    const found = parts
      .filter((part) => this.#any.one(part))
      .flatMap((part) => this.#find.all(part, wanted));
    return new Set(found.map(([key]) => key));
  }

  /** Returns the bytes of the files of an owner; without one, of all. Those of a deleted collection do not count. */
  bytes(owner?: string): number {
    const row = owner === undefined ? this.#bytesOfAll.one() : this.#bytesOfOwner.one(owner);
    return row?.[0] ?? 0;
  }
}
