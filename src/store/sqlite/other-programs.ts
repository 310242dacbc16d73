// Notices other programs that use the database, as Litestream does: a swap of the file would leave them the old one.

import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CannotLoad } from "../transfer/transfer.ts";
import type { DatabaseFile } from "./file.ts";
import { readSuspectMark } from "./suspect.ts";

type DatabasePath = Pick<DatabaseFile, "path">;

const busyCode = 5;

/** Stays when Litestream has ended. */
export const hasLitestream = ({ path }: DatabasePath): boolean =>
  existsSync(join(dirname(path), ".restante.db-litestream"));

/** What to do after a swap where Litestream is, or was, in use. */
export const afterSwap =
  "Litestream, where it runs, goes on copying the old file, which gets no more writes: restart it, and check that it makes a new snapshot";

/** Throws when another program has the database open. The caller owns the folder and has no connection. */
export function requireUnused(file: DatabaseFile): void {
  const { path } = file;
  // After the disk has failed, the files may only be read; this copies the WAL into the database.
  if (!statSync(path, { throwIfNoEntry: false })?.size || readSuspectMark(file)) return;
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // In this mode SQLite opens a database with a WAL only if nobody else has it open.
    database.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA locking_mode = EXCLUSIVE");
    // Without a WAL, if nobody else reads it.
    database.exec("BEGIN EXCLUSIVE; ROLLBACK");
  } catch (error) {
    // Other errors are those of the database, which is replaced.
    if (!(error instanceof Error && "errcode" in error && error.errcode === busyCode)) return;
    throw new CannotLoad(
      `${usersOf(file) ?? "another program"} has ${path} open, and would go on with the file that is replaced: stop it, and let it begin anew afterwards. --force replaces the file nevertheless`,
    );
  } finally {
    database.close();
  }
}

/** Names the other processes that have the database open, as far as the system tells. */
export const usersOf = (file: DatabasePath): string | undefined => named(file, 0, lastByte);

/** Names those that are reading it, so that the WAL cannot be emptied. */
export const readersOf = (file: DatabasePath): string | undefined => named(file, ...readLocks);

/** The locks of transactions that read, in the bytes of the shared memory. */
const readLocks = [123, 127] as const;
const lastByte = Number.POSITIVE_INFINITY;

function named(file: DatabasePath, from: number, to: number): string | undefined {
  const found = [...lockHolders(`${file.path}-shm`, from, to)].map(nameOf);
  if (found.length > 0) return found.join(" and ");
  return hasLitestream(file) ? "another program, probably Litestream," : undefined;
}

/** Returns the other processes with a lock on these bytes of a file. None where the system does not tell. */
function lockHolders(path: string, from: number, to: number): ReadonlySet<number> {
  const inode = statSync(path, { throwIfNoEntry: false })?.ino;
  const holders = new Set<number>();
  for (const line of readText("/proc/locks").split("\n")) {
    const [, pid, locked, start, end] =
      / (\d+) [\da-f]+:[\da-f]+:(\d+) (\d+) (\d+|EOF)/.exec(line) ?? [];
    const last = end === "EOF" ? lastByte : Number(end);
    const isWanted = Number(locked) === inode && Number(start) <= to && last >= from;
    if (isWanted && Number(pid) !== process.pid) holders.add(Number(pid));
  }
  return holders;
}

function nameOf(pid: number): string {
  const [program = ""] = readText(`/proc/${pid}/cmdline`).split("\0");
  return `${basename(program) || "another program"} (process ${pid})`;
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
