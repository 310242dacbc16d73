// Saves a database whose disk has failed: copies it to a new file, verifies the copy, and swaps it in.

import { closeSync, openSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import { Outage } from "../store.ts";
import { Connection } from "./connection.ts";
import { type DatabaseFile, decideForCopy, removeCopy } from "./file.ts";
import { assertOnDisk } from "./on-disk.ts";

type Table = readonly [name: string];
type Column = readonly [name: string, keyPosition: number];

/**
 * Makes a verified copy of what `source` reads, WAL included, and decides for it. The old files are
 * only read: rewriting a block whose first write failed may succeed and still be lost.
 */
export function replaceByCopy(file: DatabaseFile, source: Connection, lastBatch: number): void {
  removeCopy(file);
  try {
    assertRoom(file, source);
    assertComplete(source, lastBatch);
    copyTo(file.copy, source);
    assertEqual(file.copy, source);
    settle(file.copy);
    assertOnDisk(file.copy);
    decideForCopy(file);
  } catch (error) {
    removeCopy(file);
    throw error;
  }
}

function assertRoom({ path }: DatabaseFile, source: Connection): void {
  const [pages = 0] = source.query<readonly [number]>("PRAGMA page_count").one() ?? [];
  const [pageBytes = 0] = source.query<readonly [number]>("PRAGMA page_size").one() ?? [];
  const { bavail, bsize } = statfsSync(dirname(path));
  const needed = pages * pageBytes;
  const free = bavail * bsize;
  if (free < needed)
    throw new Outage(
      "suspect",
      `a second copy of the database needs ${needed} bytes, and ${free} are free: make room in ${dirname(path)}`,
    );
}

/** All that was acknowledged must be there to be copied. */
function assertComplete(source: Connection, lastBatch: number): void {
  if (!hasTable(source, "ledger")) return;
  const [batch = 0] = source.query<readonly [number]>("SELECT batch FROM ledger").one() ?? [];
  if (batch < lastBatch)
    throw new Outage(
      "suspect",
      `acknowledged writes are missing: the last one was ${lastBatch}, and the files end at ${batch}. Restore a backup; or accept the loss by deleting restante.suspect and starting again`,
    );
  const collections = source.query<readonly [key: number, name: string, total: number]>(
    "SELECT key, name, total FROM collections",
  );
  for (const [key, name, total] of collections.all()) {
    const count = source.query<readonly [number]>(`SELECT count(*) FROM resources_${key}`).one();
    if (count?.[0] !== total)
      throw new Outage("suspect", `${name} has ${count?.[0]} resources instead of ${total}`);
  }
}

function hasTable(connection: Connection, name: string): boolean {
  const tables = connection.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
  return tables.one(name) !== undefined;
}

/** One read of one moment, row by row: what cannot be read fails here. */
function copyTo(copy: string, source: Connection): void {
  // Made by us, so that it is for its owner only from the start.
  closeSync(openSync(copy, "wx", 0o600));
  source.run(`VACUUM INTO ${quoted(copy)}`);
}

/** Every row of every table, column by column. */
function assertEqual(copy: string, source: Connection): void {
  source.run(`ATTACH ${quoted(copy)} AS copy`);
  try {
    const tables = source.query<Table>(
      "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0",
    );
    for (const [name] of tables.all())
      if (!isEqual(source, name))
        throw new Outage("suspect", `the copy of ${name} is not the same`);
  } finally {
    source.run("DETACH copy");
  }
}

function isEqual(source: Connection, name: string): boolean {
  const columns = source.query<Column>("SELECT name, pk FROM pragma_table_info(?)").all(name);
  const keys = columns.filter(([, position]) => position > 0).map(([column]) => `"${column}"`);
  const same = keys.map((key) => `a.${key} = b.${key}`).join(" AND ");
  const differs = columns.map(([column]) => `a."${column}" IS NOT b."${column}"`).join(" OR ");
  const [isSame] =
    source
      .query<readonly [number]>(
        `SELECT (SELECT count(*) FROM main."${name}") = (SELECT count(*) FROM copy."${name}")
         AND NOT EXISTS (
           SELECT 1 FROM main."${name}" AS a LEFT JOIN copy."${name}" AS b ON ${same}
           WHERE ${differs})`,
      )
      .one() ?? [];
  return isSame === 1;
}

/** Gives the copy its WAL mode, looks through its structure, and leaves nothing beside it. */
function settle(copy: string): void {
  const connection = new Connection(copy, "write");
  try {
    const [first] = connection.query<readonly [string]>("PRAGMA integrity_check").all();
    if (first?.[0] !== "ok") throw new Outage("suspect", `the copy is damaged: ${first?.[0]}`);
  } finally {
    connection.close();
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
