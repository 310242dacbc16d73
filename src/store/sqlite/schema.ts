// Creates the tables of a new database, and checks the version of an existing one.

import { randomUUID } from "node:crypto";
import { version as restante } from "../../lib/program.ts";
import { Outage } from "../../model/outage.ts";
import { newerDatabase, oldestVersion, type WrittenBy } from "../version.ts";
import type { Connection } from "./connection.ts";

/** Identifies the file as a Restante database ("rest" in ASCII). */
const applicationId = 0x72657374;

/** Databases with a lower version have one set of tables per collection (see old-schema.ts). */
export const firstVersion = 7;

/** Each step of upgrade.ts brings a database to the next version. */
export const schemaVersion = 14;

/** Lists that are sorted or limited by the times of resources read these. */
export const resourceIndexes = [
  "CREATE INDEX resources_by_created ON resources (part, created, seq);",
  "CREATE INDEX resources_by_updated ON resources (part, updated, seq);",
] as const;

/** The JSON text of a list: the names of the collections that refer to this one. */
export const referrers = "referrers TEXT NOT NULL DEFAULT '[]'";

/** The JSON text of a list: the names of the roles of a token. */
export const roles = "roles TEXT NOT NULL DEFAULT '[]'";

/** Resources that have another owner since a revision. */
export const formerOwners = `CREATE TABLE former_owners (
    part INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    changed INTEGER NOT NULL,
    PRIMARY KEY (part, revision)
  ) STRICT, WITHOUT ROWID;`;

/** States that changes have ended (see model/access/former-state.ts): from `since` to before `revision`. */
export const formerStates = `CREATE TABLE former_states (
    part INTEGER NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    since INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    state TEXT NOT NULL,
    PRIMARY KEY (part, id, revision),
    UNIQUE (part, revision)
  ) STRICT, WITHOUT ROWID;`;

/** The indexes of a part that are being built (see core/index-build.ts). */
export const builds = `CREATE TABLE builds (
    part INTEGER PRIMARY KEY,
    former TEXT NOT NULL,
    state TEXT NOT NULL
  ) STRICT;`;

/** The terms of resources (see model/query/rank.ts). The rank is the negated weight: the best come first. */
export const words = `CREATE TABLE words (
    part INTEGER NOT NULL,
    word TEXT NOT NULL,
    rank INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (part, word, rank, seq)
  ) STRICT, WITHOUT ROWID;`;

/**
 * The Restante that wrote the tables, and the oldest one that can open them. Older versions read it to
 * say what is needed, so it stays as it is.
 */
export const writtenBy = `CREATE TABLE written_by (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    restante TEXT NOT NULL,
    oldest TEXT NOT NULL
  ) STRICT;`;

/** What the files of resources count against quotas. */
export const fileColumns = ["owner TEXT", "bytes INTEGER NOT NULL DEFAULT 0"] as const;
export const filesByOwner = "CREATE INDEX files_by_owner ON files (owner, part, bytes);";

/**
 * Every row of data belongs to a part, and every key begins with it. `store.commits` counts the
 * transactions, and `store.tokens` is the last one that changed a token, so that readers notice both.
 * Rows that can be large are in rowid tables, small ones in the primary key itself. `heads.bytes` is the
 * size of the fields of all resources, and tombstones up to the revision `heads.purged` may be deleted.
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
    ${referrers}
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
    bytes INTEGER NOT NULL DEFAULT 0,
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
  ${resourceIndexes.join("\n")}
  CREATE TABLE tombstones (
    part INTEGER NOT NULL,
    id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    owner TEXT,
    PRIMARY KEY (part, id),
    UNIQUE (part, revision)
  ) STRICT, WITHOUT ROWID;
  ${formerOwners}
  ${formerStates}
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
  ${words}
  CREATE TABLE files (
    part INTEGER NOT NULL,
    key TEXT NOT NULL,
    ${fileColumns.join(",\n    ")},
    PRIMARY KEY (part, key)
  ) STRICT, WITHOUT ROWID;
  ${filesByOwner}
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
  ${builds}
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    subject TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER,
    ${roles}
  ) STRICT;
  CREATE TABLE token_uses (
    id TEXT PRIMARY KEY,
    used INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  ${writtenBy}
`;

/** Creates the tables when the database is empty. After a crash it has all of them or none. */
export function createTables(connection: Connection): void {
  connection.transact(() => {
    if (versionOf(connection) !== 0) return requireNewest(connection);
    connection.run(`PRAGMA application_id = ${applicationId}`);
    connection.run(tables);
    connection
      .query("INSERT INTO store (one, id, epoch, commits, tokens) VALUES (1, ?, 0, 0, 0)")
      .run(randomUUID());
    setVersion(connection, schemaVersion);
  });
}

/** Also stores which Restante has written the newest tables. */
export function setVersion(connection: Connection, version: number): void {
  connection.run(`PRAGMA user_version = ${version}`);
  if (version < schemaVersion) return;
  connection
    .query("INSERT OR REPLACE INTO written_by (one, restante, oldest) VALUES (1, ?, ?)")
    .run(restante, oldestVersion);
}

/** Throws when the database has to be migrated first. */
export function requireNewest(connection: Connection): void {
  const version = versionOf(connection);
  if (version !== schemaVersion) throw olderVersion(version);
}

const olderVersion = (version: number): Outage =>
  new Outage(
    "unavailable",
    `the database has an older schema version (${version}; this Restante needs ${schemaVersion}): start the server once to migrate it`,
  );

/** Returns 0 for an empty database. Throws when it belongs to another program or to a newer Restante. */
export function versionOf(connection: Connection): number {
  const version = userVersion(connection);
  if (version > schemaVersion) throw newerDatabase(readWrittenBy(connection), schemaVersion);
  const isForeign = version === 0 && connection.query("SELECT 1 FROM sqlite_schema").one();
  if (isForeign)
    throw new Outage(
      "unavailable",
      "the file is a database of another program: move it to another folder",
    );
  return version;
}

const userVersion = (connection: Connection): number =>
  Number(connection.query("PRAGMA user_version").one()?.[0]);

/** Of a database of any version. */
export function readWrittenBy(connection: Connection): WrittenBy {
  const schema = userVersion(connection);
  if (!hasTable(connection, "written_by")) return { schema };
  const row = connection
    .query<readonly [restante: string, oldest: string]>("SELECT restante, oldest FROM written_by")
    .one();
  return { schema, restante: row?.[0], oldest: row?.[1] };
}

export function hasTable(connection: Connection, name: string): boolean {
  const tables = connection.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
  return tables.one(name) !== undefined;
}
