// Reads all rows of the database at one point in time, also beside the process that writes to it.

import { setImmediate } from "node:timers/promises";
import {
  type AnyTable,
  type DerivedTable,
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
import { BuildReader } from "./builds.ts";
import { CollectionRows, HeadReader } from "./collections.ts";
import { Connection } from "./connection.ts";
import { FileReferenceReader } from "./file-references.ts";
import { decodeCounts } from "./positions.ts";
import { requireNewest, requireSupportedFile } from "./schema.ts";
import { TokenReader } from "./token.ts";

/** The source of a database that exists. */
export const sqliteSource = (path: string): TransferSource => ({
  snapshot: async () => openSnapshot(path),
  holdWrites: async () => holdWrites(path),
});

/** The first read of a transaction begins the snapshot. */
function openSnapshot(path: string): Snapshot {
  requireSupportedFile(path);
  const connection = new Connection(path, "scan");
  try {
    connection.run("BEGIN");
    requireNewest(connection);
    return readSnapshot(connection);
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Takes the write lock and writes nothing. */
function holdWrites(path: string): Hold {
  const connection = new Connection(path, "write");
  try {
    connection.run("BEGIN IMMEDIATE");
  } catch (error) {
    connection.close();
    throw error;
  }
  return { release: async () => connection.close() };
}

export function readSnapshot(connection: Connection): Snapshot {
  const [id = "", epoch = 0] =
    connection.query<readonly [string, number]>("SELECT id, epoch FROM store").one() ?? [];
  const collections = readCollections(connection);
  const references = new FileReferenceReader(connection);
  const parts = collections.map(({ part }) => part);
  return {
    engine: "sqlite",
    store: { id, epoch },
    collections,
    tokens: new TokenReader(connection).all(),
    rows: (part, table, after) => readRows(connection, part, table, after),
    derived: (part, table) => readDerived(connection, part, table),
    fileKeys: () => readFileKeys(connection, collections),
    referenced: async (keys) => references.among(keys, parts),
    filesSince: (part, revision) => readFilesSince(connection, part, revision),
    close: async () => connection.close(),
  };
}

export function readCollections(connection: Connection): readonly SourceCollection[] {
  const heads = new HeadReader(connection);
  const builds = new BuildReader(connection);
  const purged = connection.query<readonly [number]>("SELECT purged FROM heads WHERE part = ?");
  return new CollectionRows(connection).all().flatMap((row) => {
    const head = heads.find(row.part);
    const build = builds.find(row.part);
    return head ? [{ ...row, head, purged: purged.one(row.part)?.[0] ?? 0, build }] : [];
  });
}

export async function* readRows(
  connection: Connection,
  part: number,
  table: AnyTable,
  after?: SourceRow,
): AsyncGenerator<readonly SourceRow[]> {
  const { from = table, columns, key, large } = shapeOf(table);
  const select = (start: string) =>
    connection.query<SourceRow>(
      `SELECT ${columns.join()} FROM ${from} WHERE part = ? ${start} ORDER BY ${key.join()}
       LIMIT ${stepRows}`,
    );
  const first = select("");
  const next = select(`AND (${key.join()}) > (${key.map(() => "?").join()})`);
  const place = large === undefined ? -1 : columns.indexOf(large);
  const sizeOf = (row: SourceRow) => String(row[place] ?? "").length;
  for (let last = after; ; ) {
    const { rows } = last
      ? next.within(stepBytes, sizeOf, part, ...keyOf(table, last))
      : first.within(stepBytes, sizeOf, part);
    last = rows.at(-1);
    if (!last) return;
    yield rows;
    // Other work of the process gets a turn.
    await setImmediate();
  }
}

async function* readDerived(
  connection: Connection,
  part: number,
  table: DerivedTable,
): AsyncGenerator<readonly SourceRow[]> {
  for await (const rows of readRows(connection, part, table))
    yield table === "positions" ? rows.map(withCounts) : rows;
}

/** The counts of a row of positions are bytes. */
const withCounts = ([level = 0, row = 0, alive]: readonly unknown[]): SourceRow => [
  Number(level),
  Number(row),
  alive instanceof Uint8Array ? decodeCounts(alive).join() : "",
];

async function* readFileKeys(
  connection: Connection,
  collections: readonly SourceCollection[],
): AsyncGenerator<readonly string[]> {
  const next = connection.query<readonly [string]>(
    `SELECT key FROM files WHERE part = ? AND key > ? ORDER BY key LIMIT ${stepRows}`,
  );
  for (const { part } of collections)
    for (let last: string | undefined = ""; ; ) {
      const keys: readonly string[] = next.all(part, last).map(([key]) => key);
      last = keys.at(-1);
      if (last === undefined) break;
      yield keys;
      await setImmediate();
    }
}

async function* readFilesSince(
  connection: Connection,
  part: number,
  revision: number,
): AsyncGenerator<readonly FilesRow[]> {
  const next = connection.query<FilesRow>(
    `SELECT revision, id, files FROM resources
     WHERE part = ? AND revision > ? AND files IS NOT NULL ORDER BY revision LIMIT ${stepRows}`,
  );
  for (let last: number | undefined = revision; ; ) {
    const rows: readonly FilesRow[] = next.all(part, last);
    last = rows.at(-1)?.[0];
    if (last === undefined) return;
    yield rows;
    await setImmediate();
  }
}
