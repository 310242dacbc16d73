// The tables, and the steps that bring a database of any age to them.

import { Outage } from "../store.ts";
import { Connection } from "./connection.ts";

/** Runs inside its own transaction, together with the bump of the version. */
export type Step = (connection: Connection) => void;

/** Marks the file as ours ("rest" in ASCII), for `file` and for us. */
const applicationId = 0x72657374;

/**
 * `ledger.batch` counts the transactions; `collections.batch` is the last one that touched that
 * collection and `ledger.tokens` the last one that touched a token. So a reader asks for what
 * happened since it last looked and gets only that.
 */
const first: Step = (connection) =>
  connection.run(`
    PRAGMA application_id = ${applicationId};
    CREATE TABLE ledger (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      batch INTEGER NOT NULL,
      tokens INTEGER NOT NULL
    ) STRICT;
    INSERT INTO ledger VALUES (1, 0, 0);
    CREATE TABLE collections (
      key INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      revision INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      total INTEGER NOT NULL,
      created INTEGER NOT NULL,
      updated INTEGER NOT NULL,
      batch INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX collections_by_batch ON collections (batch);
    CREATE TABLE tokens (
      id TEXT PRIMARY KEY,
      hash TEXT NOT NULL UNIQUE,
      name TEXT NOT NULL,
      scopes TEXT NOT NULL,
      created INTEGER NOT NULL,
      expires INTEGER,
      used INTEGER,
      revoked INTEGER
    ) STRICT;
  `);

/**
 * A definition may be large, and its collection's row is written with every batch: so it stands
 * apart, with the batch that brought it. `once` keeps what was done under a key (see once.ts).
 */
const second: Step = (connection) => {
  connection.run(`
    CREATE TABLE definitions (
      collection INTEGER PRIMARY KEY,
      batch INTEGER NOT NULL,
      definition TEXT NOT NULL
    ) STRICT;
    CREATE TABLE once (
      owner TEXT NOT NULL,
      key TEXT NOT NULL,
      fingerprint TEXT NOT NULL,
      until INTEGER NOT NULL,
      outcomes TEXT NOT NULL,
      PRIMARY KEY (owner, key)
    ) STRICT;
    CREATE INDEX once_by_until ON once (until);
  `);
  for (const [key] of connection.query<readonly [key: number]>("SELECT key FROM collections").all())
    connection.run(`
      DELETE FROM removed_${key}
      WHERE id IN (SELECT id FROM resources_${key})
        OR revision NOT IN (SELECT max(revision) FROM removed_${key} GROUP BY id);
      ${indexRemoved(key)};
    `);
};

/**
 * `entries` is what the indexes hold (see index.ts). `ledger.drops` is the last batch that dropped a
 * collection, so that readers look for what is gone; `ledger.keys` the last key that was given to
 * one: none is given again, so that nobody takes a new collection for an old one.
 */
const third: Step = (connection) => {
  connection.run(`
    ALTER TABLE ledger ADD COLUMN drops INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ledger ADD COLUMN keys INTEGER NOT NULL DEFAULT 0;
    UPDATE ledger SET keys = (SELECT coalesce(max(key), 0) FROM collections);
  `);
  for (const [key] of connection.query<readonly [key: number]>("SELECT key FROM collections").all())
    connection.run(`ALTER TABLE resources_${key} ADD COLUMN owner TEXT; ${createEntries(key)};`);
};

/**
 * The files of a resource, and of all resources the keys of those that are named (see named.ts). The
 * index is for the end of a collection.
 */
const fourth: Step = (connection) => {
  connection.run(`
    CREATE TABLE files (
      key TEXT PRIMARY KEY,
      collection INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX files_by_collection ON files (collection);
  `);
  for (const [key] of connection.query<readonly [key: number]>("SELECT key FROM collections").all())
    connection.run(`ALTER TABLE resources_${key} ADD COLUMN parts TEXT`);
};

/**
 * `epochs` says at which revision each earlier epoch of a collection ended (see ../epochs.ts); the row
 * of collection 0 is the last epoch that a writer has begun. `shares_date` is 1 for what is there,
 * because nobody knows. What is there has no checksum until it is written again. By `key_clock` keys
 * expire (see ../key-clock.ts).
 */
