// Lets the index rows of a part follow its definition, one step at a time.

import type { IndexPlan } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import { type ActionResults, type BuildAction, buildStep } from "../core/build-step.ts";
import type { CheckedEntry } from "../core/checked-entries.ts";
import { bytesPerStep, type IndexBuild } from "../core/index-build.ts";
import { collectIndexRows, type IndexWrites, noIndexWrites } from "../core/index-rows.ts";
import { resourceIn, type StoredResource } from "../core/stored-resource.ts";
import { allOrFirstError, rows, type Sql } from "./connection.ts";
import { deleteSomeRows } from "./delete-rows.ts";
import { type ResourceColumns, resourceColumns } from "./row.ts";
import { insertEntries, putWords } from "./writes.ts";

/** Runs one step with so many rows in the current transaction, which has locked the head, and returns what is left to do. */
export async function rebuildStep(
  sql: Sql,
  part: number,
  definition: string,
  build: IndexBuild,
  limit: number,
): Promise<IndexBuild> {
  const running = buildStep(definition, build);
  let step = running.next();
  while (!step.done) step = running.next(await act(sql, part, step.value, limit));
  return step.value;
}

async function act(
  sql: Sql,
  part: number,
  action: BuildAction,
  limit: number,
): Promise<ActionResults[keyof ActionResults]> {
  switch (action.kind) {
    case "delete": {
      const table = action.index === undefined ? "words" : "entries";
      const last = await deleteSomeRows(sql, part, table, undefined, action.index, limit);
      return last === undefined;
    }
    case "index":
      return index(sql, part, action.plan, await readChunk(sql, part, action.after, limit));
    case "entries": {
      const [key, seq] = action.after;
      const entries = await rows<CheckedEntry>(sql`
        SELECT key, seq FROM entries
        WHERE part = ${part}::bigint AND field = ${action.index}
          AND (key, seq) > (${key}, ${seq}::bigint)
        ORDER BY key, seq LIMIT ${limit}::bigint`);
      return { entries, isLast: entries.length < limit };
    }
    case "ids":
      return new Map(
        await rows<readonly [number, string]>(sql`
          SELECT found.seq, found.id FROM unnest(${action.seqs}::bigint[]) AS wanted (seq)
          CROSS JOIN LATERAL (
            SELECT seq, id FROM resources
            WHERE part = ${part}::bigint AND seq BETWEEN wanted.seq AND wanted.seq
            ORDER BY seq LIMIT 1
          ) AS found`),
      );
  }
}

async function index(
  sql: Sql,
  part: number,
  plan: IndexPlan,
  chunk: readonly Candidate[],
): Promise<ActionResults["index"]> {
  const writes = noIndexWrites();
  for (const candidate of chunk) collectIndexRows(writes, plan, undefined, candidate);
  await addIndexRows(sql, part, writes);
  return { count: chunk.length, last: chunk.at(-1)?.seq };
}

/** Adds the rows of a new index. A write may have added some of them already. */
async function addIndexRows(
  sql: Sql,
  part: number,
  { entries, words }: IndexWrites,
): Promise<void> {
  const statements = [
    ...(entries.length > 0
      ? [sql`${insertEntries(sql, part, entries)} ON CONFLICT DO NOTHING`]
      : []),
    ...(words.length > 0 ? [putWords(sql, part, words)] : []),
  ];
  await allOrFirstError(statements.map(rows));
}

/** Reads the resources after a seq: at least one, and more up to the size of a step. */
export async function readChunk(
  sql: Sql,
  part: number,
  seq: number,
  limit: number,
): Promise<readonly Candidate[]> {
  const found = await rows<readonly [...ResourceColumns, seq: number]>(sql`
    SELECT ${resourceColumns(sql)}, seq
    FROM (
      SELECT *, sum(octet_length(fields)) OVER (ORDER BY seq) - octet_length(fields) AS before
      FROM (
        SELECT * FROM resources
        WHERE part = ${part}::bigint AND seq > ${seq}::bigint
        ORDER BY seq LIMIT ${limit}::bigint
      ) AS next
    ) AS sized
    WHERE before < ${bytesPerStep}::bigint ORDER BY seq`);
  return found.map((row) => ({
    seq: row[9],
    resource: resourceIn(row as unknown as StoredResource),
  }));
}
