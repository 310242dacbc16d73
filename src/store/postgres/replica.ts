// A store that follows another one, step by step, in a schema of its own before it is published.

import { setTimeout as sleep } from "node:timers/promises";
import { type EngineWrites, noPartWrites, noWrites } from "../core/writes.ts";
import {
  isTextColumn,
  keyOf,
  type SourceRow,
  type SourceTable,
  shapeOf,
} from "../transfer/source-tables.ts";
import {
  CannotLoad,
  type Replica,
  type ReplicaWrites,
  type Snapshot,
  type SourceCollection,
} from "../transfer/transfer.ts";
import { Connection, rows, type Sql, type Statement } from "./connection.ts";
import { deleteByKeys } from "./delete-rows.ts";
import { deleteParts } from "./deleted-parts.ts";
import { outageOf } from "./errors.ts";
import { saveState } from "./loader.ts";
import { prepare } from "./open.ts";
import { readSnapshot } from "./snapshot.ts";
import { begin, commit, rollback } from "./transaction.ts";
import { sendWrites } from "./writes.ts";

export interface ReplicaOptions {
  readonly url: string;
  readonly schema?: string;
}

const schemaOf = (schema: string) => `${schema}_copying`;

/** Begins a copy of the store with this id, or goes on with it. Rejects when the database has a store. */
export async function openPostgresReplica(
  { url, schema = "restante" }: ReplicaOptions,
  storeId: string,
): Promise<Replica> {
  const options = { url, schema: schemaOf(schema), deadlineMs: 0 };
  const connection = await Connection.open(options);
  let holder: Connection | undefined;
  try {
    const isThere = await connection.run((sql) => requireEmpty(sql, schema));
    // An empty store of another version is migrated or refused.
    if (isThere) await prepare({ ...options, schema }, () => undefined);
    await prepare(options, () => undefined);
    holder = await Connection.open(options);
    await lock(holder);
    // The commit of the publication syncs what was committed before it.
    await connection.run((sql) => rows(sql`SELECT set_config('synchronous_commit', 'off', false)`));
    await connection.run((sql) => requireSame(sql, storeId));
    const replica = new PostgresReplica(schema, connection, holder);
    await replica.deleteRemoved();
    return replica;
  } catch (error) {
    connection.destroy();
    holder?.destroy();
    throw error;
  }
}

/** Returns whether there are tables of a store. Throws when it is not empty. */
async function requireEmpty(sql: Sql, schema: string): Promise<boolean> {
  const [tables] = await rows(sql`SELECT to_regclass(${`${schema}.collections`})::text`);
  if (!tables?.[0]) return false;
  const found = await rows(sql`
    (SELECT 1::bigint FROM ${sql(schema)}.collections LIMIT 1)
    UNION ALL (SELECT 1 FROM ${sql(schema)}.tokens LIMIT 1)`);
  if (found.length > 0) throw new CannotLoad("the database is not empty: choose another one");
  return true;
}

/** The server may need a moment to notice that a process was killed. */
const lockTries = 50;
const lockPauseMs = 100;

/** Two copies must not write to the same schema. The lock ends with the publication or the connection. */
async function lock(holder: Connection): Promise<void> {
  for (let attempt = 0; attempt < lockTries; attempt++) {
    try {
      await holder.run(begin);
      await holder.run((sql) => rows(sql`LOCK TABLE store IN SHARE UPDATE EXCLUSIVE MODE NOWAIT`));
      return;
    } catch (error) {
      if (outageOf(error)?.reason !== "busy") throw error;
      await rollback(holder);
      await sleep(lockPauseMs);
    }
  }
  throw new CannotLoad("another process is copying to this database");
}

/** A new store has no collections, and an id of its own. */
async function requireSame(sql: Sql, storeId: string): Promise<void> {
  const [found] = await rows(sql`SELECT id FROM store WHERE one`);
  if (found?.[0] === storeId) return;
  const collections = await rows(sql`SELECT 1::bigint FROM collections LIMIT 1`);
  if (collections.length > 0)
    throw new CannotLoad(
      "an unfinished copy of another store is there: drop its schema, which ends with _copying",
    );
  await rows(sql`UPDATE store SET id = ${storeId} WHERE one`);
}

class PostgresReplica implements Replica {
  readonly #schema: string;
  readonly #connection: Connection;
  readonly #holder: Connection;

  constructor(schema: string, connection: Connection, holder: Connection) {
    this.#schema = schema;
    this.#connection = connection;
    this.#holder = holder;
  }

  async state(): Promise<Snapshot> {
    const snapshot = await this.#connection.run((sql) => readSnapshot(this.#connection, sql));
    return { ...snapshot, close: async () => undefined };
  }

