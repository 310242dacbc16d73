// Builds, checks and deletes the indexes of a whole collection, in short steps.

import { type Index, type IndexPlan, isSameSearch } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import type { StoredResource } from "../core/checksum.ts";
import { allOrFirstError, type Connection, rows, type Sql } from "./connection.ts";
import { collectIndexChanges } from "./index-diff.ts";
import { hasNoIndexes } from "./plans.ts";
import { type ResourceRow, resourceColumns, resourceIn } from "./row.ts";
import { noWrites, send } from "./writes.ts";

/** The size of a step, well within the statement deadline and the memory. */
const chunkRows = 1_000;
const chunkBytes = 4 * 1024 * 1024;
const rowsPerDelete = 10_000;
const rowsPerCheck = 50_000;

/** Changes the index rows of a collection from one plan to another. */
export async function rebuild(
  connection: Connection,
  collection: number,
  before: IndexPlan,
  after: IndexPlan,
): Promise<void> {
  for (const index of before.indexes)
    if (!hasIndex(after, index)) await deleteEntries(connection, collection, index.field);
  const isSearchedAnew = !isSameSearch(before, after);
  if (isSearchedAnew) await deleteRows(connection, collection, "words", "seq");
  const indexes = after.indexes.filter((index) => !hasIndex(before, index));
  const searched = isSearchedAnew ? after : { searchable: [] };
  await build(connection, collection, { ...searched, indexes });
}

/** Whether the plan has an index with the same entries. */
const hasIndex = ({ indexes }: IndexPlan, { field, kind }: Index): boolean =>
  indexes.some((index) => index.field === field && index.kind === kind);

/** Returns the first newly unique field in which two resources have the same value. */
export async function findDuplicate(
  connection: Connection,
  collection: number,
  before: IndexPlan,
  after: IndexPlan,
): Promise<string | undefined> {
  const wasUnique = ({ field, kind }: Index) =>
    before.indexes.some((each) => each.field === field && each.kind === kind && each.isUnique);
  for (const index of after.indexes)
    if (index.isUnique && !wasUnique(index))
      if (await hasDuplicates(connection, collection, index.field)) return index.field;
  return undefined;
}

async function build(connection: Connection, collection: number, plan: IndexPlan): Promise<void> {
  if (hasNoIndexes(plan)) return;
  for (let seq = 0; ; ) {
    const chunk = await connection.run((sql) => readChunk(sql, collection, seq));
    const last = chunk.at(-1);
    if (!last) return;
    const writes = noWrites();
    for (const after of chunk) collectIndexChanges(writes, plan, collection, { after });
    await connection.run((sql) => allOrFirstError(send(sql, writes)));
    seq = last.seq;
  }
}

/** Reads the resources after a seq: at least one, and more up to the size of a step. */
async function readChunk(sql: Sql, collection: number, seq: number): Promise<readonly Candidate[]> {
  const found = await rows<readonly [...ResourceRow, seq: number]>(sql`
    SELECT ${resourceColumns(sql)}, seq
    FROM (
      SELECT *, sum(octet_length(fields)) OVER (ORDER BY seq) - octet_length(fields) AS before
      FROM (
        SELECT * FROM resources
        WHERE collection = ${collection}::bigint AND seq > ${seq}::bigint
        ORDER BY seq LIMIT ${chunkRows}::bigint
      ) AS next
    ) AS sized
    WHERE before < ${chunkBytes}::bigint ORDER BY seq`);
  return found.map((row) => ({
    seq: row[9],
    resource: resourceIn(row as unknown as StoredResource),
  }));
}

/**
 * Each step begins where the last one ended, because deleted rows stay in the index until a vacuum. The
 * rows are selected in `gone` first, so that the planner finds them by key.
 */
export async function deleteEntries(
  connection: Connection,
  collection: number,
  field: string,
): Promise<void> {
  const remove = (sql: Sql, key: string, seq: number) =>
    rows<readonly [string, number]>(sql`
      WITH gone AS (
        SELECT * FROM entries
        WHERE collection = ${collection}::bigint AND field = ${field}
          AND (key, seq) > (${key}, ${seq}::bigint)
        ORDER BY key, seq LIMIT ${rowsPerDelete}::bigint
      ),
      deleted AS (
        DELETE FROM entries AS entry USING gone
        WHERE entry.collection = gone.collection AND entry.field = gone.field
          AND entry.key = gone.key AND entry.seq = gone.seq
      )
      SELECT key, seq FROM gone ORDER BY key DESC, seq DESC LIMIT 1`);
  let last: readonly [string, number] | undefined = ["", 0];
  while (last) {
    const [key, seq]: readonly [string, number] = last;
    [last] = await connection.run((sql) => remove(sql, key, seq));
  }
}

/** Deletes the file references of the collection. */
export async function deleteFileReferences(
  connection: Connection,
  collection: number,
): Promise<void> {
  const remove = (sql: Sql, after: string) =>
    rows<readonly [string | null]>(sql`
      WITH gone AS (
        SELECT * FROM files WHERE collection = ${collection}::bigint AND key > ${after}
        ORDER BY key LIMIT ${rowsPerDelete}::bigint
      ),
      deleted AS (
        DELETE FROM files AS file USING gone
        WHERE file.collection = gone.collection AND file.key = gone.key
      )
      SELECT max(key) FROM gone`);
  for (let after: string | null = ""; after !== null; ) {
    const key: string = after;
    const [row] = await connection.run((sql) => remove(sql, key));
    after = row?.[0] ?? null;
  }
}

/** Deletes the collection's rows in a table that has an index on the collection and this column. */
export async function deleteRows(
  connection: Connection,
  collection: number,
  table: "resources" | "words" | "holes",
  column: "revision" | "seq" | "place",
): Promise<void> {
  const remove = (sql: Sql, after: number) =>
    rows<readonly [number | null]>(sql`
      WITH gone AS (
        SELECT collection, ${sql(column)} AS place FROM ${sql(table)}
        WHERE collection = ${collection}::bigint AND ${sql(column)} > ${after}::bigint
        ORDER BY ${sql(column)} LIMIT ${rowsPerDelete}::bigint
      ),
      deleted AS (
        DELETE FROM ${sql(table)} AS entry USING gone
        WHERE entry.collection = gone.collection AND entry.${sql(column)} = gone.place
      )
      SELECT max(place) FROM gone`);
  for (let after: number | null = -1; after !== null; ) {
    const place: number = after;
    const [row] = await connection.run((sql) => remove(sql, place));
    after = row?.[0] ?? null;
  }
}

/** Each step begins with the last entry of the previous one, so that the two are compared. */
async function hasDuplicates(
  connection: Connection,
  collection: number,
  field: string,
): Promise<boolean> {
  const check = (sql: Sql, key: string, seq: number) =>
    rows<readonly [string, number, count: number, duplicates: number]>(sql`
      WITH next AS (
        SELECT key, seq FROM entries
        WHERE collection = ${collection}::bigint AND field = ${field} AND key > ''
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
