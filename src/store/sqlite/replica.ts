// A database that follows another store, step by step, in a file that nobody else opens before it is published.

import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { noWrites } from "../core/writes.ts";
import { keyOf, type SourceRow, type SourceTable, shapeOf } from "../transfer/source-tables.ts";
import {
  CannotLoad,
  type Replica,
  type ReplicaWrites,
  type Snapshot,
  type SourceCollection,
} from "../transfer/transfer.ts";
import { Connection, type PreparedQuery } from "./connection.ts";
import { deleteParts } from "./delete-parts.ts";
import { acceptCopy, createFile, type DatabaseFile, finishSwap, prepareFile } from "./file.ts";
import { insertCollection, writeWhole } from "./loader.ts";
import { assertOnDisk } from "./on-disk.ts";
import { RowWriter } from "./row-writer.ts";
import { createTables } from "./schema.ts";
import { readSnapshot } from "./snapshot.ts";

/** Whether the folder has what an interrupted copy has left. */
export const hasReplica = (folder: string): boolean => existsSync(join(folder, "restante.copy"));

/** Begins a copy of the store with this id, or goes on with it. The caller owns the folder. */
export function openSqliteReplica(folder: string, storeId: string): Replica {
  const file = prepareFile(folder);
  takeBack(file);
  createFile(file.copy);
  const connection = new Connection(file.copy, "replica");
  try {
    createTables(connection);
    requireSame(connection, storeId);
    for (const _ of deleteParts(connection));
    return new SqliteReplica(file, connection);
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** A copy that was published when its process was killed, but whose folder has no name yet, goes on. */
function takeBack({ fresh, path, copy }: DatabaseFile): void {
  for (const published of [path, fresh])
    if ((statSync(published, { throwIfNoEntry: false })?.size ?? 0) > 0)
      renameSync(published, copy);
}

/** A new database has no collections, and an id of its own. */
function requireSame(connection: Connection, storeId: string): void {
  const [found] = connection.query("SELECT id FROM store").one() ?? [];
  if (found === storeId) return;
  if (connection.query("SELECT 1 FROM collections").one())
    throw new CannotLoad(
      "an unfinished copy of another store is there: delete it, or go elsewhere",
    );
  connection.query("UPDATE store SET id = ?").run(storeId);
}

/** Index rows are all over the tables: a page that several writes change is written once for all of them. */
const writesPerCommit = 4;

class SqliteReplica implements Replica {
  readonly #file: DatabaseFile;
  readonly #connection: Connection;
  readonly #rows: RowWriter;
  readonly #tables = new Map<SourceTable, TableWriter>();
  /** The writes of the transaction that is open. */
  #pending = 0;
  #isClosed = false;

  constructor(file: DatabaseFile, connection: Connection) {
    this.#file = file;
    this.#connection = connection;
    this.#rows = new RowWriter(connection);
  }

  async state(): Promise<Snapshot> {
    return { ...readSnapshot(this.#connection), close: async () => undefined };
  }

  async begin(collection: SourceCollection): Promise<void> {
    this.#commit();
    this.#connection.transact(() => insertCollection(this.#connection, this.#rows, collection));
  }

  async remove(collection: Pick<SourceCollection, "name" | "part">): Promise<void> {
    this.#commit();
    this.#connection.transact(() =>
      this.#rows.write({ ...noWrites, deletedCollections: [collection] }),
    );
    for (const _ of deleteParts(this.#connection));
  }

  async write(writes: ReplicaWrites): Promise<void> {
    const { table, deleted, inserted, derived, tree, isNewTree } = writes;
    const { part } = derived;
    const writer = this.#tables.get(table) ?? new TableWriter(this.#connection, table);
    this.#tables.set(table, writer);
    if (this.#pending === 0) this.#connection.run("BEGIN IMMEDIATE");
    for (const row of deleted) writer.delete(part, row);
    for (const row of inserted) writer.insert(part, row);
    this.#rows.writePart(derived);
    if (isNewTree) this.#connection.query("DELETE FROM positions WHERE part = ?").run(part);
    for (const row of tree) this.#rows.positions.write(part, row);
    if (++this.#pending >= writesPerCommit) this.#commit();
  }

  async finish(state: Pick<Snapshot, "store" | "collections" | "tokens">): Promise<void> {
    this.#commit();
    this.#connection.transact(() => {
      this.#connection.run("DELETE FROM collections; DELETE FROM heads; DELETE FROM builds");
      for (const collection of state.collections)
        insertCollection(this.#connection, this.#rows, collection);
      writeWhole(this.#connection, state);
    });
  }

  async publish(): Promise<void> {
    this.#commit();
    this.#connection.query("PRAGMA wal_checkpoint(TRUNCATE)").all();
    await this.close();
    assertOnDisk(this.#file.copy);
    acceptCopy(this.#file);
    // It counts the commits of another database.
    rmSync(this.#file.commitCounter, { force: true });
    finishSwap(this.#file);
  }

  /** What is not committed yet is copied again by the next process. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#connection.close();
  }

  #commit(): void {
    if (this.#pending > 0) this.#connection.run("COMMIT");
    this.#pending = 0;
  }
}

class TableWriter {
  readonly #table: SourceTable;
  readonly #insert: PreparedQuery<never>;
  readonly #delete: PreparedQuery<never>;

  constructor(connection: Connection, table: SourceTable) {
    const { from = table, columns, key } = shapeOf(table);
    this.#table = table;
    this.#insert = connection.query(
      `INSERT INTO ${from} (part, ${columns.join()}) VALUES (?, ${columns.map(() => "?").join()})`,
    );
    this.#delete = connection.query(
      `DELETE FROM ${from} WHERE part = ? AND ${key.map((name) => `${name} = ?`).join(" AND ")}`,
    );
  }

  insert(part: number, row: SourceRow): void {
    this.#insert.run(part, ...row);
  }

  delete(part: number, row: SourceRow): void {
    this.#delete.run(part, ...keyOf(this.#table, row));
  }
}