  begin(collection: SourceCollection): Promise<void> {
    return commit(this.#connection, (sql) => [begin(sql), ...insertCollections(sql, [collection])]);
  }

  async remove(collection: Pick<SourceCollection, "name" | "part">): Promise<void> {
    const writes = { ...noWrites, deletedCollections: [collection] };
    await commit(this.#connection, (sql) => [begin(sql), ...sendWrites(sql, writes, new Map())]);
    await this.deleteRemoved();
  }

  deleteRemoved(): Promise<void> {
    return deleteParts(
      (work) => work(this.#connection),
      () => false,
    );
  }

  write({ table, deleted, inserted, derived, tree, isNewTree }: ReplicaWrites): Promise<void> {
    const { part } = derived;
    const writes: EngineWrites = { ...noWrites, parts: [derived] };
    return commit(this.#connection, (sql) => [
      begin(sql),
      ...(deleted.length > 0 ? [rows(deleteRows(sql, part, table, deleted))] : []),
      ...(inserted.length > 0 ? [rows(insertRows(sql, part, table, inserted))] : []),
      ...(isNewTree ? [rows(sql`DELETE FROM positions WHERE part = ${part}::bigint`)] : []),
      ...sendWrites(sql, writes, new Map([[part, tree]])),
    ]);
  }

  finish({
    store,
    collections,
    tokens,
  }: Pick<Snapshot, "store" | "collections" | "tokens">): Promise<void> {
    return commit(this.#connection, (sql) => [
      begin(sql),
      ...["collections", "heads", "builds", "tokens", "token_uses"].map((name) =>
        rows(sql`DELETE FROM ${sql(name)}`),
      ),
      ...insertCollections(sql, collections),
      ...sendWrites(sql, { ...noWrites, tokens }, new Map()),
      rows(sql`UPDATE store SET id = ${store.id}, epoch = ${store.epoch}::bigint WHERE one`),
    ]);
  }

  /** Tables keep their rows and indexes when they change their schema. */
  async publish(): Promise<void> {
    const from = schemaOf(this.#schema);
    await this.#holder.run(async (sql) => {
      const names = await tablesIn(sql, from);
      await this.#makeRoom(sql, names);
      for (const name of names)
        await rows(sql`ALTER TABLE ${sql(from)}.${sql(name)} SET SCHEMA ${sql(this.#schema)}`);
      await rows(sql`DROP SCHEMA ${sql(from)}`);
    });
    await commit(this.#holder, () => []);
  }

  async close(): Promise<void> {
    await Promise.all([this.#connection.close(), this.#holder.close()]);
  }

  /** Drops the tables of a store that was opened and is still empty. */
  async #makeRoom(sql: Sql, wanted: readonly string[]): Promise<void> {
    const schema = this.#schema;
    const [found] = await rows(sql`SELECT to_regnamespace(${schema})::text`);
    if (!found?.[0]) {
      await rows(sql`CREATE SCHEMA ${sql(schema)}`);
      return;
    }
    const names = (await tablesIn(sql, schema)).filter((name) => wanted.includes(name));
    for (const name of names)
      await rows(sql`LOCK TABLE ${sql(schema)}.${sql(name)} IN ACCESS EXCLUSIVE MODE`);
    await requireEmpty(sql, schema);
    for (const name of names) await rows(sql`DROP TABLE ${sql(schema)}.${sql(name)}`);
  }
}

async function tablesIn(sql: Sql, schema: string): Promise<readonly string[]> {
  const found = await rows<readonly [string]>(sql`
    SELECT tablename::text FROM pg_catalog.pg_tables WHERE schemaname = ${schema}`);
  return found.map(([name]) => name);
}

const insertCollections = (
  sql: Sql,
  collections: readonly SourceCollection[],
): readonly Promise<unknown>[] => {
  const writes: EngineWrites = {
    ...noWrites,
    collections: collections.map((each) => ({ ...each, build: undefined, isDefined: true })),
    parts: collections.map(({ part, head }) => noPartWrites(part, head, true)),
  };
  return [
    ...sendWrites(sql, writes, new Map()),
    ...collections.flatMap((each) => saveState(sql, each)),
  ];
};

function insertRows(
  sql: Sql,
  part: number,
  table: SourceTable,
  inserted: readonly SourceRow[],
): Statement {
  const { columns } = shapeOf(table);
  return sql`
    INSERT INTO ${sql(table)} (part, ${namesOf(sql, columns)})
    SELECT ${part}::bigint, * FROM unnest(${arraysOf(sql, columns, inserted)})`;
}

function deleteRows(
  sql: Sql,
  part: number,
  table: SourceTable,
  deleted: readonly SourceRow[],
): Statement {
  const { key } = shapeOf(table);
  const keys = deleted.map((row) => keyOf(table, row));
  const arrays = key.map((name, place) => [name, arrayOf(sql, name, place, keys)]);
  return deleteByKeys(sql, part, table, Object.fromEntries(arrays));
}

const namesOf = (sql: Sql, names: readonly string[]): Statement =>
  names.map((name) => sql`${sql(name)}`).reduce((one, other) => sql`${one}, ${other}`);

/** One array for each column. */
const arraysOf = (sql: Sql, columns: readonly string[], from: readonly SourceRow[]): Statement =>
  columns
    .map((name, place) => arrayOf(sql, name, place, from))
    .reduce((one, other) => sql`${one}, ${other}`);

function arrayOf(sql: Sql, name: string, place: number, from: readonly SourceRow[]): Statement {
  const values = from.map((row) => row[place] ?? null);
  return isTextColumn(name) ? sql`${values}::text[]` : sql`${values}::bigint[]`;
}
