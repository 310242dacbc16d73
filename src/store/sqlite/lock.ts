// The lock of a data folder: one process owns it, and its end, however it comes, releases it.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { makeDirectory, makeFile, reasonOf } from "./file.ts";

/** The owner as it describes itself in a file beside the lock. */
export interface Owner {
  readonly pid: number;
  readonly host: string;
  /** ISO 8601. */
  readonly since: string;
  /** `starting` also stands for a command, which is done in a moment. */
  readonly state: "starting" | "running";
  /** The URL of a server; a program that embeds Restante has none. */
  readonly address?: string | undefined;
}

/** Another process owns the folder. The message says which one. */
export class FolderInUse extends Error {
  constructor(owner: Owner | undefined) {
    super(
      `${describe(owner)} owns it. Only one process writes to a data folder: stop that one, or choose another folder.`,
    );
  }
}

const busyCode = 5;
/** A command or a server that starts is given this long to finish or to get ready. */
const patienceMs = 10_000;
const pauseMs = 50;

/** A connection that is garbage collected closes its file, which would release the lock. */
const held = new Set<DatabaseSync>();

export class FolderLock {
  readonly #database: DatabaseSync;
  readonly #recordPath: string;
  readonly #since = new Date().toISOString();

  private constructor(database: DatabaseSync, recordPath: string) {
    this.#database = database;
    this.#recordPath = recordPath;
    held.add(database);
    this.#describe("starting");
  }

  /** Waits for an owner that is about to finish or to start; throws FolderInUse for one that runs. */
  static async take(folder: string): Promise<FolderLock> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const lock = FolderLock.tryTake(folder);
      if (lock !== undefined) return lock;
      const owner = readOwner(folder);
      const isRunning = owner?.state === "running" && isAlive(owner);
      if (isRunning || performance.now() > deadline) throw new FolderInUse(owner);
      await sleep(pauseMs);
    }
  }

  /** The folder is made when it is missing. Undefined when another process owns it. */
  static tryTake(folder: string): FolderLock | undefined {
    const path = join(resolve(folder), "restante.lock");
    try {
      makeDirectory(resolve(folder));
      makeFile(path);
    } catch (error) {
      throw new Error(`Cannot make ${path}: ${reasonOf(error)}`, { cause: error });
    }
    // The file stays empty and is never removed: SQLite's lock on it is one of the operating system.
    const database = new DatabaseSync(path, { timeout: 0 });
    try {
      database.exec("BEGIN EXCLUSIVE");
      return new FolderLock(database, recordPathIn(folder));
    } catch (error) {
      held.delete(database);
      database.close();
      if (error instanceof Error && "errcode" in error && error.errcode === busyCode)
        return undefined;
      throw error;
    }
  }

  /** Says that the owner is ready, and where. */
  announce(address: string | undefined): void {
    this.#describe("running", address);
  }

  release(): void {
    if (!held.delete(this.#database)) return;
    rmSync(this.#recordPath, { force: true });
    this.#database.close();
  }

  #describe(state: Owner["state"], address?: string): void {
    const { pid } = process;
    const owner: Owner = { pid, host: hostname(), since: this.#since, state, address };
    const path = `${this.#recordPath}.new`;
    try {
      writeFileSync(path, `${JSON.stringify(owner)}\n`, { mode: 0o600 });
      renameSync(path, this.#recordPath);
    } catch {
      // A full disk must not stop a server that only reads; others then cannot name the owner.
    }
  }
}

const recordPathIn = (folder: string): string => join(resolve(folder), "restante.owner");

/** The last owner's record: it is the present one's only while the lock is held. */
export function readOwner(folder: string): Owner | undefined {
  try {
    const record: unknown = JSON.parse(readFileSync(recordPathIn(folder), "utf8"));
    return isOwner(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

const isOwner = (record: unknown): record is Owner =>
  typeof record === "object" && record !== null && "pid" in record && "state" in record;

/** A process of another machine or container cannot be asked, and counts as alive. */
function isAlive({ pid, host }: Owner): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function describe(owner: Owner | undefined): string {
  if (owner === undefined) return "another process";
  const { pid, host, since, state, address } = owner;
  const place = host === hostname() ? "" : ` on host ${host}`;
  const role =
    address === undefined ? (state === "starting" ? ", starting" : "") : ` at ${address}`;
  const time = since.slice(0, 19).replace("T", " ");
  return `process ${pid}${place}${role}, since ${time} UTC,`;
}
