// Lets the index rows of a part follow its definition, one step at a time.

import { indexPlanOf } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
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
import { collectIndexRows, type IndexWrites, noIndexWrites } from "../core/index-rows.ts";
import { resourceIn, type StoredResource } from "../core/stored-resource.ts";
import { allOrFirstError, rows, type Sql } from "./connection.ts";
import { deleteSomeRows } from "./delete-rows.ts";
import { type ResourceColumns, resourceColumns } from "./row.ts";
import { insertEntries, insertWords } from "./writes.ts";

/** The size of a step; writes to the collection wait for it. */
const chunkRows = 500;
const chunkBytes = 1024 * 1024;
const rowsPerCheck = 2_000;

/** Runs one step in the current transaction, which has locked the head, and returns what is left to do. */
export async function rebuildStep(
  sql: Sql,
  part: number,
  definition: string,
  build: StoredBuild,
): Promise<IndexBuild> {
  return withoutReturn({ ...build, state: await step(sql, part, definition, build.state) });
}

async function step(
  sql: Sql,
  part: number,
  definition: string,
  build: IndexBuild,
): Promise<IndexBuild> {
  switch (phaseOf(build)) {
    case "clear": {
      const [name] = build.stale;
      const table = name === undefined ? "words" : "entries";
      const last = await deleteSomeRows(sql, part, table, undefined, name);
      return last === undefined ? cleared(build) : build;
    }
    case "build": {
      const chunk = await readChunk(sql, part, build.seq);
      const writes = noIndexWrites();
      const plan = builtPlan(definition, build);
      for (const candidate of chunk) collectIndexRows(writes, plan, undefined, candidate);
      await addIndexRows(sql, part, writes);
      return indexed(build, chunk.length, chunk.at(-1)?.seq);
    }
    case "check":
      return check(sql, part, definition, build);
    case "drop": {
      const [name = ""] = build.dropped;
      const last = await deleteSomeRows(sql, part, "entries", undefined, name);
      return last === undefined ? droppedOne(build) : build;
    }
    case "none":
      return build;
  }
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
    ...(words.length > 0 ? [insertWords(sql, part, words)] : []),
  ];
  await allOrFirstError(statements.map(rows));
}

/** Reads the resources after a seq: at least one, and more up to the size of a step. */
export async function readChunk(
  sql: Sql,
  part: number,
  seq: number,
): Promise<readonly Candidate[]> {
  const found = await rows<readonly [...ResourceColumns, seq: number]>(sql`
    SELECT ${resourceColumns(sql)}, seq
    FROM (
      SELECT *, sum(octet_length(fields)) OVER (ORDER BY seq) - octet_length(fields) AS before
      FROM (
        SELECT * FROM resources
        WHERE part = ${part}::bigint AND seq > ${seq}::bigint
        ORDER BY seq LIMIT ${chunkRows}::bigint
      ) AS next
    ) AS sized
    WHERE before < ${chunkBytes}::bigint ORDER BY seq`);
  return found.map((row) => ({
    seq: row[9],
    resource: resourceIn(row as unknown as StoredResource),
  }));
}

async function check(
  sql: Sql,
  part: number,
  definition: string,
  build: IndexBuild,
): Promise<IndexBuild> {
  const [name = ""] = build.unique;
  const index = indexPlanOf(definition).indexes.find((each) => each.name === name);
  if (!index) return build;
  const [key, seq] = build.checked;
  const entries = await rows<CheckedEntry>(sql`
    SELECT key, seq FROM entries
    WHERE part = ${part}::bigint AND field = ${name} AND (key, seq) > (${key}, ${seq}::bigint)
    ORDER BY key, seq LIMIT ${rowsPerCheck}::bigint`);
  const pairs = pairsIn(build, index, entries);
  const ids = new Map(
    await rows<readonly [number, string]>(sql`
      SELECT seq, id FROM resources
      WHERE part = ${part}::bigint AND seq = ANY (${pairs.flat()}::bigint[])`),
  );
  const clashes = pairs.map(([one, other]) => ({
    index: name,
    ids: [ids.get(one) ?? "", ids.get(other) ?? ""] as const,
  }));
  return compared(build, entries, clashes, entries.length < rowsPerCheck);
}
