// A collection while a batch writes to it: each change judged, the counters written back at the end.

import type { Put, Remove } from "../store.ts";
import type { Connection, Query } from "./connection.ts";
import { dig, type Holes, storedHoles } from "./holes.ts";
import type { Verdict } from "./wire.ts";

type StateRow = readonly [seq: number, revision: number, created: number];

/** The statements on the tables of one collection. */
export class CollectionTables {
  readonly state: Query<StateRow>;
  readonly insert: Query<never>;
  readonly update: Query<never>;
  readonly remove: Query<never>;
  readonly remember: Query<never>;
  readonly forget: Query<never>;
  readonly lastRemoved: Query<readonly [id: string]>;
  readonly holes: Holes;

  constructor(connection: Connection, key: number) {
    const resources = `resources_${key}`;
    const removed = `removed_${key}`;
    this.state = connection.query(`SELECT seq, revision, created FROM ${resources} WHERE id = ?`);
    this.insert = connection.query(
      `INSERT INTO ${resources} (seq, id, revision, created, updated, fields)
       VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    );
    this.update = connection.query(
      `UPDATE ${resources} SET revision = ?, updated = ?, fields = ? WHERE seq = ?`,
    );
    this.remove = connection.query(`DELETE FROM ${resources} WHERE seq = ?`);
    this.remember = connection.query(`INSERT INTO ${removed} (revision, id, at) VALUES (?, ?, ?)`);
    this.forget = connection.query(`DELETE FROM ${removed} WHERE id = ?`);
    this.lastRemoved = connection.query(`SELECT id FROM ${removed} ORDER BY id DESC LIMIT 1`);
    this.holes = storedHoles(connection, key);
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
  readonly #version: number;
  readonly #tables: CollectionTables;
  readonly #holes: number[] = [];
  #isTouched = false;
  #lastRemoved: string | undefined;
  #definition: string | undefined;

  constructor(key: number, counters: Counters, version: number, tables: CollectionTables) {
    this.key = key;
    this.counters = counters;
    this.#version = version;
    this.#tables = tables;
  }

  get isTouched(): boolean {
    return this.#isTouched;
  }

  /** The rules that the batch has given it, if it has. */
  get definition(): string | undefined {
    return this.#definition;
  }

  define(definition: string): void {
    this.#definition = definition;
  }

  /** Whether these are the rules that hold. Those that the batch itself has brought nobody knows yet. */
  isJudgedBy(version: number | undefined): boolean {
    return version === undefined || (version === this.#version && this.#definition === undefined);
  }

  /** Takes the next revision. */
  touch(at: number): number {
    this.#isTouched = true;
    // A clock that was set back must not make the collection look older than it did.
    this.counters.updated = Math.max(this.counters.updated, at);
    return ++this.counters.revision;
  }

  put(change: Put): Verdict {
    if (change.expect === "nothing") return this.#create(change);
    const state = this.#tables.state.one(change.id);
    if (state) return this.#replace(change, state);
    return change.expect === "anything" ? this.#create(change) : verdict("missing");
  }

  remove({ id, at, expect }: Remove): Verdict {
    const state = this.#tables.state.one(id);
    if (!state) return verdict("missing");
    const [seq, revision] = state;
    if (expect !== "anything" && expect !== revision) return verdict("stale");
    const next = this.touch(at);
    this.counters.total--;
    this.#holes.push(seq - 1);
    this.#tables.remove.run(seq);
    this.#tables.remember.run(next, id, at);
    if (!this.#mayBeRemoved(id)) this.#lastRemoved = id;
    return ["removed", next, 0];
  }

  /** Inserts without looking first: a new id is the usual case, and looking costs as much again. */
  #create({ id, at, fields }: Put): Verdict {
    const seq = this.counters.seq + 1;
    const next = this.counters.revision + 1;
    if (this.#tables.insert.run(seq, id, next, at, at, fields) === 0) return verdict("taken");
    this.counters.seq = seq;
    this.counters.total++;
    if (this.#mayBeRemoved(id)) this.#tables.forget.run(id);
    return ["created", this.touch(at), at];
  }

  /** The ids we make (ASCII, as all are) only go up: a new one is past all that was removed. */
  #mayBeRemoved(id: string): boolean {
    this.#lastRemoved ??= this.#tables.lastRemoved.one()?.[0] ?? "";
    return id <= this.#lastRemoved;
  }

  #replace({ at, fields, expect }: Put, [seq, revision, created]: StateRow): Verdict {
    if (expect !== "anything" && expect !== revision) return verdict("stale");
    const next = this.touch(at);
    this.#tables.update.run(next, at, fields, seq);
    return ["replaced", next, created];
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
    dig(this.#tables.holes, this.#holes);
  }
}

export const verdict = (kind: Verdict[0]): Verdict => [kind, 0, 0];
