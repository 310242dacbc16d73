// The indexes and words of a whole collection: built, checked and removed in steps that stay short.

import { type Index, type IndexPlan, isSameSearch } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import type { StoredResource } from "../checksum.ts";
import { type Connection, rows, type Sql, together } from "./connection.ts";
import { collectIndexChanges } from "./index-diff.ts";
import { isPlain } from "./plans.ts";
import { type ResourceRow, resourceColumns, resourceIn } from "./row.ts";
import { noWrites, send } from "./writes.ts";

/** So much is read, written or removed at once: far from the deadline, and from the memory's end. */
const chunkRows = 1_000;
const chunkBytes = 4 * 1024 * 1024;
const goneRows = 10_000;
const checkedRows = 50_000;

/** Brings what is kept beside resources from one plan to the next. */
export async function rebuild(
  connection: Connection,
  collection: number,
  before: IndexPlan,
  after: IndexPlan,
): Promise<void> {
  for (const index of before.indexes)
    if (!hasIndex(after, index)) await removeEntries(connection, collection, index.field);
  const isSearchedAnew = !isSameSearch(before, after);
  if (isSearchedAnew) await removeRows(connection, collection, "words", "seq");
  const indexes = after.indexes.filter((index) => !hasIndex(before, index));
  const searched = isSearchedAnew ? after : { searchable: [] };
  await build(connection, collection, { ...searched, indexes });
}

/** Whether the entries of this index are those of the plan, too. */
const hasIndex = ({ indexes }: IndexPlan, { field, kind }: Index): boolean =>
  indexes.some((index) => index.field === field && index.kind === kind);

/** The first field that was not unique before, and in which two resources have the same value. */
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
  if (isPlain(plan)) return;
  for (let seq = 0; ; ) {
    const chunk = await connection.ask((sql) => readChunk(sql, collection, seq));
    const last = chunk.at(-1);
    if (!last) return;
    const writes = noWrites();
    for (const after of chunk) collectIndexChanges(writes, plan, collection, { after });
    await connection.ask((sql) => together(send(sql, writes)));
    seq = last.seq;
  }
}

/** Those after a seq: the first in any case, more of them only while they are small. */
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
 * Each step begins where the last one ended: what is gone is still in the index, and not read again. Only
 * from `gone` are the rows known that go, so that the planner has no other way to them.
 */
export async function removeEntries(
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
        ORDER BY key, seq LIMIT ${goneRows}::bigint
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
    [last] = await connection.ask((sql) => remove(sql, key, seq));
  }
}

/** The names of all of the collection's files, which then nobody names. */
export async function removeNames(connection: Connection, collection: number): Promise<void> {
  const remove = (sql: Sql, after: string) =>
    rows<readonly [string | null]>(sql`
      WITH gone AS (
        SELECT * FROM files WHERE collection = ${collection}::bigint AND key > ${after}
        ORDER BY key LIMIT ${goneRows}::bigint
      ),
      deleted AS (
        DELETE FROM files AS file USING gone
        WHERE file.collection = gone.collection AND file.key = gone.key
      )
      SELECT max(key) FROM gone`);
  for (let after: string | null = ""; after !== null; ) {
    const key: string = after;
    const [row] = await connection.ask((sql) => remove(sql, key));
    after = row?.[0] ?? null;
  }
}

/** All of the collection's rows in a table that has an index of the collection and this column. */
export async function removeRows(
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
        ORDER BY ${sql(column)} LIMIT ${goneRows}::bigint
      ),
      deleted AS (
        DELETE FROM ${sql(table)} AS entry USING gone
        WHERE entry.collection = gone.collection AND entry.${sql(column)} = gone.place
      )
      SELECT max(place) FROM gone`);
  for (let after: number | null = -1; after !== null; ) {
    const place: number = after;
    const [row] = await connection.ask((sql) => remove(sql, place));
    after = row?.[0] ?? null;
  }
}

/** Each step begins with the entry that the last one ended with, and so compares it, too. */
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
        ORDER BY key, seq LIMIT ${checkedRows}::bigint
      )
      SELECT key, seq, (SELECT count(*) FROM next),
        (SELECT count(*) - count(DISTINCT key) FROM next)
      FROM next ORDER BY key DESC, seq DESC LIMIT 1`);
  for (let [lastKey, lastSeq] = ["", 0]; ; ) {
    const [key, seq]: readonly [string, number] = [lastKey, lastSeq];
    const [row] = await connection.ask((sql) => check(sql, key, seq));
    if (row && row[3] > 0) return true;
    if (!row || row[2] < checkedRows) return false;
    [lastKey, lastSeq] = row;
  }
}
