// The database file on the disk: made for its owner only, and recognised again.

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Outage } from "../store.ts";
import { createCommitCounter } from "./commit-counter.ts";

/** The file itself, whatever is called by its name later. */
export interface FileIdentity {
  readonly device: number;
  readonly inode: number;
}

export interface DatabaseFile {
  readonly path: string;
  readonly identity: FileIdentity | undefined;
  /** The small file that writers ring (see bell.ts). */
  readonly bell: string;
  /** There while the disk is suspected of having lost writes (see suspect.ts). */
  readonly mark: string;
  /** A copy of the database while it is made and verified; of no use to a process that finds it. */
  readonly copy: string;
  /** A verified copy that takes the database's place, also when a crash comes in between. */
  readonly fresh: string;
}

/** The files that SQLite keeps beside the database: what is committed is in all three together. */
const besideSuffixes = ["-wal", "-shm"] as const;

/** Finds or makes the file. Throws an error with words for a person when that cannot be. */
export function prepareFile(directory: string): DatabaseFile {
  const at = (name: string) => join(resolve(directory), name);
  const path = at("restante.db");
  const bell = at("restante.bell");
  try {
    makeDirectory(dirname(path));
    makeFile(path);
    createCommitCounter(bell);
  } catch (error) {
    throw new Error(`Cannot make ${path}: ${reasonOf(error)}`, { cause: error });
  }
  const names = {
    mark: at("restante.suspect"),
    copy: at("restante.copy"),
    fresh: at("restante.new"),
  };
  return { path, identity: identify(path), bell, ...names };
}

/** A database that was moved, replaced or deleted under a running server must not take writes. */
export function assertStillThere({ path, identity }: DatabaseFile): void {
  if (isAt(path, identity)) return;
  throw new Outage("unavailable", `${path} was moved or replaced: restart Restante`);
}

/** The files beside the database as they are now; says later whether they are still the same. */
export function watchBeside({ path }: DatabaseFile): () => boolean {
  const seen = besideSuffixes.map((suffix) => {
    const beside = path + suffix;
    return [beside, identify(beside)] as const;
  });
  return () => seen.every(([beside, identity]) => isAt(beside, identity));
}

export function removeCopy({ copy }: DatabaseFile): void {
  for (const suffix of ["", "-journal", ...besideSuffixes]) rmSync(copy + suffix, { force: true });
}

/** From here on the copy is the database, whatever dies next. */
export function decideForCopy({ path, copy, fresh }: DatabaseFile): void {
  renameSync(copy, fresh);
  syncDirectory(dirname(path));
}

/**
 * Puts a verified copy in the database's place, if there is one. The old WAL goes first, because
 * SQLite would apply it to the copy; a crash in between finds the copy and comes here again. Only
 * the process that writes may call it. The file with its new identity is returned.
 */
export function finishSwap(file: DatabaseFile): DatabaseFile {
  const { path, fresh, mark } = file;
  if (!existsSync(fresh)) return file;
  for (const suffix of besideSuffixes) rmSync(path + suffix, { force: true });
  syncDirectory(dirname(path));
  renameSync(fresh, path);
  syncDirectory(dirname(path));
  rmSync(mark, { force: true });
  return { ...file, identity: identify(path) };
}

export const hasFreshCopy = ({ fresh }: DatabaseFile): boolean => existsSync(fresh);

const quietly = { throwIfNoEntry: false } as const;

function identify(path: string): FileIdentity | undefined {
  const stats = statSync(path, quietly);
  return stats && { device: stats.dev, inode: stats.ino };
}

/** Runs with each commit: it only compares numbers. */
function isAt(path: string, identity: FileIdentity | undefined): boolean {
  const stats = statSync(path, quietly);
  return stats?.ino === identity?.inode && stats?.dev === identity?.device;
}

export function makeDirectory(directory: string): void {
  const topmostMade = mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (topmostMade) syncDirectory(dirname(topmostMade));
}

export function makeFile(path: string): void {
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
  EROFS:
    "the file system is read-only. If it became so by itself, its own structures failed: stop Restante, unmount the file system, run fsck, and start again",
  EIO: "the disk reports an error",
  ENOSPC: "no room is left on the disk",
  ENOTDIR: "a part of the path is a file, not a directory",
  EEXIST: "a file stands where the directory should be",
};

export const reasonOf = (error: unknown): string => words[String(codeOf(error))] ?? String(error);
