// The tables, and the steps that bring a database of any age to them.

import { setTimeout as sleep } from "node:timers/promises";
import { Outage } from "../store.ts";
import { type Connection, rows, type Sql } from "./connection.ts";
import { isLoss } from "./errors.ts";

const maxAttempts = 10;

/** The statements of a step, in one transaction with the bump of the version. */
export type Step = string;

/**
 * Every key of what is in a collection begins with the collection's, so that the tables can be spread
 * over machines by it. A resource that is gone keeps its row, without seq and fields: what changed since
 * a revision is then in one index, and every write to the table is an upsert by key. `holes` is
 * explained in holes.ts.
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
 * What definitions ask for beside the resources. `entries` are the indexes: the keys of model/key.ts, in
 * byte order. In `words`, each vector also holds the word that vector.ts gives its collection, so that
 * one index serves all collections; new words go right into it, because a list of what is pending would
 * be read by every search.
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

/** The files of a resource, and of all resources the keys of those that are named. */
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
 * `epochs` says at which revision each earlier epoch of a collection ended (see ../epochs.ts); the row
 * of collection 0 is the last epoch that a writer has begun. `shares_date` is 1 for what is there,
 * because nobody knows. What is there has no checksum until it is written again. By `key_clock` keys
 * expire (see ../key-clock.ts).
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

export const steps: readonly Step[] = [first, second, third, fourth, fifth];

/**
 * Brings the database to the newest form. Of many nodes that start at once, one takes each step while
 * the others wait for the lock on the version's row, which every engine has; advisory locks some lack.
 */
export async function migrate(
  connection: Connection,
  schema: string,
  path: readonly Step[] = steps,
): Promise<void> {
  await connection.ask((sql) => retry(() => ensureVersion(sql, schema)));
  while ((await connection.ask(readVersion)) !== path.length)
    await connection.ask((sql) => step(sql, path));
}

/** Of two nodes that make the same table at once, one fails; when it looks again, the table is there. */
async function retry(make: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++)
    try {
      return await make();
    } catch (error) {
      if (isLoss(error) || attempt === maxAttempts) throw error;
      await sleep(Math.random() * 20 * attempt);
    }
}

async function ensureVersion(sql: Sql, schema: string): Promise<void> {
  const [found] = await rows(
    sql`SELECT to_regnamespace(${schema})::text, to_regclass(${`${schema}.form`})::text`,
  );
  const [namespace, table] = found ?? [];
  if (table) return;
  // Asked for only where it is missing: a user who may not make schemas can be given one.
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

/** Takes the next step, unless another node has taken it meanwhile. */
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
    if (!isLoss(error)) await sql`ROLLBACK`;
    throw error;
  }
  await sql`COMMIT`;
}

async function run(sql: Sql, statements: string): Promise<void> {
  await sql.unsafe(statements).simple();
}

const tooNew = (version: number, newest: number): string =>
  `the database was written by a newer Restante (its form is ${version}, this one knows up to ${newest}): update Restante, or restore an older backup`;
