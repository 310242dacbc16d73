// Reads all rows of the store at one point in time, in one read-only transaction.

import {
  type AnyTable,
  type DerivedTable,
  isTextColumn,
  keyOf,
  type SourceRow,
  shapeOf,
  stepBytes,
  stepRows,
} from "../transfer/source-tables.ts";
import type {
  FilesRow,
  Hold,
  Snapshot,
  SourceCollection,
  TransferSource,
} from "../transfer/transfer.ts";
import { otherVersion } from "../version.ts";
import {
  Connection,
  type ConnectionOptions,
  rows,
  type Sql,
  type Statement,
} from "./connection.ts";
import { findReferencedFiles } from "./files.ts";
import { readWrittenBy, schemaRange, schemaVersion } from "./schema.ts";
import { listTokens } from "./token.ts";

/** Rows can take any time to be read, so statements have no deadline. */
export const postgresSource = (url: string, schema = "restante"): TransferSource => {
  const options = { url, schema, deadlineMs: 0 };
  return { snapshot: () => openSnapshot(options), holdWrites: () => holdWrites(options) };
};

async function openSnapshot(options: ConnectionOptions): Promise<Snapshot> {
  const connection = await Connection.open(options);
  try {
    return await connection.run(async (sql) => {
      await rows(sql`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`);
      await requireNewest(sql);
      return readSnapshot(connection, sql);
    });
  } catch (error) {
    connection.destroy();
    throw error;
  }
}

async function requireNewest(sql: Sql): Promise<void> {
  const found = await readWrittenBy(sql);
  if (found.schema !== schemaVersion) throw otherVersion(found, schemaRange());
}

/** The longest wait for the writes in progress. */
const lockSeconds = 5;

/** Every write locks or updates a row of this table. Reads do not. */
async function holdWrites(options: ConnectionOptions): Promise<Hold> {
  const connection = await Connection.open(options);
  try {
    await connection.run(async (sql) => {
      await rows(sql`BEGIN`);
      await rows(sql`SELECT set_config('lock_timeout', ${`${lockSeconds}s`}, true)`);
      await rows(sql`LOCK TABLE heads IN EXCLUSIVE MODE`);
    });
  } catch (error) {
    connection.destroy();
    throw error;
  }
  return { release: () => connection.close() };
}

export async function readSnapshot(connection: Connection, sql: Sql): Promise<Snapshot> {
  const [state] = await rows<readonly [string, number]>(sql`SELECT id, epoch FROM store WHERE one`);
  const [id = "", epoch = 0] = state ?? [];
  const collections = await readCollections(sql);
  return {
    engine: "postgres",
    store: { id, epoch },
    collections,
    tokens: await listTokens(sql),
    rows: (part, table, after) => readRows(connection, part, table, after),
    derived: (part, table) => readDerived(connection, part, table),
    fileKeys: () => readFileKeys(connection, collections),
    referenced: (keys) => connection.run((sql) => findReferencedFiles(sql, keys)),
    filesSince: (part, revision) => readFilesSince(connection, part, revision),
    close: () => connection.close(),
  };
}

type CollectionColumns = readonly [
  ...(readonly [name: string, part: number, definition: string, version: number, number]),
  ...(readonly [referrers: string, revision: number, seq: number, total: number, number]),
  ...(readonly [sharesDate: number, headVersion: number, epoch: number, now: number, number]),
  ...(readonly [bytes: number, purged: number, state: string | null]),
];

export async function readCollections(sql: Sql): Promise<readonly SourceCollection[]> {
  const found = await rows<CollectionColumns>(sql`
    SELECT name, part, definition, collections.version, created, referrers,
      revision, seq, total, updated, shares_date, heads.version, epoch, key_now, key_seen,
      bytes, purged, state
    FROM collections JOIN heads USING (part) LEFT JOIN builds USING (part) ORDER BY name`);
  return found.map((row) => {
    const [name, part, definition, version, createdAt, referrers, ...columns] = row;
    const [revision, seq, total, updatedAt, sharesDate, headVersion, ...others] = columns;
    const [epoch, now, seen, bytes, purged, state] = others;
    const counters = { revision, seq, total, bytes, updatedAt, sharesDate };
    return {
      name,
      part,
      definition,
      version,
      createdAt,
      purged,
      referrers: JSON.parse(referrers),
      head: { ...counters, version: headVersion, epoch, keyClock: { now, seen } },
      build: state === null ? undefined : JSON.parse(state),
    };
  });
}

