// A collection while a batch writes to it: each change judged, the counters written back at the end.

import { emptyIndexPlan, type IndexPlan } from "../../model/query/index-plan.ts";
import { checksumOf } from "../checksum.ts";
import type { Put, Remove } from "../store.ts";
import { notBefore, sharesSecond } from "../times.ts";
import type { Connection, Query } from "./connection.ts";
import { FileReferenceWriter } from "./file-references.ts";
import { IndexWriter } from "./index-writer.ts";
import type { Verdict } from "./message-codec.ts";
import { addHoles, type Holes, storedHoles } from "./position-tree.ts";
import { resourceColumns } from "./resource.ts";

type StateRow = readonly [
  seq: number,
  revision: number,
  created: number,
  updated: number,
  owner: string | null,
  parts: string | null,
];

/** What a row has and a change may lack. */
interface Optional {
  readonly owner?: string | null;
  readonly parts?: string | null;
}

/** What was planned when this batch defined the collection. */
export interface Planned {
  readonly version: number;
  readonly plan: IndexPlan;
}

/** The statements on the tables of one collection. */
export class CollectionTables {
  readonly state: Query<StateRow>;
  readonly insert: Query<never>;
  readonly update: Query<never>;
  readonly remove: Query<never>;
  readonly remember: Query<never>;
  readonly forget: Query<never>;
  readonly lastRemoved: Query<readonly [id: string]>;
  readonly removedAt: Query<readonly [at: number]>;
  readonly holes: Holes;
  /** The plan that was last read. */
  planned: Planned = { version: 0, plan: emptyIndexPlan };
  readonly #connection: Connection;
  readonly #key: number;
  #indexes: IndexWriter | undefined;
  #names: FileReferenceWriter | undefined;

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
       SET revision = ?, updated = ?, fields = ?, parts = ?, shares_date = ?, checksum = ?
       WHERE seq = ?`,
    );
    this.remove = connection.query(`DELETE FROM ${resources} WHERE seq = ?`);
    this.remember = connection.query(`INSERT INTO ${removed} (revision, id, at) VALUES (?, ?, ?)`);
    this.forget = connection.query(`DELETE FROM ${removed} WHERE id = ?`);
    this.lastRemoved = connection.query(`SELECT id FROM ${removed} ORDER BY id DESC LIMIT 1`);
    this.removedAt = connection.query(`SELECT at FROM ${removed} WHERE id = ?`);
    this.holes = storedHoles(connection, key);
  }

  /** Made when there is a plan: most collections have none. */
  get indexes(): IndexWriter {
    this.#indexes ??= new IndexWriter(this.#connection, this.#key);
    return this.#indexes;
  }

  /** Made when there is a file: most collections have none. */
  get names(): FileReferenceWriter {
    this.#names ??= new FileReferenceWriter(this.#connection, this.#key);
    return this.#names;
  }
}

/** The last revision and seq given, how many resources are alive, when the last write happened. */
export interface Counters {
  revision: number;
  seq: number;
  total: number;
  updated: number;
}

export class OpenCollection {
  readonly key: number;
  readonly counters: Counters;
  /** Before the batch. */
  readonly before: Readonly<Counters>;
  /** The epoch of its last write before the batch (see ../epochs.ts). */
  readonly epoch: number;
  readonly #version: number;
  readonly #tables: CollectionTables;
  #plan: IndexPlan;
  /** Whether anything is to be kept beside the resources. */
  #isPlanned: boolean;
  readonly #holes: number[] = [];
  #isTouched = false;
  #lastRemoved: string | undefined;
  #definition: string | undefined;

  constructor(
    key: number,
    counters: Counters,
    epoch: number,
    { version, plan }: Planned,
    tables: CollectionTables,
  ) {
    this.key = key;
    this.counters = counters;
    this.before = { ...counters };
    this.epoch = epoch;
    this.#version = version;
    this.#tables = tables;
    this.#plan = plan;
    this.#isPlanned = isSomething(plan);
  }

  get isTouched(): boolean {
    return this.#isTouched;
  }

  /** When the resource that is at this id now was created. */
  createdAtOf(id: string): number | undefined {
    return this.#tables.state.one(id)?.[2];
  }

  /** The rules that the batch has given it, if it has. */
  get definition(): string | undefined {
    return this.#definition;
  }

  /** Whether what is kept beside the resources is not what this plan asks for. */
  isPlannedOtherwise(plan: IndexPlan): boolean {
    return JSON.stringify(plan) !== JSON.stringify(this.#plan);
  }

  /** Makes the indexes anew; or names the field in which two resources conflict. */
  rebuildEntries(plan: IndexPlan): string | undefined {
    return this.#tables.indexes.rebuildEntries(this.#plan, plan);
  }

  rebuildWords(plan: IndexPlan): void {
    this.#tables.indexes.rebuildWords(this.#plan, plan);
  }

  define(definition: string, plan: IndexPlan): void {
    this.#definition = definition;
    this.#plan = plan;
    this.#isPlanned = isSomething(plan);
  }

  /** Whether these are the rules that hold. Those that the batch itself has brought nobody knows yet. */
  isJudgedBy(version: number | undefined): boolean {
    return version === undefined || (version === this.#version && this.#definition === undefined);
  }

  /** 1 when the state before the batch has a time within the same second. */
  get sharesDate(): 0 | 1 {
    const { revision, updated } = this.before;
    return revision === 0 ? 0 : sharesSecond(updated, this.counters.updated);
  }

  /** Takes the next revision. */
  touch(at: number): number {
    this.#isTouched = true;
    // A clock that was set back must not make the collection look older than it did.
    this.counters.updated = notBefore(this.counters.updated, at);
    return ++this.counters.revision;
  }

  put(change: Put): Verdict {
    const { id, expect } = change;
    // Inserts without looking first: a new id is the usual case, and looking costs as much again.
    if (expect === "nothing" && !this.#isPlanned) return this.#create(change);
    const state = this.#tables.state.one(id);
    if (!state) return typeof expect === "number" ? verdict("missing") : this.#create(change);
    return expect === "nothing" ? verdict("taken") : this.#replace(change, state);
  }

  remove({ id, at, expect }: Remove): Verdict {
    const state = this.#tables.state.one(id);
    if (!state) return verdict("missing");
    const [seq, revision, , updated, , parts] = state;
    if (expect !== "anything" && expect !== revision) return verdict("stale");
    const time = notBefore(updated, at);
    const next = this.touch(time);
    this.counters.total--;
    this.#holes.push(seq - 1);
    if (this.#isPlanned) this.#tables.indexes.remove(this.#plan, seq);
    if (parts !== null) this.#tables.names.move(parts, undefined);
    this.#tables.remove.run(seq);
    this.#tables.remember.run(next, id, time);
    if (!this.#mayBeRemoved(id)) this.#lastRemoved = id;
    return ["removed", next, 0, "", 0, 0];
  }

  #create({ id, at, fields, ...put }: Put): Verdict {
    const { owner = null, parts = null }: Optional = put;
    const seq = this.counters.seq + 1;
    const next = this.counters.revision + 1;
    const mayBeRemoved = this.#mayBeRemoved(id);
    const [removedAt] = (mayBeRemoved && this.#tables.removedAt.one(id)) || [];
    const time = removedAt === undefined ? at : notBefore(removedAt, at);
    const sharesDate = removedAt === undefined ? 0 : sharesSecond(removedAt, time);
    if (this.#isPlanned) {
      const times = { createdAt: time, updatedAt: time };
      const resource = { id, revision: next, ...times, fields, ...ownedBy(owner) };
      const field = this.#tables.indexes.keep(this.#plan, seq, resource, true);
      if (field !== undefined) return verdict("conflict", field);
    }
    const stored = [id, next, time, time, fields, owner, parts, sharesDate] as const;
    const changed = this.#tables.insert.run(seq, ...stored, checksumOf(stored));
    if (changed === 0) return verdict("taken");
    if (parts !== null) this.#tables.names.move(undefined, parts);
    this.counters.seq = seq;
    this.counters.total++;
    if (mayBeRemoved) this.#tables.forget.run(id);
    return ["created", this.touch(time), time, owner ?? "", time, sharesDate];
  }

  /** The ids we make (ASCII, as all are) only go up: a new one is past all that was removed. */
  #mayBeRemoved(id: string): boolean {
    this.#lastRemoved ??= this.#tables.lastRemoved.one()?.[0] ?? "";
    return id <= this.#lastRemoved;
  }

  #replace({ id, at, fields, expect, ...put }: Put, state: StateRow): Verdict {
    const { parts = null }: Optional = put;
    const [seq, revision, createdAt, updated, owner, lastParts] = state;
    if (expect !== "anything" && expect !== revision) return verdict("stale");
    const time = notBefore(updated, at);
    const sharesDate = sharesSecond(updated, time);
    if (this.#isPlanned) {
      const resource = { id, revision, createdAt, updatedAt: time, fields, ...ownedBy(owner) };
      const field = this.#tables.indexes.keep(this.#plan, seq, resource, false);
      if (field !== undefined) return verdict("conflict", field);
    }
    const next = this.touch(time);
    const stored = [id, next, createdAt, time, fields, owner, parts, sharesDate] as const;
    this.#tables.update.run(next, time, fields, parts, sharesDate, checksumOf(stored), seq);
    if (lastParts !== parts) this.#tables.names.move(lastParts ?? undefined, parts ?? undefined);
    return ["replaced", next, createdAt, owner ?? "", time, sharesDate];
  }

  /** How to put back, in memory, what happens from here on: SQLite puts back the rows. */
  checkpoint(): () => void {
    const counters = { ...this.counters };
    const holeCount = this.#holes.length;
    const isTouched = this.#isTouched;
    return () => {
      Object.assign(this.counters, counters);
      this.#holes.length = holeCount;
      this.#isTouched = isTouched;
    };
  }

  /** Writes down what was gathered for the whole batch. */
  settle(): void {
    addHoles(this.#tables.holes, this.#holes);
  }
}

const isSomething = ({ indexes, searchable }: IndexPlan): boolean =>
  indexes.length > 0 || searchable.length > 0;

const ownedBy = (owner: string | null | undefined): { readonly owner?: string } =>
  typeof owner === "string" ? { owner } : {};

/** `detail` is the field of a conflict. */
export const verdict = (kind: Verdict[0], detail = ""): Verdict => [kind, 0, 0, detail, 0, 0];
