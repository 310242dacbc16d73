// The collections that a batch writes to: found by name, written back at its end.

import type { Put, Remove } from "../store.ts";
import { CollectionTables, OpenCollection, verdict } from "./collection.ts";
import type { Connection, Query } from "./connection.ts";
import { createCollectionTables } from "./schema.ts";
import type { Verdict } from "./wire.ts";

type CollectionRow = readonly [
  key: number,
  revision: number,
  seq: number,
  total: number,
  updated: number,
  /** Which batch defined it. */
  version: number | null,
];

/** Statements are kept prepared for this many collections: memory must have an end. */
const maxPreparedCollections = 1_000;

export class OpenCollections {
  readonly #connection: Connection;
  readonly #find: Query<CollectionRow>;
  readonly #insert: Query<readonly [key: number]>;
  readonly #save: Query<never>;
  readonly #saveDefinition: Query<never>;
  readonly #tables = new Map<number, CollectionTables>();
  readonly #open = new Map<string, OpenCollection>();

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#find = connection.query(
      `SELECT key, revision, seq, total, updated,
         (SELECT batch FROM definitions WHERE collection = key)
       FROM collections WHERE name = ?`,
    );
    this.#insert = connection.query(
      `INSERT INTO collections (name, revision, seq, total, created, updated, batch)
       VALUES (?, 0, 0, 0, ?, ?, 0) RETURNING key`,
    );
    this.#save = connection.query(
      `UPDATE collections SET revision = ?, seq = ?, total = ?, updated = ?, batch = ?
       WHERE key = ?`,
    );
    this.#saveDefinition = connection.query(
      "INSERT OR REPLACE INTO definitions (collection, batch, definition) VALUES (?, ?, ?)",
    );
  }

  /** Forgets those of the batch before: another process may have written to them since. */
  forget(): void {
    this.#open.clear();
  }

  find(name: string): OpenCollection | undefined {
    const open = this.#open.get(name);
    if (open) return open;
    const row = this.#find.one(name);
    if (!row) return undefined;
    const [key, revision, seq, total, updated, version] = row;
    const counters = { revision, seq, total, updated };
    const collection = new OpenCollection(key, counters, version ?? 0, this.#tablesOf(key));
    this.#open.set(name, collection);
    return collection;
  }

  judge(change: Put | Remove): Verdict {
    const collection = this.find(change.collection);
    if (!collection) return verdict("missing");
    if (!collection.isJudgedBy(change.rules)) return verdict("outdated");
    return change.kind === "put" ? collection.put(change) : collection.remove(change);
  }

  /** Finds the collection, or brings it into being with its first revision. */
  found(name: string, at: number): OpenCollection {
    const known = this.find(name);
    if (known) return known;
    const [key] = this.#insert.one(name, at, at) ?? [];
    if (key !== undefined) createCollectionTables(this.#connection, key);
    const collection = this.find(name);
    if (!collection) throw new Error(`collection ${name} was not inserted`);
    collection.touch(at);
    return collection;
  }

  define(name: string, definition: string, at: number): void {
    this.find(name)?.touch(at);
    this.found(name, at).define(definition);
  }

  get areTouched(): boolean {
    return this.#touched().length > 0;
  }

  /** Writes down once what the whole batch has moved. */
  settle(batch: number): void {
    for (const collection of this.#touched()) {
      const { key, counters, definition } = collection;
      const { revision, seq, total, updated } = counters;
      collection.settle();
      if (definition !== undefined) this.#saveDefinition.run(key, batch, definition);
      this.#save.run(revision, seq, total, updated, batch, key);
    }
  }

  #touched(): readonly OpenCollection[] {
    return [...this.#open.values()].filter((collection) => collection.isTouched);
  }

  #tablesOf(key: number): CollectionTables {
    const known = this.#tables.get(key);
    if (known) return known;
    if (this.#tables.size === maxPreparedCollections) this.#tables.clear();
    const tables = new CollectionTables(this.#connection, key);
    this.#tables.set(key, tables);
    return tables;
  }
}
