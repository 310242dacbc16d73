// Reads collections: their rows and the heads of their parts, and holds one as it was last read.

import type { Collection, Rules } from "../../model/collection.ts";
import type { IndexPlan } from "../../model/query/index-plan.ts";
import { type IndexBuild, plansOf } from "../core/index-build.ts";
import type { Head } from "../core/rows.ts";
import { BuildReader } from "./builds.ts";
import type { Connection, PreparedQuery } from "./connection.ts";

export interface CollectionRow {
  readonly name: string;
  readonly part: number;
  readonly definition: string;
  readonly version: number;
  readonly createdAt: number;
  /** The names of the collections that refer to this one. */
  readonly referrers: readonly string[];
  readonly build?: IndexBuild | undefined;
}

type CollectionCells = readonly [
  ...(readonly [name: string, part: number, definition: string, version: number]),
  ...(readonly [createdAt: number, referrers: string]),
];
const columns = "name, part, definition, version, created, referrers";

/** The text of an empty list. */
const noReferrers = "[]";

/** The caches of readers and of the writer resolve names with these rows. */
export class CollectionRows {
  readonly #builds: BuildReader;
  readonly #find: PreparedQuery<CollectionCells>;
  readonly #all: PreparedQuery<CollectionCells>;

  constructor(connection: Connection) {
    this.#builds = new BuildReader(connection);
    this.#find = connection.query(`SELECT ${columns} FROM collections WHERE name = ?`);
    this.#all = connection.query(`SELECT ${columns} FROM collections ORDER BY name`);
  }

  find(name: string): CollectionRow | undefined {
    const row = this.#find.one(name);
    return row && { ...toCollectionRow(row), build: this.#builds.find(row[1]) };
  }

  all(): readonly CollectionRow[] {
    return this.#all.all().map(toCollectionRow);
  }
}

function toCollectionRow([name, part, definition, ...columns]: CollectionCells): CollectionRow {
  const [version, createdAt, referrers] = columns;
  const names = referrers === noReferrers ? [] : JSON.parse(referrers);
  return { name, part, definition, version, createdAt, referrers: names };
}

type HeadRow = readonly [
  ...(readonly [revision: number, seq: number, total: number, updated: number]),
  ...(readonly [sharesDate: number, version: number, epoch: number]),
  ...(readonly [keyNow: number, keySeen: number, bytes: number]),
];

/** Reads the head of a part: its counters and the version of its definition. */
export class HeadReader {
  readonly #find: PreparedQuery<HeadRow>;

  constructor(connection: Connection) {
    this.#find = connection.query(
      `SELECT revision, seq, total, updated, shares_date, version, epoch, key_now, key_seen, bytes
       FROM heads WHERE part = ?`,
    );
  }

  /** Returns undefined when the part was deleted. */
  find(part: number): Head | undefined {
    const row = this.#find.one(part);
    if (!row) return undefined;
    const [revision, seq, total, updatedAt, sharesDate, version, epoch, now, seen, bytes] = row;
    const counters = { revision, seq, total, bytes, updatedAt, sharesDate, version, epoch };
    return { ...counters, keyClock: { now, seen } };
  }
}

/** A collection as it was last read: its counters, its rules, and what is derived from them. */
export class CachedCollection {
  readonly name: string;
  readonly part: number;
  /** The revision up to which the cached resources of the part are current. */
  cachedRevision: number;
  readonly #createdAt: number;
  #head: Head;
  #rules: Rules;
  #collection: Collection;
  #build: IndexBuild | undefined;
  #plan: IndexPlan | undefined;

  constructor(row: CollectionRow, head: Head) {
    this.name = row.name;
    this.part = row.part;
    this.cachedRevision = head.revision;
    this.#createdAt = row.createdAt;
    this.#head = head;
    this.#rules = rulesIn(row);
    this.#build = row.build;
    this.#collection = toCollection(row, head);
  }

  get head(): Head {
    return this.#head;
  }

  /** The same object until the definition changes. */
  get rules(): Rules {
    return this.#rules;
  }

  /** The same object until the collection changes. */
  get collection(): Collection {
    return this.#collection;
  }

  get plan(): IndexPlan {
    this.#plan ??= plansOf(this.#rules.definition, this.#build).read;
    return this.#plan;
  }

  redefine(row: CollectionRow): void {
    this.#rules = rulesIn(row);
    this.#build = row.build;
    this.#plan = undefined;
  }

  update(head: Head): void {
    if (head.revision === this.#head.revision) return;
    this.#head = head;
    const { name } = this;
    const { definition } = this.#rules;
    this.#collection = toCollection({ name, definition, createdAt: this.#createdAt }, head);
  }
}

const rulesIn = ({ version, definition, referrers }: CollectionRow): Rules =>
  referrers.length === 0 ? { version, definition } : { version, definition, referrers };

export function toCollection(
  { name, definition, createdAt }: Pick<CollectionRow, "name" | "definition" | "createdAt">,
  { revision, total, bytes, updatedAt, sharesDate, version }: Head,
): Collection {
  const counters = { revision, total, bytes, version };
  const collection = { name, ...counters, definition, createdAt, updatedAt };
  return sharesDate === 1 ? { ...collection, sharesDate: true } : collection;
}

/** Whether nothing has changed between two reads of a collection. */
export const isSameState = (one: Collection, other: Collection): boolean =>
  one.revision === other.revision &&
  one.createdAt === other.createdAt &&
  one.definition === other.definition;
