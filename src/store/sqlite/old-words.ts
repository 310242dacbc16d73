// Replaces the table of words of databases up to version 8, in steps.

import { indexPlanOf } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import { collectIndexRows, noIndexWrites } from "../core/index-rows.ts";
import type { WordRow } from "../core/rows.ts";
import { Checkpoints } from "./checkpoint.ts";
import type { Connection } from "./connection.ts";
import {
  type SeqResourceRow,
  seqResourceColumns,
  toUncheckedCandidate,
} from "./resource-reader.ts";
import { hasTable, words } from "./schema.ts";

type PartRow = readonly [part: number, after: number, definition: string];

/** The size of a step, which is one transaction. */
const chunkRows = 1_000;
const chunkBytes = 8 * 1024 * 1024;

/** `rebuilt_words` contains the parts that are not done, and the last seq whose words are stored. */
const begin = `
  DROP TABLE words;
  ${words}
  CREATE TABLE rebuilt_words (part INTEGER PRIMARY KEY, after INTEGER NOT NULL) STRICT;
  INSERT INTO rebuilt_words SELECT part, 0 FROM collections;
`;

/** Runs after all steps, in the transaction that completes the upgrade. */
export const finishWords = "DROP TABLE rebuilt_words";

/** Yields after each step how much is done, from 0 to 1. After a crash it continues where it was. */
export function* rebuildWords(connection: Connection): Generator<number> {
  const checkpoints = new Checkpoints(connection);
  if (!hasTable(connection, "rebuilt_words")) connection.transact(() => connection.run(begin));
  const next = connection.query<PartRow>(
    `SELECT part, after, definition FROM rebuilt_words JOIN collections USING (part)
     ORDER BY part LIMIT 1`,
  );
  const [all = 0] = connection.query<readonly [number]>("SELECT sum(total) FROM heads").one() ?? [];
  const rebuild = stepOf(connection);
  let done = 0;
  for (let part = next.one(); part !== undefined; part = next.one()) {
    done += rebuild(part);
    checkpoints.runIfDue(true);
    yield Math.min(1, done / Math.max(1, all));
  }
}

/** Returns a function that stores the words of the next resources of a part, and returns their number. */
function stepOf(connection: Connection): (row: PartRow) => number {
  const resources = connection.query<SeqResourceRow>(
    `SELECT ${seqResourceColumns} FROM resources
     WHERE part = ? AND seq > ? ORDER BY seq LIMIT ${chunkRows}`,
  );
  const insert = connection.query("INSERT INTO words (part, word, rank, seq) VALUES (?, ?, ?, ?)");
  const move = connection.query("UPDATE rebuilt_words SET after = ? WHERE part = ?");
  const finish = connection.query("DELETE FROM rebuilt_words WHERE part = ?");
  return ([part, after, definition]) => {
    const plan = { ...indexPlanOf(definition), indexes: [] };
    const isSearchable = plan.searchable.length > 0;
    const { rows } = isSearchable
      ? resources.within(chunkBytes, (row) => row[5].length, part, after)
      : { rows: [] };
    connection.transact(() => {
      const last = rows.at(-1);
      if (last === undefined) finish.run(part);
      else move.run(last[0], part);
      const found = rows.flatMap((row) => wordsOf(plan, toUncheckedCandidate(row)));
      for (const { word, weight, seq } of found.sort(byWord)) insert.run(part, word, -weight, seq);
    });
    return rows.length;
  };
}

/** Rows are inserted in the order of their keys, which touches the fewest pages. */
const byWord = (one: WordRow, other: WordRow): number =>
  one.word < other.word ? -1 : one.word > other.word ? 1 : 0;

/** A damaged resource has no words; readers report it. */
function wordsOf(
  plan: Parameters<typeof collectIndexRows>[1],
  candidate: Candidate,
): readonly WordRow[] {
  const writes = noIndexWrites();
  try {
    collectIndexRows(writes, plan, undefined, candidate);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  return writes.words;
}
