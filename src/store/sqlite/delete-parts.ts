// Deletes the rows of deleted collections in small steps.

import type { Connection, PreparedQuery } from "./connection.ts";

interface PartTable {
  readonly name: string;
  /** The columns of its key after `part`. */
  readonly key: string;
  /** The size of a row, where rows can be large. */
  readonly bytes?: string;
}

const tables: readonly PartTable[] = [
  { name: "resources", key: "seq", bytes: "octet_length(fields)" },
  { name: "idempotency_keys", key: "owner, key", bytes: "octet_length(outcomes)" },
  { name: "tombstones", key: "id" },
  { name: "former_owners", key: "revision" },
  { name: "former_states", key: "id, revision", bytes: "octet_length(state)" },
  { name: "positions", key: "level, row" },
  { name: "entries", key: "field, key, seq" },
  { name: "words", key: "word, rank, seq" },
  { name: "files", key: "key" },
  { name: "epochs", key: "epoch" },
];

/** The size of a step; it delays a commit by a few milliseconds at most. */
const rowsPerStep = 500;
const bytesPerStep = 1024 * 1024;

/** Deletes one step after another. */
export function* deleteParts(connection: Connection): Generator<void> {
  const next = connection.query<readonly [part: number]>("SELECT part FROM deleted_parts LIMIT 1");
  const finish = connection.query("DELETE FROM deleted_parts WHERE part = ?");
  const rows = tables.map((table) => new TableRows(connection, table));
  for (let part = next.one()?.[0]; part !== undefined; part = next.one()?.[0]) {
    for (const each of rows) while (each.deleteSome(part)) yield;
    finish.run(part);
  }
}

class TableRows {
  readonly #sizes: PreparedQuery<readonly [bytes: number]>;
  readonly #delete: PreparedQuery<never>;

  constructor(connection: Connection, { name, key, bytes = "0" }: PartTable) {
    this.#sizes = connection.query(
      `SELECT ${bytes} FROM ${name} WHERE part = ? ORDER BY ${key} LIMIT ${rowsPerStep}`,
    );
    this.#delete = connection.query(
      `DELETE FROM ${name} WHERE part = ?1 AND (${key}) IN (
         SELECT ${key} FROM ${name} WHERE part = ?1 ORDER BY ${key} LIMIT ?2)`,
    );
  }

  /** Returns whether it deleted rows. */
  deleteSome(part: number): boolean {
    const { rows } = this.#sizes.within(bytesPerStep, ([bytes]) => bytes, part);
    return rows.length > 0 && this.#delete.run(part, rows.length) > 0;
  }
}
