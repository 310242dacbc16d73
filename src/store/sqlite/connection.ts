// Opens the database file with safe settings, and classifies its errors.

import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { Outage } from "../../model/outage.ts";

/** The values that both runtimes bind in the same way; `undefined`, booleans and dates are not among them. */
export type Value = string | number | null | Uint8Array;
export type Row = readonly Value[];

/** Older versions of SQLite can lose committed transactions with two connections (the WAL-reset bug). */
const minSqliteVersion = "3.53.4";

const busyMs = 5_000;
const largestIdleWalBytes = 64 * 1024 * 1024;
/** The page caches of all connections together are a large part of the memory of a process. */
const cacheKibibytes = 16 * 1024;
/** A copy has a limit for its memory, and writes most pages once. */
const replicaCacheKibibytes = 8 * 1024;
const scanCacheKibibytes = 4 * 1024;

/** Without these a sync on macOS leaves the bytes in the cache of the disk. Elsewhere they change nothing. */
const fullSync = { fullfsync: 1, checkpoint_fullfsync: 1 } as const;

/** Each pragma is set and read back, because commits are not durable without them. */
const pragmas = {
  read: {
    busy_timeout: busyMs,
    query_only: 1,
    wal_autocheckpoint: 0,
    cache_size: -cacheKibibytes,
  },
  /** Reads much of the database once, which a cache does not make faster. */
  scan: {
    busy_timeout: busyMs,
    query_only: 1,
    wal_autocheckpoint: 0,
    cache_size: -scanCacheKibibytes,
  },
  /** Reads the file as it is: without locks, and without what is only in the WAL. */
  peek: {
    busy_timeout: busyMs,
    query_only: 1,
  },
  write: {
    busy_timeout: busyMs,
    journal_mode: "wal",
    synchronous: 2,
    ...fullSync,
    // SQLite hides the errors of automatic checkpoints: checkpoint.ts runs them instead.
    wal_autocheckpoint: 0,
    journal_size_limit: largestIdleWalBytes,
    // Deleted rows are overwritten with zeros; erase.ts does the rest.
    secure_delete: 1,
    cache_size: -cacheKibibytes,
    // Statement journals are in memory: a file could fail when the disk is full.
    temp_store: 2,
  },
  /** Reads the database while it is copied to another file (see repair.ts). */
  copy: {
    busy_timeout: busyMs,
    wal_autocheckpoint: 0,
    cache_size: -scanCacheKibibytes,
    temp_store: 2,
  },
  /** Writes a new file that nobody else opens; it is synced when it is complete. */
  fill: {
    busy_timeout: busyMs,
    journal_mode: "memory",
    synchronous: 0,
    secure_delete: 1,
    cache_size: -cacheKibibytes,
    temp_store: 2,
  },
  /** Writes a new file that nobody else opens, and that a later process may go on with. */
  replica: {
    busy_timeout: busyMs,
    journal_mode: "wal",
    synchronous: 1,
    ...fullSync,
    wal_autocheckpoint: 4_000,
    // What was erased at the source after it was copied must not stay.
    secure_delete: 1,
    cache_size: -replicaCacheKibibytes,
    temp_store: 2,
  },
} as const;

const writable: ReadonlySet<keyof typeof pragmas> = new Set(["write", "fill", "replica"]);

export interface LimitedRows<R> {
  readonly rows: readonly R[];
  readonly isCut: boolean;
}

/** A prepared statement. Rows are arrays: reading one costs a third less than an object on Node. */
export class PreparedQuery<R extends Row> {
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

  /** Reads the rows one by one. */
  each(...values: readonly Value[]): Iterable<R> {
    return this.#statement.iterate(...values) as unknown as Iterable<R>;
  }

  /** Returns the first rows with at most `maxSize` together, but at least one, and whether more follow. */
  within(maxSize: number, sizeOf: (row: R) => number, ...values: readonly Value[]): LimitedRows<R> {
    const rows: R[] = [];
    let size = 0;
    for (const row of this.#statement.iterate(...values) as unknown as Iterable<R>) {
      size += sizeOf(row);
      if (rows.length > 0 && size > maxSize) return { rows, isCut: true };
      rows.push(row);
    }
    return { rows, isCut: false };
  }

  /** Returns how many rows it changed. */
  run(...values: readonly Value[]): number {
    return Number(this.#statement.run(...values).changes);
  }
}

export class Connection {
  readonly #database: DatabaseSync;

