// Applies the changes of a batch to one collection, and writes its counters at the end.

import { emptyIndexPlan, type IndexPlan } from "../../model/query/index-plan.ts";
import { checksumOf } from "../core/checksum.ts";
import { notBefore, sharesSecond } from "../core/times.ts";
import type { Put, Remove } from "../store.ts";
import type { Connection, Query } from "./connection.ts";
import { FileReferenceWriter } from "./file-references.ts";
import { IndexWriter } from "./index-writer.ts";
import type { ChangeResult } from "./message-codec.ts";
import { addRemovedPositions, type PositionTree, storedTree } from "./position-tree.ts";
import { resourceColumns } from "./resource.ts";

type StateRow = readonly [
  seq: number,
  revision: number,
  created: number,
  updated: number,
  owner: string | null,
  parts: string | null,
];

/** The columns that a change may not set. */
interface Optional {
  readonly owner?: string | null;
  readonly setOwner?: string | null;
  readonly parts?: string | null;
}

/** The index plan of a version of the definition. */
export interface VersionedPlan {
  readonly version: number;
  readonly plan: IndexPlan;
}

/** The statements on the tables of one collection. */
export class CollectionTables {
  readonly state: Query<StateRow>;
  readonly insert: Query<never>;
  readonly update: Query<never>;
  readonly remove: Query<never>;
  readonly insertTombstone: Query<never>;
  readonly deleteTombstone: Query<never>;
  readonly lastRemoved: Query<readonly [id: string]>;
  readonly removedAt: Query<readonly [at: number]>;
  readonly positionTree: PositionTree;
  /** The plan that was read last. */
  planned: VersionedPlan = { version: 0, plan: emptyIndexPlan };
  readonly #connection: Connection;
  readonly #key: number;
  #indexes: IndexWriter | undefined;
  #fileReferences: FileReferenceWriter | undefined;

