// Opens the collections that a batch writes to, and saves them at its end.

import { emptyIndexPlan, type IndexPlan, indexPlanOf } from "../../model/query/index-plan.ts";
import type { Put, Remove } from "../store.ts";
import { CollectionTables, OpenCollection, result, type VersionedPlan } from "./collection.ts";
import type { Connection, Query } from "./connection.ts";
import { EpochWriter } from "./epoch.ts";
import type { ChangeResult } from "./message-codec.ts";
import { createCollectionTables, dropCollectionTables } from "./schema.ts";

type CollectionRow = readonly [
  key: number,
  revision: number,
  seq: number,
  total: number,
  updated: number,
  epoch: number,
  /** The batch that set the definition. */
  version: number | null,
];

const noPlan: VersionedPlan = { version: 0, plan: emptyIndexPlan };

/** The number of collections with prepared statements; bounds the memory use. */
const maxPreparedCollections = 1_000;

export class OpenCollections {
  readonly #connection: Connection;
  readonly #find: Query<CollectionRow>;
  readonly #insert: Query<readonly [key: number]>;
  readonly #save: Query<never>;
  readonly #definition: Query<readonly [definition: string]>;
  readonly #saveDefinition: Query<never>;
  readonly #saveKey: Query<never>;
  readonly #epochs: EpochWriter;
  readonly #tables = new Map<number, CollectionTables>();
  readonly #open = new Map<string, OpenCollection>();
  #isAnyDropped = false;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#find = connection.query(
      `SELECT key, revision, seq, total, updated, epoch,
         (SELECT batch FROM definitions WHERE collection = key)
       FROM collections WHERE name = ?`,
    );
    this.#insert = connection.query(
      `INSERT INTO collections (key, name, revision, seq, total, created, updated, batch)
       VALUES ((SELECT keys + 1 FROM ledger), ?, 0, 0, 0, ?, ?, 0)
       RETURNING key`,
    );
    this.#saveKey = connection.query("UPDATE ledger SET keys = ?");
    this.#save = connection.query(
      `UPDATE collections SET revision = ?, seq = ?, total = ?, updated = ?, batch = ?,
         epoch = ?, shares_date = ?
       WHERE key = ?`,
    );
    this.#epochs = new EpochWriter(connection);
    this.#definition = connection.query("SELECT definition FROM definitions WHERE collection = ?");
    this.#saveDefinition = connection.query(
      "INSERT OR REPLACE INTO definitions (collection, batch, definition) VALUES (?, ?, ?)",
    );
  }

  /** Called before each batch: another process may have written to the collections since the last one. */
  reset(): void {
    this.#open.clear();
    this.#isAnyDropped = false;
  }

  find(name: string): OpenCollection | undefined {
    const open = this.#open.get(name);
    if (open) return open;
    const row = this.#find.one(name);
    if (!row) return undefined;
    const [key, revision, seq, total, updated, epoch, version] = row;
    const counters = { revision, seq, total, updated };
    const tables = this.#tablesOf(key);
    const planned = version === null ? noPlan : this.#planOf(key, version, tables);
    const collection = new OpenCollection(key, counters, epoch, planned, tables);
    this.#open.set(name, collection);
    return collection;
  }

  apply(change: Put | Remove): ChangeResult {
    const collection = this.find(change.collection);
    if (!collection) return result("missing");
    if (!collection.matchesRules(change.rules)) return result("outdated");
    return change.kind === "put" ? collection.put(change) : collection.remove(change);
  }

  /** Returns the collection, and creates it with its first revision when it does not exist. */
  create(name: string, at: number): OpenCollection {
    const known = this.find(name);
    if (known) return known;
    const [key] = this.#insert.one(name, at, at) ?? [];
    if (key === undefined) throw new Error(`collection ${name} was not inserted`);
    this.#saveKey.run(key);
    createCollectionTables(this.#connection, key);
    const collection = this.find(name);
    if (!collection) throw new Error(`collection ${name} was not found`);
    collection.touch(at);
    return collection;
  }

  define(name: string, definition: string, at: number): ChangeResult {
    const plan = indexPlanOf(definition);
    const known = this.find(name);
    const collection = known ?? this.create(name, at);
    const field = this.#follow(collection, plan);
    if (field !== undefined) return result("conflict", field);
    if (known) known.touch(at);
    collection.define(definition, plan);
    return result("done");
  }

  drop(name: string, isEmptyOnly: boolean): ChangeResult {
    const collection = this.find(name);
    if (!collection) return result("missing");
    const { key, counters } = collection;
    if (isEmptyOnly && counters.total > 0) return result("taken");
    this.#connection.run(`
      DELETE FROM collections WHERE key = ${key};
      DELETE FROM definitions WHERE collection = ${key};
      DELETE FROM files WHERE collection = ${key};
      DELETE FROM epochs WHERE collection = ${key};
    `);
    dropCollectionTables(this.#connection, key);
    this.#open.delete(name);
    this.#tables.delete(key);
    this.#isAnyDropped = true;
    return result("done");
  }

  get isAnyDropped(): boolean {
    return this.#isAnyDropped;
  }

  get areChanged(): boolean {
    return this.#isAnyDropped || this.#changed().length > 0;
  }

  /** Saves the changed collections once per batch. */
  finish(batch: number): void {
    const changed = this.#changed();
    if (changed.length === 0) return;
    const latest = this.#epochs.latest();
    for (const collection of changed) {
      const { key, counters, definition, sharesDate } = collection;
      const { revision, seq, total, updated } = counters;
      collection.finish();
      if (definition !== undefined) this.#saveDefinition.run(key, batch, definition);
      const epoch = this.#epochs.advance(collection, latest);
      this.#save.run(revision, seq, total, updated, batch, epoch, sharesDate, key);
    }
  }

  #changed(): readonly OpenCollection[] {
    return [...this.#open.values()].filter((collection) => collection.isChanged);
  }

  /** Rebuilds the indexes for the plan, or changes nothing and returns the field with a conflict. */
  #follow(collection: OpenCollection, plan: IndexPlan): string | undefined {
    if (!collection.needsRebuild(plan)) return undefined;
    this.#connection.run("SAVEPOINT define");
    const field = collection.rebuildEntries(plan);
    if (field !== undefined) this.#connection.run("ROLLBACK TO define");
    this.#connection.run("RELEASE define");
    if (field === undefined) collection.rebuildWords(plan);
    return field;
  }

  /** Reads each version of the definition once. */
  #planOf(key: number, version: number, tables: CollectionTables): VersionedPlan {
    if (tables.planned.version !== version) {
      const [definition = "{}"] = this.#definition.one(key) ?? [];
      tables.planned = { version, plan: indexPlanOf(definition) };
    }
    return tables.planned;
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
