// Creates the tables of a new database, and checks the version of an existing one.

import { randomUUID } from "node:crypto";
import { version as restante } from "../../lib/program.ts";
import { Outage } from "../../model/outage.ts";
import {
  isInRange,
  oldestVersion,
  otherVersion,
  type SchemaRange,
  type WrittenBy,
} from "../version.ts";
import { Connection } from "./connection.ts";

/** Identifies the file as a Restante database ("rest" in ASCII). */
const applicationId = 0x72657374;

/**
 * The version of the tables. Until the first release a change of the tables adds one to it and needs no
 * migration: older databases are refused. From then on it also adds a step
 * (docs/decisions/0051-a-migration-changes-a-copy.md).
 */
export const schemaVersion = 21;

/**
 * Changes the tables of a copy of the database, which nobody else opens. Between pieces of its work it
 * yields how much is done, from 0 to 1. What it has done is dropped when it fails.
 */
export type MigrationStep = (copy: Connection) => Iterable<number>;

/** Each leads to the next version, the last one to the newest. */
export const migrationSteps: readonly MigrationStep[] = [];

export const schemaRange = (steps: readonly MigrationStep[] = migrationSteps): SchemaRange => ({
  newest: schemaVersion,
  oldest: schemaVersion - steps.length,
});

/**
 * Every row of data belongs to a part, and every key begins with it. `store.commits` counts the
 * transactions, and `store.tokens` is the last one that changed a token, so that readers notice both.
 * Rows that can be large are in rowid tables, small ones in the primary key itself. `heads.bytes` is the
 * size of the fields of all resources, and tombstones up to the revision `heads.purged` may be deleted.
 * Lists that are sorted or limited by the times of resources read their indexes. `former_owners` has
 * resources that have another owner since a revision, `former_states` the states that changes have ended
 * (model/access/former-state.ts), from `since` to before `revision`, and `builds` the indexes that are
 * being built (core/index-build.ts). `words.rank` is the negated weight (model/query/rank.ts): the best
 * come first. `files.owner` and `files.bytes` count against quotas. Other versions read `written_by` to
 * say what is needed, so it stays as it is.
 */
const tables = `
  CREATE TABLE store (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    id TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    commits INTEGER NOT NULL,
    tokens INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE collections (
    name TEXT PRIMARY KEY,
    part INTEGER NOT NULL UNIQUE,
    definition TEXT NOT NULL,
    version INTEGER NOT NULL,
    created INTEGER NOT NULL,
    referrers TEXT NOT NULL
  ) STRICT;
  CREATE TABLE heads (
    part INTEGER PRIMARY KEY,
    revision INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    total INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    shares_date INTEGER NOT NULL,
    version INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    key_now INTEGER NOT NULL,
    key_seen INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    purged INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE resources (
    part INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    fields TEXT NOT NULL,
    owner TEXT,
    files TEXT,
    shares_date INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (part, seq),
    UNIQUE (part, id),
    UNIQUE (part, revision)
  ) STRICT;
  CREATE INDEX resources_by_created ON resources (part, created, seq);
  CREATE INDEX resources_by_updated ON resources (part, updated, seq);
  CREATE TABLE tombstones (
    part INTEGER NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    owner TEXT,
    PRIMARY KEY (part, id),
    UNIQUE (part, revision)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE former_owners (
    part INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    changed INTEGER NOT NULL,
    PRIMARY KEY (part, revision)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE former_states (
    part INTEGER NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    since INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (part, id, revision),
    UNIQUE (part, revision)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE positions (
    part INTEGER NOT NULL,
    level INTEGER NOT NULL,
    row INTEGER NOT NULL,
    alive BLOB NOT NULL,
    PRIMARY KEY (part, level, row)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE entries (
    part INTEGER NOT NULL,
    field TEXT NOT NULL,
    key TEXT NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (part, field, key, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE words (
    part INTEGER NOT NULL,
    word TEXT NOT NULL,
    rank INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (part, word, rank, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE files (
    part INTEGER NOT NULL,
    key TEXT NOT NULL,
    owner TEXT,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (part, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX files_by_owner ON files (owner, part, bytes);
  CREATE TABLE idempotency_keys (
    part INTEGER NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    outcomes TEXT NOT NULL,
    expires INTEGER NOT NULL,
    PRIMARY KEY (part, owner, key)
  ) STRICT;
  CREATE INDEX idempotency_keys_by_expires ON idempotency_keys (part, expires);
  CREATE TABLE epochs (
    part INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (part, epoch)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE deleted_parts (
    part INTEGER PRIMARY KEY
  ) STRICT;
  CREATE TABLE builds (
    part INTEGER PRIMARY KEY,
    state TEXT NOT NULL
  ) STRICT;
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    subject TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER,
    roles TEXT NOT NULL
  ) STRICT;
  CREATE TABLE token_uses (
    id TEXT PRIMARY KEY,
    used INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE written_by (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    restante TEXT NOT NULL,
    oldest TEXT NOT NULL
  ) STRICT;
`;