const fifth: Step = (connection) => {
  connection.run(`
    CREATE TABLE epochs (
      collection INTEGER NOT NULL,
      epoch INTEGER NOT NULL,
      last INTEGER NOT NULL,
      PRIMARY KEY (collection, epoch)
    ) STRICT, WITHOUT ROWID;
    ALTER TABLE collections ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE collections ADD COLUMN shares_date INTEGER NOT NULL DEFAULT 1;
    UPDATE collections SET epoch = random() & 268435455;
    CREATE TABLE key_clock (
      one INTEGER PRIMARY KEY CHECK (one = 1),
      now INTEGER NOT NULL,
      seen INTEGER NOT NULL
    ) STRICT;
    INSERT INTO key_clock VALUES (1, 0, 0);
  `);
  for (const [key] of connection.query<readonly [key: number]>("SELECT key FROM collections").all())
    connection.run(`
      ALTER TABLE resources_${key} ADD COLUMN shares_date INTEGER NOT NULL DEFAULT 1;
      ALTER TABLE resources_${key} ADD COLUMN checksum INTEGER;
    `);
};

export const steps: readonly Step[] = [first, second, third, fourth, fifth];

/** What is there now is not removed, and what is removed is so once: a feed tells of each once. */
const indexRemoved = (key: number): string =>
  `CREATE UNIQUE INDEX removed_${key}_by_id ON removed_${key} (id)`;

const createEntries = (key: number): string =>
  `CREATE TABLE entries_${key} (
    field TEXT NOT NULL,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (field, key, seq)
  ) STRICT, WITHOUT ROWID`;

/** The tables of one collection; `removed` remembers what was there, `holes` where (see holes.ts). */
export function createCollectionTables(connection: Connection, key: number): void {
  connection.run(`
    CREATE TABLE resources_${key} (
      seq INTEGER PRIMARY KEY,
      id TEXT NOT NULL UNIQUE,
      revision INTEGER NOT NULL UNIQUE,
      created INTEGER NOT NULL,
      updated INTEGER NOT NULL,
      fields TEXT NOT NULL,
      owner TEXT,
      parts TEXT,
      shares_date INTEGER NOT NULL DEFAULT 1,
      checksum INTEGER
    ) STRICT;
    CREATE TABLE removed_${key} (
      revision INTEGER PRIMARY KEY,
      id TEXT NOT NULL,
      at INTEGER NOT NULL
    ) STRICT;
    ${indexRemoved(key)};
    CREATE TABLE holes_${key} (
      place INTEGER PRIMARY KEY,
      children BLOB NOT NULL
    ) STRICT;
    ${createEntries(key)};
  `);
}

export function dropCollectionTables(connection: Connection, key: number): void {
  dropWordsTable(connection, key);
  for (const name of ["entries", "holes", "removed", "resources"])
    connection.run(`DROP TABLE ${name}_${key}`);
}

/**
 * The words of each resource, under its seq; the text itself is not kept. They come as single words
 * between spaces already, and this tokenizer leaves all that is beyond ASCII as it is.
 */
export function createWordsTable(connection: Connection, key: number): void {
  connection.run(
    `CREATE VIRTUAL TABLE words_${key} USING fts5
     (text, content = '', contentless_delete = 1, tokenize = 'ascii')`,
  );
}

export function dropWordsTable(connection: Connection, key: number): void {
  connection.run(`DROP TABLE IF EXISTS words_${key}`);
}

/** Brings the database to the newest form. Killed at any moment, it is in one version or the next. */
export function migrate(connection: Connection, path: readonly Step[] = steps): void {
  while (step(connection, path));
}

/** Takes one step; says whether there was one to take. */
function step(connection: Connection, path: readonly Step[]): boolean {
  // The lock comes first, so that of two processes that start at once only one takes the step.
  connection.run("BEGIN IMMEDIATE");
  try {
    const version = currentVersion(connection, path.length);
    const next = path[version];
    next?.(connection);
    if (next) connection.run(`PRAGMA user_version = ${version + 1}`);
    connection.run("COMMIT");
    return next !== undefined;
  } catch (error) {
    connection.rollback();
    throw error;
  }
}

/** For a process that only reads, and cannot take the steps. */
export function requireNewest(path: string): void {
  const connection = new Connection(path, "read");
  try {
    const version = currentVersion(connection, steps.length);
    if (version === steps.length) return;
    throw new Outage(
      "unavailable",
      `the database is of an older form (${version}, and this Restante reads ${steps.length}): start the server once, which brings it up to date`,
    );
  } finally {
    connection.close();
  }
}

function currentVersion(connection: Connection, newest: number): number {
  const version = Number(connection.query("PRAGMA user_version").one()?.[0]);
  if (version > newest)
    throw new Outage(
      "unavailable",
      `the database was written by a newer Restante (its form is ${version}, this one knows up to ${newest}): update Restante, or restore an older backup`,
    );
  const isForeign = version === 0 && connection.query("SELECT 1 FROM sqlite_schema").one();
  if (isForeign)
    throw new Outage("unavailable", "the file is a database of another program: move it away");
  return version;
}
