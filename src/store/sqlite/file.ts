// Creates the database files, checks that they are still the same, and swaps in a verified copy.

import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { codeOf } from "../../lib/system-error.ts";
import { Outage } from "../../model/outage.ts";
import { createCommitCounter } from "./commit-counter.ts";

/** Identifies a file independently of its name. */
export interface FileIdentity {
  readonly device: number;
  readonly inode: number;
}

export interface DatabaseFile {
  readonly path: string;
  readonly identity: FileIdentity | undefined;
  /** The path of the commit counter (see commit-counter.ts). */
  readonly commitCounter: string;
  /** Exists while the disk may have lost writes (see suspect.ts). */
  readonly mark: string;
  /** An unverified copy of the database, which a process that finds it must not use. */
  readonly copy: string;
  /** A verified copy that replaces the database, even if a crash interrupts the replacement. */
  readonly fresh: string;
}

export const markName = "restante.suspect";

/** The WAL and the shared memory of SQLite: committed data is in all three files together. */
const walSuffixes = ["-wal", "-shm"] as const;

/** Creates the files when they do not exist. Throws an error with a readable message when it cannot. */
export function prepareFile(directory: string): DatabaseFile {
  const at = (name: string) => join(resolve(directory), name);
  const path = at("restante.db");
  const commitCounter = at("restante.commits");
  try {
    createDirectory(dirname(path));
    createFile(path);
    createCommitCounter(commitCounter);
  } catch (error) {
    throw new Error(`Cannot create ${path}: ${messageOf(error)}`, { cause: error });
  }
  const names = {
    mark: at(markName),
    copy: at("restante.copy"),
    fresh: at("restante.new"),
  };
  return { path, identity: identify(path), commitCounter, ...names };
}

/** Throws when the database was moved, replaced or deleted while the server runs. */
export function assertStillThere({ path, identity }: DatabaseFile): void {
  if (isAt(path, identity)) return;
  throw new Outage("unavailable", `${path} was moved or replaced: restart Restante`);
}

/** Returns a function that checks whether the WAL files are still the same. */
export function watchWalFiles({ path }: DatabaseFile): () => boolean {
  const seen = walSuffixes.map((suffix) => {
    const sibling = path + suffix;
    return [sibling, identify(sibling)] as const;
  });
  return () => seen.every(([sibling, identity]) => isAt(sibling, identity));
}

export function removeCopy({ copy }: DatabaseFile): void {
  for (const suffix of ["", "-journal", ...walSuffixes]) rmSync(copy + suffix, { force: true });
}

/** Makes the copy what `finishSwap` replaces the database by, now or at the next start. */
export const acceptCopy = ({ copy, fresh }: DatabaseFile): void => renameSync(copy, fresh);

/**
 * Replaces the database by the verified copy, if one exists, and returns the file with its new identity.
 * After a crash in between, the next start continues here. Only the process that writes may call it.
 */
export const finishSwap = (file: DatabaseFile): DatabaseFile =>
  existsSync(file.fresh) ? swapInFresh(file) : file;

/**
 * Does what is left of it, also after an error in any of its steps. The old journal and WAL are deleted first,
 * because SQLite would apply them to the copy.
 */
export function swapInFresh(file: DatabaseFile): DatabaseFile {
  const { path, fresh, mark } = file;
  // The name of the copy is on the disk before the WAL is deleted, and the deletion before the swap.
  syncDirectory(dirname(path));
  if (existsSync(fresh)) {
    for (const suffix of ["-journal", ...walSuffixes]) rmSync(path + suffix, { force: true });
    syncDirectory(dirname(path));
    renameSync(fresh, path);
    syncDirectory(dirname(path));
  }
  rmSync(mark, { force: true });
  return { ...file, identity: identify(path) };
}

/** Replaces a database that has no WAL by the copy, in one step. */
export function swapIn(file: DatabaseFile): DatabaseFile {
  const { path, copy } = file;
  renameSync(copy, path);
  syncDirectory(dirname(path));
  return { ...file, identity: identify(path) };
}

/** The database that a migration has replaced and kept, by its schema version (see former.ts). */
export const formerPath = ({ path }: DatabaseFile, version: number): string =>
  join(dirname(path), `restante.former-${version}.db`);

const formerName = /^restante\.former-\d+\.db(?:\.part)?$/;

/** The former databases in a data folder, also those that a killed process has copied in part. */
export function formerFiles(folder: string): readonly string[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => formerName.test(name));
  return names.map((name) => join(resolve(folder), name));
}

/** Removes the copies of rows that nobody reads: an unverified one, and what a migration has kept. */
export function removeOtherCopies(file: DatabaseFile): void {
  removeCopy(file);
  for (const path of formerFiles(dirname(file.path))) rmSync(path, { force: true });
}

export const hasVerifiedCopy = ({ fresh }: DatabaseFile): boolean => existsSync(fresh);

const noThrow = { throwIfNoEntry: false } as const;

function identify(path: string): FileIdentity | undefined {
  const stats = statSync(path, noThrow);
  return stats && { device: stats.dev, inode: stats.ino };
}

/** Runs with each commit, so it must be fast. */
function isAt(path: string, identity: FileIdentity | undefined): boolean {
  const stats = statSync(path, noThrow);
  return stats?.ino === identity?.inode && stats?.dev === identity?.device;
}

export function createDirectory(directory: string): void {
  const firstCreated = mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (firstCreated) syncDirectory(dirname(firstCreated));
}

export function createFile(path: string): void {
  try {
    // Opened only to create it: closing a second descriptor would release SQLite's locks on the file.
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if (codeOf(error) === "EEXIST") return;
    throw error;
  }
  syncDirectory(dirname(path));
}

/** Until its directory is synced, a new file can be lost in a power cut. */
export function syncDirectory(directory: string): void {
  const descriptor = openSync(directory, "r");
  fsyncSync(descriptor);
  closeSync(descriptor);
}

const messages: Readonly<Record<string, string>> = {
  EACCES: "permission denied; give the user that runs Restante write access to the directory",
  EPERM: "permission denied; give the user that runs Restante write access to the directory",
  EROFS:
    "the file system is read-only. If nobody made it so, its own structures failed: stop Restante, unmount the file system, run fsck, and start again",
  EIO: "the disk reports an error",
  ENOSPC: "the disk is full",
  ENOTDIR: "a part of the path is a file, not a directory",
  EEXIST: "a file exists where the directory is expected",
};

export const messageOf = (error: unknown): string => messages[codeOf(error)] ?? String(error);
