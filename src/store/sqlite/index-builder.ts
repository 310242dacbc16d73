// Lets the index rows of a part follow its definition, one step at a time.

import type { Index } from "../../model/query/index-plan.ts";
import { indexPlanOf } from "../../model/query/index-plan.ts";
import {
  builtPlan,
  type CheckedEntry,
  cleared,
  compared,
  droppedOne,
  type IndexBuild,
  indexed,
  pairsIn,
  phaseOf,
  type StoredBuild,
  withoutReturn,
} from "../core/index-build.ts";
import { collectIndexRows, noIndexWrites } from "../core/index-rows.ts";
import type { Clash } from "../store.ts";
import type { Connection, Query } from "./connection.ts";
import {
  type SeqResourceRow,
  seqResourceColumns,
  toUncheckedCandidate,
} from "./resource-reader.ts";
import type { RowWriter } from "./row-writer.ts";

/** The size of a step; it delays a commit by some milliseconds. */
const rowsPerStep = 500;
const bytesPerStep = 1024 * 1024;
const entriesPerStep = 2_000;

export class IndexBuilder {
  readonly #rows: RowWriter;
  readonly #deleteEntries: Query<never>;
  readonly #deleteWords: Query<never>;
  readonly #entries: Query<CheckedEntry>;
  readonly #resources: Query<SeqResourceRow>;
  readonly #id: Query<readonly [id: string]>;

  constructor(connection: Connection, rows: RowWriter) {
    this.#rows = rows;
    this.#deleteEntries = connection.query(
      `DELETE FROM entries WHERE part = ?1 AND field = ?2 AND (key, seq) IN (
         SELECT key, seq FROM entries WHERE part = ?1 AND field = ?2
         ORDER BY key, seq LIMIT ${entriesPerStep})`,
    );
    this.#deleteWords = connection.query(
      `DELETE FROM words WHERE part = ?1 AND (word, rank, seq) IN (
         SELECT word, rank, seq FROM words WHERE part = ?1
         ORDER BY word, rank, seq LIMIT ${entriesPerStep})`,
    );
    this.#entries = connection.query(
      `SELECT key, seq FROM entries WHERE part = ? AND field = ? AND (key, seq) > (?, ?)
       ORDER BY key, seq LIMIT ${entriesPerStep}`,
    );
    this.#resources = connection.query(
      `SELECT ${seqResourceColumns} FROM resources
       WHERE part = ? AND seq > ? ORDER BY seq LIMIT ${rowsPerStep}`,
    );
    this.#id = connection.query("SELECT id FROM resources WHERE part = ? AND seq = ?");
  }

  /** Runs one step in the current transaction, and returns what is left to do. */
  step(part: number, definition: string, build: StoredBuild): IndexBuild {
    return withoutReturn({ ...build, state: this.#step(part, definition, build.state) });
  }

  #step(part: number, definition: string, build: IndexBuild): IndexBuild {
    switch (phaseOf(build)) {
      case "clear": {
        const [name] = build.stale;
        const deleted =
          name === undefined ? this.#deleteWords.run(part) : this.#deleteEntries.run(part, name);
        return deleted === entriesPerStep ? build : cleared(build);
      }
      case "build":
        return this.#build(part, definition, build);
      case "check":
        return this.#check(part, definition, build);
      case "drop": {
        const [name = ""] = build.dropped;
        const deleted = this.#deleteEntries.run(part, name);
        return deleted === entriesPerStep ? build : droppedOne(build);
      }
      case "none":
        return build;
    }
  }

  #build(part: number, definition: string, build: IndexBuild): IndexBuild {
    const plan = builtPlan(definition, build);
    const size = (row: SeqResourceRow) => row[5].length;
    const { rows } = this.#resources.within(bytesPerStep, size, part, build.seq);
    const writes = noIndexWrites();
    for (const row of rows) collectIndexRows(writes, plan, undefined, toUncheckedCandidate(row));
    this.#rows.addIndexRows(part, writes);
    return indexed(build, rows.length, rows.at(-1)?.[0]);
  }

  #check(part: number, definition: string, build: IndexBuild): IndexBuild {
    const [name = ""] = build.unique;
    const index = indexPlanOf(definition).indexes.find((each) => each.name === name);
    if (!index) return build;
    const entries = this.#entries.all(part, name, ...build.checked);
    const clashes = this.#clashes(part, build, index, entries);
    return compared(build, entries, clashes, entries.length < entriesPerStep);
  }

  #clashes(
    part: number,
    build: IndexBuild,
    index: Index,
    entries: readonly CheckedEntry[],
  ): readonly Clash[] {
    const idOf = (seq: number) => this.#id.one(part, seq)?.[0] ?? "";
    return pairsIn(build, index, entries).map(([seq, other]) => ({
      index: index.name,
      ids: [idOf(seq), idOf(other)],
    }));
  }
}
