// Notices other programs that use the database, as Litestream does: a swap of the file would leave them the old one.

import { existsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { DatabaseFile } from "./file.ts";
import { readSuspectMark } from "./suspect.ts";

const busyCode = 5;

/** Stays when Litestream has ended. */
export const hasLitestream = ({ path }: Pick<DatabaseFile, "path">): boolean =>
  existsSync(join(dirname(path), ".restante.db-litestream"));

/** Throws when another program has the database open. The caller owns the folder and has no connection. */
export function requireUnused(file: DatabaseFile): void {
  const { path } = file;
  // After the disk has failed, the files may only be read; this copies the WAL into the database.
  if (!statSync(path, { throwIfNoEntry: false })?.size || readSuspectMark(file)) return;
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // In this mode SQLite reads a database with a WAL only if nobody else has it open.
    database.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA locking_mode = EXCLUSIVE");
    database.prepare("SELECT count(*) FROM sqlite_schema").get();
  } catch (error) {
    // Other errors are those of the database, which is replaced.
    if (!(error instanceof Error && "errcode" in error && error.errcode === busyCode)) return;
    const program = hasLitestream(file)
      ? "another program, probably Litestream,"
      : "another program";
    throw new Error(
      `${program} has ${path} open, and would go on with the file that is replaced: stop it, and let it begin anew afterwards`,
    );
  } finally {
    database.close();
  }
}
