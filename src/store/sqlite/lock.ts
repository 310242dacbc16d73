// Locks a data folder for one process; the operating system releases the lock when the process ends.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf } from "../../lib/system-error.ts";
import { createDirectory, createFile, messageOf } from "./file.ts";

/** The owner's description of itself, stored in a file next to the lock. */
export interface FolderOwner {
  readonly pid: number;
  readonly host: string;
  /** ISO 8601. */
  readonly since: string;
  /** `starting` is also the state of a CLI command, which ends soon. */
  readonly state: "starting" | "running";
  /** The URL of a server; a program that embeds Restante has none. */
  readonly address?: string | undefined;
}

/** Thrown when another process owns the folder. The message says which one. */
export class FolderInUse extends Error {
  constructor(owner: FolderOwner | undefined) {
    super(
      `${describe(owner)} owns it. Only one process can write to a data folder: stop that process, or choose another folder.`,
    );
  }
}

const busyCode = 5;
/** How long to wait for a command to finish or a server to start. */
const timeoutMs = 10_000;
const pauseMs = 50;

/** References prevent garbage collection, which would close the file and release the lock. */
const heldLocks = new Set<DatabaseSync>();

export class FolderLock {
  readonly #database: DatabaseSync;
  readonly #recordPath: string;
  readonly #since = new Date().toISOString();

  private constructor(database: DatabaseSync, recordPath: string) {
    this.#database = database;
    this.#recordPath = recordPath;
    heldLocks.add(database);
    this.#describe("starting");
  }

  /** Waits for an owner that is finishing or starting; throws FolderInUse when the owner is running. */
  static async take(folder: string): Promise<FolderLock> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const lock = FolderLock.tryTake(folder);
      if (lock !== undefined) return lock;
      const owner = readOwner(folder);
      const isRunning = owner?.state === "running" && isAlive(owner);
      if (isRunning || performance.now() > deadline) throw new FolderInUse(owner);
      await sleep(pauseMs);
    }
  }

  /** Creates the folder when it does not exist. Returns undefined when another process owns it. */
  static tryTake(folder: string): FolderLock | undefined {
    const path = join(resolve(folder), "restante.lock");
    try {
      createDirectory(resolve(folder));
      createFile(path);
    } catch (error) {
      throw new Error(`Cannot create ${path}: ${messageOf(error)}`, { cause: error });
    }
    // The file stays empty and is never removed. SQLite locks it with a lock of the operating system.
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      database.exec("BEGIN EXCLUSIVE");
      return new FolderLock(database, recordPathIn(folder));
    } catch (error) {
      heldLocks.delete(database);
      database.close();
      if (error instanceof Error && "errcode" in error && error.errcode === busyCode)
        return undefined;
      throw error;
    }
  }

  /** Records that the owner is running, and its URL. */
  announce(address: string | undefined): void {
    this.#describe("running", address);
  }

  /** Before the folder gets another name, which has no effect on the lock. */
  removeRecord(): void {
    rmSync(this.#recordPath, { force: true });
  }

  release(): void {
    if (!heldLocks.delete(this.#database)) return;
    try {
      this.removeRecord();
    } catch {
      // The file system has become read-only. The record says nothing while nobody holds the lock.
    }
    this.#database.close();
  }

  #describe(state: FolderOwner["state"], address?: string): void {
    const { pid } = process;
    const owner: FolderOwner = { pid, host: hostname(), since: this.#since, state, address };
    const path = `${this.#recordPath}.new`;
    try {
      writeFileSync(path, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
      renameSync(path, this.#recordPath);
    } catch {
      // A full disk must not stop a server that only reads. Then others cannot name the owner.
    }
  }
}

const recordPathIn = (folder: string): string => join(resolve(folder), "restante.owner");

/** Reads the record of the last owner, which is current only while the lock is held. */
export function readOwner(folder: string): FolderOwner | undefined {
  try {
    const record: unknown = JSON.parse(readFileSync(recordPathIn(folder), "utf8"));
    return isOwner(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

const isOwner = (record: unknown): record is FolderOwner =>
  typeof record === "object" && record !== null && "pid" in record && "state" in record;

/** A process on another machine or in another container cannot be checked, and counts as alive. */
function isAlive({ pid, host }: FolderOwner): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

function describe(owner: FolderOwner | undefined): string {
  if (owner === undefined) return "another process";
  const { pid, host, since, state, address } = owner;
  const place = host === hostname() ? "" : ` on host ${host}`;
  const role =
    address === undefined ? (state === "starting" ? ", starting" : "") : ` at ${address}`;
  const time = since.slice(0, 19).replace("T", " ");
  return `process ${pid}${place}${role}, since ${time} UTC,`;
}