/** Creates the tables when the database is empty. After a crash it has all of them or none. */
export function createTables(connection: Connection): void {
  connection.transact(() => {
    const { schema } = readWrittenBy(connection);
    if (schema !== 0) return requireNewest(connection);
    requireOwn(connection);
    connection.run(`PRAGMA application_id = ${applicationId}`);
    connection.run(tables);
    connection
      .query("INSERT INTO store (one, id, epoch, commits, tokens) VALUES (1, ?, 0, 0, 0)")
      .run(randomUUID());
    setVersion(connection);
  });
}

/** Says that the tables are the newest, and which Restante has written them. */
export function setVersion(connection: Connection): void {
  connection.run(`PRAGMA user_version = ${schemaVersion}`);
  connection
    .query("INSERT OR REPLACE INTO written_by (one, restante, oldest) VALUES (1, ?, ?)")
    .run(restante, oldestVersion);
}

/** Throws when the database has other tables than the newest ones. */
export function requireNewest(connection: Connection): void {
  const found = readWrittenBy(connection);
  if (found.schema === schemaVersion) return;
  if (found.schema === 0) requireOwn(connection);
  throw otherVersion(found, schemaRange());
}

/** Throws when a database without a version has tables: then it belongs to another program. */
function requireOwn(connection: Connection): void {
  if (connection.query("SELECT 1 FROM sqlite_schema").one())
    throw new Outage(
      "unavailable",
      "the file is a database of another program: move it to another folder",
    );
}

const isSupported = (found: WrittenBy, steps: readonly MigrationStep[]): boolean =>
  found.schema === 0 || isInRange(found.schema, schemaRange(steps));

/** Throws when there are tables that are not the newest and with whose version no step begins. */
export function requireSupported(found: WrittenBy, steps: readonly MigrationStep[]): void {
  if (!isSupported(found, steps)) throw otherVersion(found, schemaRange(steps));
}

/** As requireSupported, and changes nothing in the folder of the file. */
export function requireSupportedFile(path: string, steps = migrationSteps): void {
  const found = peek(path);
  if (found) requireSupported(found, steps);
}

export const isSupportedFile = (path: string): boolean =>
  isSupported(peek(path) ?? { schema: 0 }, migrationSteps);

/**
 * Reads what the file says of itself, and leaves no other files beside it, as other connections do. Does not
 * see what is only in the WAL. Returns undefined when the file is missing or cannot be read.
 */
function peek(path: string): WrittenBy | undefined {
  let connection: Connection | undefined;
  try {
    connection = new Connection(path, "peek");
    return readWrittenBy(connection);
  } catch {
    return undefined;
  } finally {
    connection?.close();
  }
}

/** Also of a database that is newer, or too old. */
export function readWrittenBy(connection: Connection): WrittenBy {
  const schema = Number(connection.query("PRAGMA user_version").one()?.[0]);
  if (!hasTable(connection, "written_by")) return { schema };
  const [row] = connection
    .query<readonly [string, string]>("SELECT restante, oldest FROM written_by")
    .all();
  return { schema, restante: row?.[0], oldest: row?.[1] };
}

export function hasTable(connection: Connection, name: string): boolean {
  const tables = connection.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
  return tables.one(name) !== undefined;
}
