// Brings a database with the former layout, one set of tables per collection, to its last version.

import type { Connection } from "./connection.ts";

/** Leads to the next version. */
export type SchemaStep = (connection: Connection) => void;

/** Identifies the file as a Restante database ("rest" in ASCII). */
const applicationId = 0x72657374;

/**
 * `ledger.batch` counts the transactions. `collections.batch` is the last one that changed the
 * collection, and `ledger.tokens` the last one that changed a token. So a reader can select only what
 * has changed since its last read.
 */
const first: SchemaStep = (connection) =>
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
 * A definition can be large, and the row of a collection is written with every batch, so definitions have
 * their own table. `once` stores Idempotency-Keys with their outcomes .
 */
const second: SchemaStep = (connection) => {
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
 * `entries` contains the indexes. `ledger.drops` is the last batch that dropped a
 * collection, so that readers notice it. `ledger.keys` is the last key of a collection: keys are never
 * reused, so that a new collection is not mistaken for an old one.
 */
const third: SchemaStep = (connection) => {
  connection.run(`
    ALTER TABLE ledger ADD COLUMN drops INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE ledger ADD COLUMN keys INTEGER NOT NULL DEFAULT 0;
    UPDATE ledger SET keys = (SELECT coalesce(max(key), 0) FROM collections);
  `);
  for (const [key] of connection.query<readonly [key: number]>("SELECT key FROM collections").all())
    connection.run(`ALTER TABLE resources_${key} ADD COLUMN owner TEXT; ${createEntries(key)};`);
};

/**
 * Adds the files of a resource, and the keys of all files that resources reference. The index is for dropping a collection.
 */
const fourth: SchemaStep = (connection) => {
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
 * `epochs` contains the last revision of each earlier epoch of a collection (see ../epochs.ts); the row
 * of collection 0 is the last epoch of a writer. `shares_date` is 1 for existing rows, because the former
 * times are not known. Existing rows have no checksum until they are written again. Idempotency-Keys
 * expire by `key_clock` (see ../key-clock.ts).
 */
const fifth: SchemaStep = (connection) => {
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

/** Tokens of older versions have no subject; theirs is their id. */
const sixth: SchemaStep = (connection) =>
  connection.run("ALTER TABLE tokens ADD COLUMN subject TEXT");

export const steps: readonly SchemaStep[] = [first, second, third, fourth, fifth, sixth];

/** An id is either in `resources` or once in `removed`, because a feed contains each id once. */
const indexRemoved = (key: number): string =>
  `CREATE UNIQUE INDEX removed_${key}_by_id ON removed_${key} (id)`;

const createEntries = (key: number): string =>
  `CREATE TABLE entries_${key} (
    field TEXT NOT NULL,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (field, key, seq)
  ) STRICT, WITHOUT ROWID`;

/** Takes the steps that are missing, in the transaction of the caller. */
export function upgradeOld(connection: Connection, path: readonly SchemaStep[] = steps): void {
  while (takeStep(connection, path));
}

/** Returns whether there was a step to take. */
function takeStep(connection: Connection, path: readonly SchemaStep[]): boolean {
  const version = Number(connection.query("PRAGMA user_version").one()?.[0]);
  const next = path[version];
  next?.(connection);
  if (next) connection.run(`PRAGMA user_version = ${version + 1}`);
  return next !== undefined;
}
