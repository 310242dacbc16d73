// Opens the database file the one way that keeps our promises, and names what goes wrong with it.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Outage } from "../store.ts";

/** The only values that bind alike on both runtimes: `undefined`, booleans and dates do not. */
export type Value = string | number | null | Uint8Array;
export type Row = readonly Value[];

/** Below this, SQLite can lose committed transactions when two connections meet (the WAL-reset bug). */
const oldestSqlite = "3.53.4";

const busyMs = 5_000;
const largestIdleWalBytes = 64 * 1024 * 1024;
const cacheKibibytes = 32 * 1024;

/** Each is set and read back: one that did not take would break the promise that a commit is kept. */
const pragmas = {
  read: {
    busy_timeout: busyMs,
    query_only: 1,
    wal_autocheckpoint: 0,
    cache_size: -cacheKibibytes,
  },
  write: {
    busy_timeout: busyMs,
    journal_mode: "wal",
    synchronous: 2,
    // SQLite hides the errors of automatic checkpoints: checkpoint.ts runs them instead.
    wal_autocheckpoint: 0,
    journal_size_limit: largestIdleWalBytes,
    // Deleted rows are overwritten with zeros; erase.ts does the rest.
    secure_delete: 1,
    cache_size: -cacheKibibytes,
    // What a unit may have to undo is kept in memory: a file for it could find the disk full.
    temp_store: 2,
  },
  /** Reads the database while it is copied to another file (see repair.ts). */
  copy: {
    busy_timeout: busyMs,
    wal_autocheckpoint: 0,
    cache_size: -cacheKibibytes,
    temp_store: 2,
  },
} as const;

export interface Within<R> {
  readonly rows: readonly R[];
  readonly isCut: boolean;
}

/** A prepared statement. Rows are arrays: reading one costs a third less than an object on Node. */
export class Query<R extends Row> {
  readonly #statement: StatementSync;

  constructor(statement: StatementSync) {
    statement.setReturnArrays(true);
    this.#statement = statement;
  }

  one(...values: readonly Value[]): R | undefined {
    return this.#statement.get(...values) as unknown as R | undefined;
  }

  all(...values: readonly Value[]): readonly R[] {
    return this.#statement.all(...values) as unknown as R[];
  }

  /** The first rows, at least one, that have no more than `maxSize` together; and whether there are more. */
  within(maxSize: number, sizeOf: (row: R) => number, ...values: readonly Value[]): Within<R> {
    const rows: R[] = [];
    let size = 0;
    for (const row of this.#statement.iterate(...values) as unknown as Iterable<R>) {
      size += sizeOf(row);
      if (rows.length > 0 && size > maxSize) return { rows, isCut: true };
      rows.push(row);
    }
    return { rows, isCut: false };
  }

  /** How many rows it changed. */
  run(...values: readonly Value[]): number {
    return Number(this.#statement.run(...values).changes);
  }
}

export class Connection {
  readonly #database: DatabaseSync;

  /** Never makes the file: who asks for a connection has seen that it is there. */
  constructor(file: string, access: keyof typeof pragmas) {
    const address = pathToFileURL(file);
    address.searchParams.set("mode", access === "write" ? "rw" : "ro");
    this.#database = new DatabaseSync(address, { timeout: busyMs });
    try {
      this.#settle(access);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  query<R extends Row>(sql: string): Query<R> {
    return new Query(this.#database.prepare(sql));
  }

  run(sql: string): void {
    this.#database.exec(sql);
  }

  /** Does it without waiting for the locks of others. */
  withoutWaiting<T>(act: () => T): T {
    this.run("PRAGMA busy_timeout = 0");
    try {
      return act();
    } finally {
      this.run(`PRAGMA busy_timeout = ${busyMs}`);
    }
  }

  /** Undoes a transaction under way; SQLite may have done so already. */
  rollback(): void {
    if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
  }

  close(): void {
    try {
      this.rollback();
    } finally {
      this.#database.close();
    }
  }

  #settle(access: keyof typeof pragmas): void {
    const version = String(this.query("SELECT sqlite_version()").one()?.[0]);
    if (isOlder(version, oldestSqlite))
      throw new Outage("unavailable", `SQLite ${version} is too old: ${oldestSqlite} is needed`);
    for (const [name, wanted] of Object.entries(pragmas[access])) {
      this.query(`PRAGMA ${name} = ${wanted}`).all();
      const actual = this.query(`PRAGMA ${name}`).one()?.[0];
      if (actual !== wanted)
        throw new Outage("unavailable", `PRAGMA ${name} = ${wanted} did not take: ${actual}`);
    }
  }
}

function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, "en", { numeric: true }) < 0;
}

/** SQLite's result codes that tell of the storage, not of a mistake of ours (sqlite.org/rescode.html). */
const storageCodes: ReadonlyMap<number, string> = new Map([
  [3, "permission denied"],
  [5, "another process holds the database"],
  [6, "the database is locked"],
  [7, "out of memory"],
  [8, "the database is read-only"],
  [10, "the disk reports an error"],
  [11, "the database is damaged"],
  [13, "no room is left on the disk"],
  [14, "the database file, or one beside it, cannot be opened or made"],
  [15, "the database is locked"],
  [26, "the file is not a SQLite database, or is damaged"],
]);
const fullCode = 13;
const ioErrorCode = 10;

/**
 * The I/O errors that say nothing of the bytes in the database or its WAL: those of locks, of the
 * shared memory and of memory (sqlite.org/rescode.html, extended codes).
 */
const harmlessIoErrors: ReadonlySet<number> = new Set(
  // RDLOCK, UNLOCK, BLOCKED, NOMEM, ACCESS, CHECKRESERVEDLOCK, LOCK, then those of the -shm file.
  [9, 8, 11, 12, 13, 14, 15, 18, 19, 20, 21].map((detail) => ioErrorCode | (detail << 8)),
);

const codeOf = (error: unknown): number =>
  error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;

/** The same of a system call of our own. A file system whose own structures failed is read-only. */
const failedCalls: ReadonlySet<unknown> = new Set(["EIO", "EROFS"]);

/** Whether a write or a sync failed, so that the files may hold other bytes than the page cache shows. */
export function isIoFailure(error: unknown): boolean {
  if (error instanceof Outage && error.cause !== undefined) return isIoFailure(error.cause);
  if (error instanceof Error && "code" in error && failedCalls.has(error.code)) return true;
  const code = codeOf(error);
  return (code & 0xff) === ioErrorCode && !harmlessIoErrors.has(code);
}

/** What the error tells of the storage, or nothing when it is a mistake of ours. */
export function storageTrouble(error: unknown): Outage | undefined {
  if (error instanceof Outage) return error;
  const code = codeOf(error) & 0xff;
  const words = storageCodes.get(code);
  if (words === undefined) return undefined;
  const reason = code === fullCode ? "full" : "unavailable";
  return new Outage(reason, `${words} (${String(error)})`, { cause: error });
}

/** Whether a table is not there, as when the collection has been dropped since we saw it. */
export const isOfMissingTable = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith("no such table");
