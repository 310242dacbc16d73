// Rescues a database whose disk has failed: copies it to a new file, verifies the copy, and swaps it in.

import { closeSync, openSync } from "node:fs";
import { Outage } from "../../model/outage.ts";
import { Connection } from "./connection.ts";
import { acceptCopy, type DatabaseFile, removeCopy } from "./file.ts";
import { assertFreeSpace, sizeOf } from "./free-space.ts";
import { assertOnDisk } from "./on-disk.ts";
import { hasTable } from "./schema.ts";

type Table = readonly [name: string];
type KeyColumn = readonly [name: string, keyPosition: number];

/**
 * Replaces the database by a verified copy of what `source` reads, including the WAL. The old files are
 * only read: writing a block again after a failed write can succeed and still be lost.
 */
export function replaceByCopy(file: DatabaseFile, source: Connection, lastCommit: number): void {
  removeCopy(file);
  try {
    assertFreeSpace(file, sizeOf(source));
    assertComplete(source, lastCommit);
    copyTo(file.copy, source);
    assertEqual(file.copy, source);
    checkIntegrity(file.copy);
    assertOnDisk(file.copy);
    acceptCopy(file);
  } catch (error) {
    removeCopy(file);
    throw error;
  }
}

/** Throws when acknowledged writes are missing. */
function assertComplete(source: Connection, lastCommit: number): void {
  if (!hasTable(source, "store")) return;
  const [commits = 0] = source.query<readonly [number]>("SELECT commits FROM store").one() ?? [];
  if (commits < lastCommit)
    throw new Outage(
      "suspect",
      `acknowledged writes are missing: the last one was ${lastCommit}, and the files end at ${commits}. Restore a backup; or accept the loss by deleting restante.suspect and starting again`,
    );
  // Only columns that every version has, because the database may not be upgraded yet.
  const totals = source.query<readonly [name: string, total: number, found: number]>(
    `SELECT name, total, (SELECT count(*) FROM resources WHERE resources.part = heads.part)
     FROM collections JOIN heads USING (part)`,
  );
  for (const [name, total, found] of totals.all())
    if (found !== total)
      throw new Outage("suspect", `${name} has ${found} resources instead of ${total}`);
}

/** Copies one snapshot row by row; it throws when a row cannot be read. */
function copyTo(copy: string, source: Connection): void {
  // Created here, so that it has mode 0600 from the start.
  closeSync(openSync(copy, "wx", 0o600));
  source.run(`VACUUM INTO ${quoted(copy)}`);
}

/** Compares every column of every row of every table. */
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
  const columns = source.query<KeyColumn>("SELECT name, pk FROM pragma_table_info(?)").all(name);
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

/** Switches the copy to WAL mode and checks its integrity. */
function checkIntegrity(copy: string): void {
  const connection = new Connection(copy, "write");
  try {
    const [first] = connection.query<readonly [string]>("PRAGMA integrity_check").all();
    if (first?.[0] !== "ok") throw new Outage("suspect", `the copy is damaged: ${first?.[0]}`);
  } finally {
    connection.close();
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;
