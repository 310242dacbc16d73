// Changes the index rows of all resources of a part when its definition changes.

import { missingValue } from "../../model/query/compound-key.ts";
import type { Index, IndexPlan } from "../../model/query/index-plan.ts";
import { minKey } from "../../model/query/sort-key.ts";
import { indexChanges } from "../core/index-changes.ts";
import { collectIndexRows, hasNoIndexes, noIndexWrites } from "../core/index-rows.ts";
import type { CollectionWrite } from "../core/writes.ts";
import type { Connection, Query } from "./connection.ts";
import {
  type SeqResourceRow,
  seqResourceColumns,
  toUncheckedCandidate,
} from "./resource-reader.ts";
import type { RowWriter } from "./row-writer.ts";

/** How many resources, and how many bytes of them, are read at once; bounds the memory use. */
const chunkRows = 1_000;
const chunkBytes = 8 * 1024 * 1024;

export class IndexBuilder {
  readonly #rows: RowWriter;
  readonly #deleteEntries: Query<never>;
  readonly #deleteWords: Query<never>;
  readonly #duplicates: Query<readonly [1]>;
  readonly #resources: Query<SeqResourceRow>;

  constructor(connection: Connection, rows: RowWriter) {
    this.#rows = rows;
    this.#deleteEntries = connection.query("DELETE FROM entries WHERE part = ? AND field = ?");
    this.#deleteWords = connection.query("DELETE FROM words WHERE part = ?");
    this.#duplicates = connection.query(
      `SELECT 1 FROM entries
       WHERE part = ? AND field = ? AND key > '${minKey}'
         AND (? = 1 OR instr(key, '${missingValue}') = 0)
       GROUP BY key HAVING count(*) > 1 LIMIT 1`,
    );
    this.#resources = connection.query(
      `SELECT ${seqResourceColumns} FROM resources
       WHERE part = ? AND seq > ? ORDER BY seq LIMIT ${chunkRows}`,
    );
  }

  /** Returns the name of a unique index in which two resources have the same value; then the caller rolls back. */
  follow({ part, plans }: CollectionWrite): string | undefined {
    const changes = indexChanges(plans.before, plans.after);
    for (const name of changes.deletedIndexes) this.#deleteEntries.run(part, name);
    if (changes.areWordsDeleted) this.#deleteWords.run(part);
    this.#build(part, changes.built);
    const isShared = ({ name, fields }: Index) =>
      this.#duplicates.one(part, name, fields.length) !== undefined;
    return changes.newlyUnique.find(isShared)?.name;
  }

  #build(part: number, plan: IndexPlan): void {
    if (hasNoIndexes(plan)) return;
    for (let last = 0; ; ) {
      const { rows, isCut } = this.#resources.within(
        chunkBytes,
        (row) => row[5].length,
        part,
        last,
      );
      const writes = noIndexWrites();
      for (const row of rows) collectIndexRows(writes, plan, undefined, toUncheckedCandidate(row));
      this.#rows.writeIndexRows(part, writes);
      last = rows.at(-1)?.[0] ?? last;
      if (!isCut && rows.length < chunkRows) return;
    }
  }
}
