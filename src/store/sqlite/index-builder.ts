// Lets the index rows of a part follow its definition, one step at a time.

import type { IndexPlan } from "../../model/query/index-plan.ts";
import { type ActionResults, type BuildAction, buildStep } from "../core/build-step.ts";
import type { CheckedEntry } from "../core/checked-entries.ts";
import { bytesPerStep, type IndexBuild } from "../core/index-build.ts";
import { collectIndexRows, noIndexWrites } from "../core/index-rows.ts";
import type { Connection, PreparedQuery } from "./connection.ts";
import {
  type SeqResourceRow,
  seqResourceColumns,
  toUncheckedCandidate,
} from "./resource-reader.ts";
import type { RowWriter } from "./row-writer.ts";

export class IndexBuilder {
  readonly #rows: RowWriter;
  readonly #deleteEntries: PreparedQuery<never>;
  readonly #deleteWords: PreparedQuery<never>;
  readonly #entries: PreparedQuery<CheckedEntry>;
  readonly #resources: PreparedQuery<SeqResourceRow>;
  readonly #id: PreparedQuery<readonly [id: string]>;

  constructor(connection: Connection, rows: RowWriter) {
    this.#rows = rows;
    this.#deleteEntries = connection.query(
      `DELETE FROM entries WHERE part = ?1 AND field = ?2 AND (key, seq) IN (
         SELECT key, seq FROM entries WHERE part = ?1 AND field = ?2
         ORDER BY key, seq LIMIT ?3)`,
    );
    this.#deleteWords = connection.query(
      `DELETE FROM words WHERE part = ?1 AND (word, rank, seq) IN (
         SELECT word, rank, seq FROM words WHERE part = ?1
         ORDER BY word, rank, seq LIMIT ?2)`,
    );
    this.#entries = connection.query(
      `SELECT key, seq FROM entries WHERE part = ? AND field = ? AND (key, seq) > (?, ?)
       ORDER BY key, seq LIMIT ?`,
    );
    this.#resources = connection.query(
      `SELECT ${seqResourceColumns} FROM resources
       WHERE part = ? AND seq > ? ORDER BY seq LIMIT ?`,
    );
    this.#id = connection.query("SELECT id FROM resources WHERE part = ? AND seq = ?");
  }

  /** Runs one step with so many rows in the current transaction, and returns what is left to do. */
  step(part: number, definition: string, build: IndexBuild, rows: number): IndexBuild {
    const running = buildStep(definition, build);
    let step = running.next();
    while (!step.done) step = running.next(this.#act(part, step.value, rows));
    return step.value;
  }

  #act(part: number, action: BuildAction, rows: number): ActionResults[keyof ActionResults] {
    switch (action.kind) {
      case "delete":
        return this.#delete(part, action.index, rows) < rows;
      case "index":
        return this.#index(part, action.plan, action.after, rows);
      case "entries": {
        const entries = this.#entries.all(part, action.index, ...action.after, rows);
        return { entries, isLast: entries.length < rows };
      }
      case "ids":
        return new Map(action.seqs.map((seq) => [seq, this.#id.one(part, seq)?.[0] ?? ""]));
    }
  }

  #delete(part: number, index: string | undefined, rows: number): number {
    return index === undefined
      ? this.#deleteWords.run(part, rows)
      : this.#deleteEntries.run(part, index, rows);
  }

  #index(part: number, plan: IndexPlan, after: number, limit: number): ActionResults["index"] {
    const size = (row: SeqResourceRow) => row[5].length;
    const { rows } = this.#resources.within(bytesPerStep, size, part, after, limit);
    const writes = noIndexWrites();
    for (const row of rows) collectIndexRows(writes, plan, undefined, toUncheckedCandidate(row));
    this.#rows.addIndexRows(part, writes);
    return { count: rows.length, last: rows.at(-1)?.[0] };
  }
}