  /** Never creates the file, which must exist. */
  constructor(file: string, access: keyof typeof pragmas) {
    const address = pathToFileURL(file);
    address.searchParams.set("mode", writable.has(access) ? "rw" : "ro");
    if (access === "peek") address.searchParams.set("immutable", "1");
    this.#database = new DatabaseSync(address, { timeout: busyMs });
    try {
      this.#configure(access);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  query<R extends Row>(sql: string): PreparedQuery<R> {
    return new PreparedQuery(this.#database.prepare(sql));
  }

  run(sql: string): void {
    this.#database.exec(sql);
  }

  /** Runs a function in a transaction that takes the write lock at once. */
  transact<T>(act: () => T): T {
    this.run("BEGIN IMMEDIATE");
    try {
      const result = act();
      this.run("COMMIT");
      return result;
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /** Runs a function that waits no longer than this for locks. */
  waitingAtMost<T>(waitMs: number, act: () => T): T {
    this.run(`PRAGMA busy_timeout = ${waitMs}`);
    try {
      return act();
    } finally {
      this.run(`PRAGMA busy_timeout = ${busyMs}`);
    }
  }

  /**
   * Runs a transaction that may be lost with the power, for work that can be repeated. The sync of the next
   * commit covers it, because both are in the same WAL.
   */
  withoutSync<T>(act: () => T): T {
    this.run("PRAGMA synchronous = NORMAL");
    try {
      return act();
    } finally {
      this.run("PRAGMA synchronous = FULL");
    }
  }

  /** Writes every page anew. The copy that SQLite makes for it is too large for the memory. */
  vacuum(): void {
    this.run("PRAGMA temp_store = FILE");
    try {
      this.run("VACUUM");
    } finally {
      this.run("PRAGMA temp_store = MEMORY");
    }
  }

  /** Rolls back the current transaction, if SQLite has not done so already. */
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

  #configure(access: keyof typeof pragmas): void {
    const version = String(this.query("SELECT sqlite_version()").one()?.[0]);
    if (isOlder(version, minSqliteVersion))
      throw new Outage(
        "unavailable",
        `SQLite ${version} is too old: ${minSqliteVersion} is needed`,
      );
    // Has an effect only on an empty file, before any other setting.
    if (writable.has(access)) this.run("PRAGMA auto_vacuum = INCREMENTAL");
    for (const [name, wanted] of Object.entries(pragmas[access])) {
      this.query(`PRAGMA ${name} = ${wanted}`).all();
      const actual = this.query(`PRAGMA ${name}`).one()?.[0];
      if (actual !== wanted)
        throw new Outage(
          "unavailable",
          `PRAGMA ${name} = ${wanted} had no effect: the value is ${actual}`,
        );
    }
  }
}

function isOlder(version: string, than: string): boolean {
  return version.localeCompare(than, "en", { numeric: true }) < 0;
}

/** SQLite result codes that are caused by the storage, not by a bug (sqlite.org/rescode.html). */
const storageCodes: ReadonlyMap<number, string> = new Map([
  [3, "permission denied"],
  [5, "another process has locked the database"],
  [6, "the database is locked"],
  [7, "out of memory"],
  [8, "the database is read-only"],
  [10, "the disk reports an error"],
  [11, "the database is damaged"],
  [13, "the disk is full"],
  [14, "the database file, its WAL or its shared memory cannot be opened or created"],
  [15, "the database is locked"],
  [26, "the file is not a SQLite database, or is damaged"],
]);
const fullCode = 13;
const ioErrorCode = 10;

/**
 * I/O errors that do not concern the bytes of the database or its WAL: those of locks, of the shared
 * memory and of memory (sqlite.org/rescode.html, extended codes).
 */
const harmlessIoErrors: ReadonlySet<number> = new Set(
  // RDLOCK, UNLOCK, BLOCKED, NOMEM, ACCESS, CHECKRESERVEDLOCK, LOCK, then those of the -shm file.
  [9, 8, 11, 12, 13, 14, 15, 18, 19, 20, 21].map((detail) => ioErrorCode | (detail << 8)),
);

const codeOf = (error: unknown): number =>
  error instanceof Error && "errcode" in error ? Number(error.errcode) : 0;

/** Error codes of system calls. A file system becomes read-only when its own structures fail. */
const failedCalls: ReadonlySet<unknown> = new Set(["EIO", "EROFS"]);

/** Whether a write or a sync failed, so that the files can differ from the page cache. */
export function isIoFailure(error: unknown): boolean {
  if (error instanceof Outage && error.cause !== undefined) return isIoFailure(error.cause);
  if (error instanceof Error && "code" in error && failedCalls.has(error.code)) return true;
  const code = codeOf(error);
  return (code & 0xff) === ioErrorCode && !harmlessIoErrors.has(code);
}

/** Returns an Outage when the storage caused the error, or undefined when it is a bug. */
export function outageOf(error: unknown): Outage | undefined {
  if (error instanceof Outage) return error;
  const code = codeOf(error) & 0xff;
  const message = storageCodes.get(code);
  if (message === undefined) return undefined;
  const reason = code === fullCode ? "full" : "unavailable";
  return new Outage(reason, `${message} (${String(error)})`, { cause: error });
}

/** READONLY_RECOVERY and READONLY_ROLLBACK. */
const unfinishedCodes: ReadonlySet<number> = new Set([1, 3].map((detail) => 8 | (detail << 8)));

/** Whether a killed process has left a change that only a connection for writing can undo or finish. */
export const isUnfinished = (error: unknown): boolean => unfinishedCodes.has(codeOf(error));

/** Whether a stored text is no JSON, as SQLite or the runtime finds. */
export const isMalformedJson = (error: unknown): boolean =>
  error instanceof SyntaxError ||
  (error instanceof Error && error.message.includes("malformed JSON"));

/** Whether a table does not exist, for example because its collection was dropped. */
export const isMissingTable = (error: unknown): boolean =>
  error instanceof Error && error.message.startsWith("no such table");