  constructor(connection: Connection, key: number) {
    this.#connection = connection;
    this.#key = key;
    const resources = `resources_${key}`;
    const removed = `removed_${key}`;
    this.state = connection.query(
      `SELECT seq, revision, created, updated, owner, parts FROM ${resources} WHERE id = ?`,
    );
    this.insert = connection.query(
      `INSERT INTO ${resources} (seq, ${resourceColumns})
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    );
    this.update = connection.query(
      `UPDATE ${resources}
       SET revision = ?, updated = ?, fields = ?, owner = ?, parts = ?, shares_date = ?,
         checksum = ?
       WHERE seq = ?`,
    );
    this.remove = connection.query(`DELETE FROM ${resources} WHERE seq = ?`);
    this.insertTombstone = connection.query(
      `INSERT INTO ${removed} (revision, id, at) VALUES (?, ?, ?)`,
    );
    this.deleteTombstone = connection.query(`DELETE FROM ${removed} WHERE id = ?`);
    this.lastRemoved = connection.query(`SELECT id FROM ${removed} ORDER BY id DESC LIMIT 1`);
    this.removedAt = connection.query(`SELECT at FROM ${removed} WHERE id = ?`);
    this.positionTree = storedTree(connection, key);
  }

  /** Created on first use: most collections have no indexes. */
  get indexes(): IndexWriter {
    this.#indexes ??= new IndexWriter(this.#connection, this.#key);
    return this.#indexes;
  }

  /** Created on first use: most collections have no files. */
  get fileReferences(): FileReferenceWriter {
    this.#fileReferences ??= new FileReferenceWriter(this.#connection, this.#key);
    return this.#fileReferences;
  }
}

/** The last revision and seq, the number of resources, and the time of the last write. */
export interface Counters {
  revision: number;
  seq: number;
  total: number;
  updated: number;
}

export class OpenCollection {
  readonly key: number;
  readonly counters: Counters;
  /** The counters before the batch. */
  readonly before: Readonly<Counters>;
  /** The epoch of the last write before the batch (see ../epochs.ts). */
  readonly epoch: number;
  readonly #version: number;
  readonly #tables: CollectionTables;
  #plan: IndexPlan;
  /** Whether the collection has indexes or searchable fields. */
  #hasIndexes: boolean;
  readonly #removedPositions: number[] = [];
  #isChanged = false;
  #lastRemoved: string | undefined;
  #definition: string | undefined;

  constructor(
    key: number,
    counters: Counters,
    epoch: number,
    { version, plan }: VersionedPlan,
    tables: CollectionTables,
  ) {
    this.key = key;
    this.counters = counters;
    this.before = { ...counters };
    this.epoch = epoch;
    this.#version = version;
    this.#tables = tables;
    this.#plan = plan;
    this.#hasIndexes = isNotEmpty(plan);
  }

  get isChanged(): boolean {
    return this.#isChanged;
  }

  /** Returns the creation time of the resource with this id, if it exists. */
  createdAtOf(id: string): number | undefined {
    return this.#tables.state.one(id)?.[2];
  }

  /** The definition that the batch has set, if any. */
  get definition(): string | undefined {
    return this.#definition;
  }

  /** Whether the indexes have to be rebuilt for this plan. */
  needsRebuild(plan: IndexPlan): boolean {
    return JSON.stringify(plan) !== JSON.stringify(this.#plan);
  }

  /** Rebuilds the indexes, or returns the field in which two resources conflict. */
  rebuildEntries(plan: IndexPlan): string | undefined {
    return this.#tables.indexes.rebuildEntries(this.#plan, plan);
  }

  rebuildWords(plan: IndexPlan): void {
    this.#tables.indexes.rebuildWords(this.#plan, plan);
  }

  define(definition: string, plan: IndexPlan): void {
    this.#definition = definition;
    this.#plan = plan;
    this.#hasIndexes = isNotEmpty(plan);
  }

  /** Whether the version is current. No caller can know rules that this batch has set. */
  matchesRules(version: number | undefined): boolean {
    return version === undefined || (version === this.#version && this.#definition === undefined);
  }

  /** 1 when the state before the batch has a time within the same second. */
  get sharesDate(): 0 | 1 {
    const { revision, updated } = this.before;
    return revision === 0 ? 0 : sharesSecond(updated, this.counters.updated);
  }

  /** Increments the revision. */
  touch(at: number): number {
    this.#isChanged = true;
    // A clock that was set back must not make the collection look older.
    this.counters.updated = notBefore(this.counters.updated, at);
    return ++this.counters.revision;
  }

  put(change: Put): ChangeResult {
    const { id, expect } = change;
    // Inserts without a lookup: a new id is the usual case, and a lookup would double the cost.
    if (expect === "nothing" && !this.#hasIndexes) return this.#create(change);
    const state = this.#tables.state.one(id);
    if (!state) return typeof expect === "number" ? result("missing") : this.#create(change);
    return expect === "nothing" ? result("taken") : this.#replace(change, state);
  }

  remove({ id, at, expect }: Remove): ChangeResult {
    const state = this.#tables.state.one(id);
    if (!state) return result("missing");
    const [seq, revision, , updated, , parts] = state;
    if (expect !== "anything" && expect !== revision) return result("stale");
    const time = notBefore(updated, at);
    const next = this.touch(time);
    this.counters.total--;
    this.#removedPositions.push(seq - 1);
    if (this.#hasIndexes) this.#tables.indexes.remove(this.#plan, seq);
    if (parts !== null) this.#tables.fileReferences.update(parts, undefined);
    this.#tables.remove.run(seq);
    this.#tables.insertTombstone.run(next, id, time);
    if (!this.#mayBeRemoved(id)) this.#lastRemoved = id;
    return ["removed", next, 0, "", 0, 0];
  }

  #create({ id, at, fields, ...put }: Put): ChangeResult {
    const { owner: creator = null, setOwner: owner = creator, parts = null }: Optional = put;
    const seq = this.counters.seq + 1;
    const next = this.counters.revision + 1;
    const mayBeRemoved = this.#mayBeRemoved(id);
    const [removedAt] = (mayBeRemoved && this.#tables.removedAt.one(id)) || [];
    const time = removedAt === undefined ? at : notBefore(removedAt, at);
    const sharesDate = removedAt === undefined ? 0 : sharesSecond(removedAt, time);
    if (this.#hasIndexes) {
      const times = { createdAt: time, updatedAt: time };
      const resource = { id, revision: next, ...times, fields, ...ownedBy(owner) };
      const field = this.#tables.indexes.save(this.#plan, seq, resource, true);
      if (field !== undefined) return result("conflict", field);
    }
    const stored = [id, next, time, time, fields, owner, parts, sharesDate] as const;
    const changed = this.#tables.insert.run(seq, ...stored, checksumOf(stored));
    if (changed === 0) return result("taken");
    if (parts !== null) this.#tables.fileReferences.update(undefined, parts);
    this.counters.seq = seq;
    this.counters.total++;
    if (mayBeRemoved) this.#tables.deleteTombstone.run(id);
    return ["created", this.touch(time), time, owner ?? "", time, sharesDate];
  }

  /** Generated ids only increase (all ids are ASCII), so a new one is greater than all removed ones. */
  #mayBeRemoved(id: string): boolean {
    this.#lastRemoved ??= this.#tables.lastRemoved.one()?.[0] ?? "";
    return id <= this.#lastRemoved;
  }

  #replace({ id, at, fields, expect, ...put }: Put, state: StateRow): ChangeResult {
    const [seq, revision, createdAt, updated, lastOwner, lastParts] = state;
    const { setOwner: owner = lastOwner, parts = null }: Optional = put;
    if (expect !== "anything" && expect !== revision) return result("stale");
    const time = notBefore(updated, at);
    const sharesDate = sharesSecond(updated, time);
    if (this.#hasIndexes) {
      const resource = { id, revision, createdAt, updatedAt: time, fields, ...ownedBy(owner) };
      const field = this.#tables.indexes.save(this.#plan, seq, resource, false);
      if (field !== undefined) return result("conflict", field);
    }
    const next = this.touch(time);
    const stored = [id, next, createdAt, time, fields, owner, parts, sharesDate] as const;
    const content = [fields, owner, parts, sharesDate] as const;
    this.#tables.update.run(next, time, ...content, checksumOf(stored), seq);
    if (lastParts !== parts)
      this.#tables.fileReferences.update(lastParts ?? undefined, parts ?? undefined);
    return ["replaced", next, createdAt, owner ?? "", time, sharesDate];
  }

  /** Returns a function that restores the state in memory. SQLite restores the rows. */
  checkpoint(): () => void {
    const counters = { ...this.counters };
    const removedCount = this.#removedPositions.length;
    const isChanged = this.#isChanged;
    return () => {
      Object.assign(this.counters, counters);
      this.#removedPositions.length = removedCount;
      this.#isChanged = isChanged;
    };
  }

  /** Writes what was collected for the whole batch. */
  finish(): void {
    addRemovedPositions(this.#tables.positionTree, this.#removedPositions);
  }
}

const isNotEmpty = ({ indexes, searchable }: IndexPlan): boolean =>
  indexes.length > 0 || searchable.length > 0;

const ownedBy = (owner: string | null | undefined): { readonly owner?: string } =>
  typeof owner === "string" ? { owner } : {};

/** `detail` is the field of a conflict. */
export const result = (kind: ChangeResult[0], detail = ""): ChangeResult => [
  kind,
  0,
  0,
  detail,
  0,
  0,
];
