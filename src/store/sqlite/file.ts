// The database file on the disk: made for its owner only, and recognised again.

import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { hangBell } from "./bell.ts";

export interface DatabaseFile {
  readonly path: string;
  /** Device and inode: the file itself, whatever is called by its name later. */
  readonly identity: string;
  /** The small file that writers ring (see bell.ts). */
  readonly bell: string;
}

/** Finds or makes the file. Throws an error with words for a person when that cannot be. */
export function prepareFile(directory: string): DatabaseFile {
  const path = join(resolve(directory), "restante.db");
  const bell = join(resolve(directory), "restante.bell");
  try {
    makeDirectory(dirname(path));
    makeFile(path);
    hangBell(bell);
  } catch (error) {
    throw new Error(`Cannot make ${path}: ${why(error)}`, { cause: error });
  }
  return { path, identity: identify(path) ?? "", bell };
}

/** A database that was moved, replaced or deleted under a running server must not take writes. */
export const isStillThere = (file: DatabaseFile): boolean => identify(file.path) === file.identity;

function identify(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats && `${stats.dev}:${stats.ino}`;
}

function makeDirectory(directory: string): void {
  const topmostMade = mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (topmostMade) syncDirectory(dirname(topmostMade));
}

function makeFile(path: string): void {
  try {
    // Only ever opened to be made: closing a second descriptor would drop SQLite's locks on it.
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    throw error;
  }
  syncDirectory(dirname(path));
}

/** Until its directory is synced, a power cut can take a new file away, whatever is in it. */
function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && "code" in error ? error.code : undefined;

const words: Readonly<Record<string, string>> = {
  EACCES: "permission denied; give the user that runs Restante write access to the directory",
  EPERM: "permission denied; give the user that runs Restante write access to the directory",
  EROFS: "the file system is read-only",
  ENOSPC: "no room is left on the disk",
  ENOTDIR: "a part of the path is a file, not a directory",
  EEXIST: "a file stands where the directory should be",
};

const why = (error: unknown): string => words[String(codeOf(error))] ?? String(error);
