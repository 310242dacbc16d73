// Writes the rows of resources.

import type { ResourceRow } from "../core/rows.ts";
import type { Connection, Query } from "./connection.ts";

export class ResourceWriter {
  readonly #insert: Query<never>;
  readonly #update: Query<never>;
  readonly #delete: Query<never>;

  constructor(connection: Connection) {
    this.#insert = connection.query(
      `INSERT INTO resources
         (part, seq, id, revision, created, updated, fields, owner, files, shares_date, checksum)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (part, id) DO NOTHING`,
    );
    this.#update = connection.query(
      `UPDATE resources
       SET revision = ?, updated = ?, fields = ?, owner = ?, files = ?, shares_date = ?, checksum = ?
       WHERE part = ? AND seq = ?`,
    );
    this.#delete = connection.query("DELETE FROM resources WHERE part = ? AND seq = ?");
  }

  /** Returns false when the id exists. */
  insert(part: number, row: ResourceRow): boolean {
    const inserted = this.#insert.run(
      part,
      row.seq,
      row.id,
      row.revision,
      row.createdAt,
      row.updatedAt,
      row.fields,
      row.owner,
      row.files,
      row.sharesDate,
      row.checksum,
    );
    return inserted > 0;
  }

  update(part: number, row: ResourceRow): void {
    const { seq, revision, updatedAt, fields, owner, files, sharesDate, checksum } = row;
    const content = [fields, owner, files, sharesDate, checksum] as const;
    this.#update.run(revision, updatedAt, ...content, part, seq);
  }

  delete(part: number, seq: number): void {
    this.#delete.run(part, seq);
  }
}