export async function* readRows(
  connection: Connection,
  part: number,
  table: AnyTable,
  after?: SourceRow,
): AsyncGenerator<readonly SourceRow[]> {
  for (let last = after; ; ) {
    const found = await connection.run((sql) =>
      rows<SourceRow>(selectStep(sql, part, table, last)),
    );
    last = found.at(-1);
    if (!last) return;
    yield found;
  }
}

/** Selects at least one row, and more up to the size of a step. */
function selectStep(
  sql: Sql,
  part: number,
  table: AnyTable,
  after: SourceRow | undefined,
): Statement {
  const { from = table, columns, key, large } = shapeOf(table);
  const order = sql`${sql([...key])}`;
  const start = after ? sql`AND (${order}) > (${keyValues(sql, table, after)})` : sql``;
  const next = sql`
    SELECT * FROM ${sql(from)} WHERE part = ${part}::bigint ${start}
    ORDER BY ${order} LIMIT ${stepRows}::bigint`;
  if (large === undefined) return sql`SELECT ${sql([...columns])} FROM (${next}) AS next`;
  const size = sql`octet_length(${sql(large)})`;
  return sql`
    SELECT ${sql([...columns])}
    FROM (
      SELECT *, sum(${size}) OVER (ORDER BY ${order}) - ${size} AS before FROM (${next}) AS next
    ) AS sized
    WHERE before < ${stepBytes}::bigint ORDER BY ${order}`;
}

function keyValues(sql: Sql, table: AnyTable, row: SourceRow): Statement {
  const values = keyOf(table, row);
  return shapeOf(table)
    .key.map((name, index) => {
      const value = values[index] ?? null;
      return isTextColumn(name) ? sql`${value}::text` : sql`${value}::bigint`;
    })
    .reduce((one, other) => sql`${one}, ${other}`);
}

async function* readDerived(
  connection: Connection,
  part: number,
  table: DerivedTable,
): AsyncGenerator<readonly SourceRow[]> {
  for await (const step of readRows(connection, part, table))
    yield table === "positions" ? step.map(withCounts) : step;
}

/** The counts of a row of positions are an array, which begins and ends with a brace. */
const withCounts = ([level = 0, row = 0, alive]: SourceRow): SourceRow => [
  level,
  row,
  String(alive).slice(1, -1),
];

async function* readFileKeys(
  connection: Connection,
  collections: readonly SourceCollection[],
): AsyncGenerator<readonly string[]> {
  for (const { part } of collections)
    for (let last: string | undefined = ""; ; ) {
      const found: readonly (readonly [string])[] = await connection.run((sql) =>
        rows<readonly [string]>(sql`
          SELECT key FROM files WHERE part = ${part}::bigint AND key > ${last ?? ""}
          ORDER BY key LIMIT ${stepRows}::bigint`),
      );
      last = found.at(-1)?.[0];
      if (last === undefined) break;
      yield found.map(([key]) => key);
    }
}

async function* readFilesSince(
  connection: Connection,
  part: number,
  revision: number,
): AsyncGenerator<readonly FilesRow[]> {
  for (let last: number | undefined = revision; ; ) {
    const found: readonly FilesRow[] = await connection.run((sql) =>
      rows<FilesRow>(sql`
        SELECT revision, id, files FROM resources
        WHERE part = ${part}::bigint AND revision > ${last ?? 0}::bigint AND files IS NOT NULL
        ORDER BY revision LIMIT ${stepRows}::bigint`),
    );
    last = found.at(-1)?.[0];
    if (last === undefined) return;
    yield found;
  }
}
