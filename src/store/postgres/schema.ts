// Creates the tables, and migrates databases of older versions step by step.

import { setTimeout as sleep } from "node:timers/promises";
import { Outage } from "../store.ts";
import { type Connection, rows, type Sql } from "./connection.ts";
import { isConnectionLost } from "./errors.ts";

const maxAttempts = 10;

/** The statements of a migration step; they run in one transaction with the update of the version. */
export type Step = string;

/**
 * Every key begins with the key of the collection, so that the tables can be distributed over machines.
 * A removed resource keeps its row without seq and fields: so one index contains all changes since a
 * revision, and every write to the table is an upsert. position-tree.ts explains `holes`.
 */
const first: Step = `
  CREATE TABLE collections (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    revision bigint NOT NULL,
    seq bigint NOT NULL,
    total bigint NOT NULL,
    definition text NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL
  ) WITH (fillfactor = 50);
  CREATE TABLE resources (
    collection bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    seq bigint,
    revision bigint NOT NULL,
    created bigint NOT NULL,
    updated bigint NOT NULL,
    fields text,
    PRIMARY KEY (collection, id),
    UNIQUE (collection, seq),
    UNIQUE (collection, revision)
  );
  CREATE TABLE holes (
    collection bigint NOT NULL,
    place bigint NOT NULL,
    alive bigint[] NOT NULL,
    PRIMARY KEY (collection, place)
  ) WITH (fillfactor = 70);
  CREATE TABLE tokens (
    id text COLLATE "C" PRIMARY KEY,
    hash text COLLATE "C" NOT NULL UNIQUE,
    name text NOT NULL,
    scopes text NOT NULL,
    created bigint NOT NULL,
    expires bigint,
    used bigint,
    revoked bigint
  );
  CREATE TABLE kept (
    name text COLLATE "C" PRIMARY KEY,
    fingerprint text NOT NULL,
    outcomes text NOT NULL,
    until bigint NOT NULL
  );
  CREATE INDEX kept_by_until ON kept (until);
`;

/** The version of the rules. */
const second: Step = `
  ALTER TABLE collections ADD COLUMN defined bigint NOT NULL DEFAULT 0;
`;

/**
 * `entries` contains the indexes of definitions: sort keys (see model/query/sort-key.ts), in byte order.
 * In `words`, each vector also contains the word that vector.ts gives its collection, so that one index
 * serves all collections. `fastupdate` is off, because every search would read the pending list.
 */
const third: Step = `
  ALTER TABLE resources ADD COLUMN owner text;
  CREATE TABLE entries (
    collection bigint NOT NULL,
    field text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    PRIMARY KEY (collection, field, key, seq)
  );
  CREATE TABLE words (
    collection bigint NOT NULL,
    seq bigint NOT NULL,
    vector tsvector NOT NULL,
    PRIMARY KEY (collection, seq)
  );
  CREATE INDEX words_by_vector ON words USING gin (vector) WITH (fastupdate = off);
`;

/** Adds the files of a resource, and the keys of all files that resources reference. */
const fourth: Step = `
  ALTER TABLE resources ADD COLUMN parts text;
  CREATE TABLE files (
    collection bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    PRIMARY KEY (collection, key)
  );
  CREATE INDEX files_by_key ON files (key);
`;

/**
 * `epochs` contains the last revision of each earlier epoch of a collection (see ../epochs.ts); the rows
 * of collection 0 are the epochs of writers. `shares_date` is 1 for existing rows, because the former
 * times are not known. Existing rows have no checksum until they are written again. Idempotency-Keys
 * expire by `key_clock` (see ../key-clock.ts).
 */
const fifth: Step = `
  CREATE TABLE epochs (
    collection bigint NOT NULL,
    epoch bigint NOT NULL,
    last bigint NOT NULL,
    PRIMARY KEY (collection, epoch)
  );
  ALTER TABLE collections ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
  ALTER TABLE collections ADD COLUMN shares_date bigint NOT NULL DEFAULT 1;
  UPDATE collections SET epoch = floor(random() * 268435456)::bigint;
  ALTER TABLE resources ADD COLUMN shares_date bigint NOT NULL DEFAULT 1;
  ALTER TABLE resources ADD COLUMN checksum bigint;
  CREATE TABLE key_clock (
    one boolean PRIMARY KEY CHECK (one),
    now bigint NOT NULL,
    seen bigint NOT NULL
  );
  INSERT INTO key_clock VALUES (true, 0, 0);
`;

/** Tokens of older versions have no subject; theirs is their id. */
const sixth: Step = "ALTER TABLE tokens ADD COLUMN subject text";

export const steps: readonly Step[] = [first, second, third, fourth, fifth, sixth];

/**
 * Migrates the database to the newest version. When many nodes start at once, one runs each step while
 * the others wait for the lock on the row of the version. Not every Postgres-compatible server has
 * advisory locks.
 */
export async function migrate(
  connection: Connection,
  schema: string,
  path: readonly Step[] = steps,
): Promise<void> {
  await connection.run((sql) => retry(() => ensureVersion(sql, schema)));
  while ((await connection.run(readVersion)) !== path.length)
    await connection.run((sql) => step(sql, path));
}

/** When two nodes create the same table at once, one fails, and finds the table in its next attempt. */
async function retry(make: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await make();
    } catch (error) {
      if (isConnectionLost(error) || attempt === maxAttempts) throw error;
      await sleep(Math.random() * 20 * attempt);
    }
}

async function ensureVersion(sql: Sql, schema: string): Promise<void> {
  const [found] = await rows(
    sql`SELECT to_regnamespace(${schema})::text, to_regclass(${`${schema}.form`})::text`,
  );
  const [namespace, table] = found ?? [];
  if (table) return;
  // Only when it is missing: a user without the right to create schemas can use an existing one.
  const makeSchema = namespace ? "" : `CREATE SCHEMA ${schema};`;
  await transact(sql, () =>
    run(
      sql,
      `${makeSchema}
       CREATE TABLE form (one boolean PRIMARY KEY CHECK (one), version integer NOT NULL);
       INSERT INTO form VALUES (true, 0)`,
    ),
  );
}

async function readVersion(sql: Sql): Promise<number> {
  const [row] = await rows<readonly [number]>(sql`SELECT version FROM form`);
  return row?.[0] ?? 0;
}

/** Runs the next step, unless another node has run it in the meantime. */
async function step(sql: Sql, path: readonly Step[]): Promise<void> {
  await transact(sql, async () => {
    const [row] = await rows<readonly [number]>(sql`SELECT version FROM form FOR UPDATE`);
    const version = row?.[0] ?? 0;
    const next = path[version];
    if (version > path.length) throw new Outage("unavailable", tooNew(version, path.length));
    if (next === undefined) return;
    await run(sql, next);
    await sql`UPDATE form SET version = ${version + 1}`;
  });
}

async function transact(sql: Sql, work: () => Promise<void>): Promise<void> {
  await sql`BEGIN`;
  try {
    await work();
  } catch (error) {
    if (!isConnectionLost(error)) await sql`ROLLBACK`;
    throw error;
  }
  await sql`COMMIT`;
}

async function run(sql: Sql, statements: string): Promise<void> {
  await sql.unsafe(statements).simple();
}

const tooNew = (version: number, newest: number): string =>
  `the database was written by a newer Restante (its schema version is ${version}, this one supports up to ${newest}): update Restante, or restore an older backup`;
