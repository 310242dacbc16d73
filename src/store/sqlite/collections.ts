// The collections that a batch writes to: found by name, written back at its end.

import { emptyIndexPlan, type IndexPlan, indexPlanOf } from "../../model/query/index-plan.ts";
import type { Put, Remove } from "../store.ts";
import { CollectionTables, OpenCollection, type Planned, verdict } from "./collection.ts";
import type { Connection, Query } from "./connection.ts";
import { EpochWriter } from "./epoch.ts";
import type { Verdict } from "./message-codec.ts";
import { createCollectionTables, dropCollectionTables } from "./schema.ts";

type CollectionRow = readonly [
  key: number,
  revision: number,
  seq: number,
  total: number,
  updated: number,
  epoch: number,
  /** Which batch defined it. */
  version: number | null,
];

const notPlanned: Planned = { version: 0, plan: emptyIndexPlan };

/** Statements are kept prepared for this many collections: memory must have an end. */
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

  /** Forgets those of the batch before: another process may have written to them since. */
  forget(): void {
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
    const planned = version === null ? notPlanned : this.#plannedBy(key, version, tables);
    const collection = new OpenCollection(key, counters, epoch, planned, tables);
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
    if (key === undefined) throw new Error(`collection ${name} was not inserted`);
    this.#saveKey.run(key);
    createCollectionTables(this.#connection, key);
    const collection = this.find(name);
    if (!collection) throw new Error(`collection ${name} is not there`);
    collection.touch(at);
    return collection;
  }

  define(name: string, definition: string, at: number): Verdict {
    const plan = indexPlanOf(definition);
    const known = this.find(name);
    const collection = known ?? this.found(name, at);
    const field = this.#follow(collection, plan);
    if (field !== undefined) return verdict("conflict", field);
    if (known) known.touch(at);
    collection.define(definition, plan);
    return verdict("done");
  }

  drop(name: string, isEmptyOnly: boolean): Verdict {
    const collection = this.find(name);
    if (!collection) return verdict("missing");
    const { key, counters } = collection;
    if (isEmptyOnly && counters.total > 0) return verdict("taken");
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
    return verdict("done");
  }

  get isAnyDropped(): boolean {
    return this.#isAnyDropped;
  }

  get areTouched(): boolean {
    return this.#isAnyDropped || this.#touched().length > 0;
  }

  /** Writes down once what the whole batch has moved. */
  settle(batch: number): void {
    const touched = this.#touched();
    if (touched.length === 0) return;
    const latest = this.#epochs.latest();
    for (const collection of touched) {
      const { key, counters, definition, sharesDate } = collection;
      const { revision, seq, total, updated } = counters;
      collection.settle();
      if (definition !== undefined) this.#saveDefinition.run(key, batch, definition);
      const epoch = this.#epochs.follow(collection, latest);
      this.#save.run(revision, seq, total, updated, batch, epoch, sharesDate, key);
    }
  }

  #touched(): readonly OpenCollection[] {
    return [...this.#open.values()].filter((collection) => collection.isTouched);
  }

  /** Brings what is kept beside the resources in line with the plan, or leaves all as it was. */
  #follow(collection: OpenCollection, plan: IndexPlan): string | undefined {
    if (!collection.isPlannedOtherwise(plan)) return undefined;
    this.#connection.run("SAVEPOINT define");
    const field = collection.rebuildEntries(plan);
    if (field !== undefined) this.#connection.run("ROLLBACK TO define");
    this.#connection.run("RELEASE define");
    if (field === undefined) collection.rebuildWords(plan);
    return field;
  }

  /** Read from the definition once for each that there is. */
  #plannedBy(key: number, version: number, tables: CollectionTables): Planned {
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
