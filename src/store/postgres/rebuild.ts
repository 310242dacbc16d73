// Builds, checks and deletes the index rows of a whole part, in short steps.

import { missingValue } from "../../model/query/compound-key.ts";
import type { Index, IndexPlan } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import type { IndexChanges } from "../core/index-changes.ts";
import { collectIndexRows, hasNoIndexes, noIndexWrites } from "../core/index-rows.ts";
import { resourceIn, type StoredResource } from "../core/stored-resource.ts";
import { allOrFirstError, type Connection, type Row, rows, type Sql } from "./connection.ts";
import { deleteSomeRows } from "./delete-rows.ts";
import { type ResourceColumns, resourceColumns } from "./row.ts";
import { writeIndexes } from "./writes.ts";

/** The size of a step, well within the statement deadline and the memory. */
const chunkRows = 1_000;
const chunkBytes = 4 * 1024 * 1024;
const rowsPerCheck = 5_000;

/** Changes the index rows of a part from one plan to another. */
export async function rebuild(
  connection: Connection,
  part: number,
  { deletedIndexes, areWordsDeleted, built }: IndexChanges,
): Promise<void> {
  for (const name of deletedIndexes) await deleteRows(connection, part, "entries", name);
  if (areWordsDeleted) await deleteRows(connection, part, "words");
  if (!hasNoIndexes(built)) await build(connection, part, built);
}

/** Returns the name of the first newly unique index in which two resources have the same value. */
export async function findDuplicate(
  connection: Connection,
  part: number,
  { newlyUnique }: IndexChanges,
): Promise<string | undefined> {
  for (const index of newlyUnique)
    if (await hasDuplicates(connection, part, index)) return index.name;
  return undefined;
}

async function build(connection: Connection, part: number, plan: IndexPlan): Promise<void> {
  for (let seq = 0; ; ) {
    const chunk = await connection.run((sql) => readChunk(sql, part, seq));
    const last = chunk.at(-1);
    if (!last) return;
    const writes = noIndexWrites();
    for (const candidate of chunk) collectIndexRows(writes, plan, undefined, candidate);
    await connection.run((sql) => allOrFirstError(writeIndexes(sql, part, writes).map(rows)));
    seq = last.seq;
  }
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

async function deleteRows(
  connection: Connection,
  part: number,
  table: "entries" | "words",
  field?: string,
): Promise<void> {
  for (let after: Row | undefined, isLeft = true; isLeft; ) {
    const start: Row | undefined = after;
    after = await connection.run((sql) => deleteSomeRows(sql, part, table, start, field));
    isLeft = after !== undefined;
  }
}

/** Each step begins with the last entry of the previous one, so that the two are compared. */
async function hasDuplicates(
  connection: Connection,
  part: number,
  { name, fields }: Index,
): Promise<boolean> {
  const isComplete = (sql: Sql) =>
    fields.length === 1 ? sql`key > ''` : sql`position(${missingValue} IN key) = 0`;
  const check = (sql: Sql, key: string, seq: number) =>
    rows<readonly [string, number, count: number, duplicates: number]>(sql`
      WITH next AS (
        SELECT key, seq FROM entries
        WHERE part = ${part}::bigint AND field = ${name} AND ${isComplete(sql)}
          AND (key, seq) >= (${key}, ${seq}::bigint)
        ORDER BY key, seq LIMIT ${rowsPerCheck}::bigint
      )
      SELECT key, seq, (SELECT count(*) FROM next),
        (SELECT count(*) - count(DISTINCT key) FROM next)
      FROM next ORDER BY key DESC, seq DESC LIMIT 1`);
  for (let [lastKey, lastSeq] = ["", 0]; ; ) {
    const [key, seq]: readonly [string, number] = [lastKey, lastSeq];
    const [row] = await connection.run((sql) => check(sql, key, seq));
    if (row && row[3] > 0) return true;
    if (!row || row[2] < rowsPerCheck) return false;
    [lastKey, lastSeq] = row;
  }
}
