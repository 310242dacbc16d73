// Reads one collection: caches its row, and prepares the statements on its tables.

import type { Collection, Rules } from "../../model/collection.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import { type IndexPlan, indexPlanOf } from "../../model/query/index-plan.ts";
import type { Order } from "../../model/query/page.ts";
import type { Query as Question } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import { epochName, readEpochName } from "../core/epochs.ts";
import {
  type Feed,
  Outage,
  type QueryResult,
  type Range,
  type Removal,
  type Slice,
  type TooBroad,
} from "../store.ts";
import type { Connection, LimitedRows, Query } from "./connection.ts";
import { EpochReader } from "./epoch.ts";
import { locate, type ReadCounts, storedCounts } from "./position-tree.ts";
import { QueryReader } from "./query.ts";
import { type ResourceRow, resourceColumns, toResource } from "./resource.ts";

export type CollectionRow = readonly [
  name: string,
  revision: number,
  total: number,
  createdAt: number,
  updatedAt: number,
  key: number,
  seq: number,
  /** Null when the collection was never defined, or not after the given batch. */
  definition: string | null,
  /** The batch that set the definition. */
  version: number | null,
  epoch: number,
  sharesDate: number,
];

/** Returns the columns of a collection, with its definition when that is newer than the given batch. */
export function collectionColumns(batch: string): string {
  const defined = (column: string) =>
    `(SELECT ${column} FROM definitions WHERE collection = key AND definitions.batch > ${batch})`;
  return `name, revision, total, created, updated, key, seq,
    ${defined("definition")}, ${defined("batch")}, epoch, shares_date`;
}

const noRules: Rules = { version: 0, definition: "{}" };

export function toCollection(row: CollectionRow, { definition } = toRules(row)): Collection {
  const [name, revision, total, createdAt, updatedAt] = row;
  const collection = { name, revision, total, definition, createdAt, updatedAt };
  return row[10] === 1 ? { ...collection, sharesDate: true } : collection;
}

function toRules(row: CollectionRow, last = noRules): Rules {
  const definition = row[7];
  const version = row[8];
  return definition === null || version === null ? last : { version, definition };
}

type RemovalRow = readonly [
  ...(readonly [id: string, revision: number, at: number]),
  ...(readonly [null, null, null, null, null, null]),
  isRemoval: 1,
];

const toRemoval = ([id, revision, removedAt]: RemovalRow): Removal => ({
  kind: "removal",
  id,
  revision,
  removedAt,
});

/** A separate column marks removals, because other columns could be damaged. */
type EntryRow = readonly [...ResourceRow, isRemoval: 0] | RemovalRow;
const isRemovalRow = (row: EntryRow): row is RemovalRow => row[9] === 1;

const lostRows = new Outage(
  "damaged",
  "resources of this list cannot be found in the database: restore it from a backup",
);

export class CollectionReader {
  readonly key: number;
  readonly #connection: Connection;
  #collection: Collection;
  #rules: Rules;
  #planned: { readonly rules: Rules; readonly plan: IndexPlan } | undefined;
  /** The last assigned seq. */
  #seq: number;
  #epoch: number;
  readonly #find: Query<ResourceRow>;
  readonly #slices: Readonly<Record<Order, Query<ResourceRow>>>;
  readonly #since: Query<EntryRow>;
  readonly #timeAt: Query<readonly [time: number]>;
  readonly #epochs: EpochReader;
  readonly #changed: Query<readonly [id: string]>;
  readonly #counts: ReadCounts;
  #queries: QueryReader | undefined;

  constructor(connection: Connection, row: CollectionRow) {
    const key = row[5];
    const resources = `resources_${key}`;
    const removed = `removed_${key}`;
    const select = `SELECT ${resourceColumns} FROM ${resources}`;
    this.key = key;
    this.#connection = connection;
    this.#rules = toRules(row);
    this.#collection = toCollection(row, this.#rules);
    this.#seq = row[6];
    this.#epoch = row[9];
    this.#find = connection.query(`${select} WHERE id = ?`);
    this.#slices = {
      created: connection.query(`${select} WHERE seq >= ? ORDER BY seq LIMIT ?`),
      "-created": connection.query(`${select} WHERE seq <= ? ORDER BY seq DESC LIMIT ?`),
    };
    // Both tables are read in index order and merged up to the limit.
    this.#since = connection.query(
      `SELECT ${resourceColumns}, 0 FROM ${resources} WHERE revision > ?1
       UNION ALL
       SELECT id, revision, at, NULL, NULL, NULL, NULL, NULL, NULL, 1 FROM ${removed} WHERE revision > ?1
       ORDER BY revision LIMIT ?2`,
    );
    this.#timeAt = connection.query(
      `SELECT updated FROM ${resources} WHERE revision = ?1
       UNION ALL SELECT at FROM ${removed} WHERE revision = ?1`,
    );
    this.#epochs = new EpochReader(connection);
    this.#changed = connection.query(
      `SELECT id FROM ${resources} WHERE revision > ?1
       UNION ALL SELECT id FROM ${removed} WHERE revision > ?1`,
    );
    this.#counts = storedCounts(connection, key);
  }

  get collection(): Collection {
    return this.#collection;
  }

  get rules(): Rules {
    return this.#rules;
  }

  update(row: CollectionRow): void {
    this.#rules = toRules(row, this.#rules);
    this.#collection = toCollection(row, this.#rules);
    this.#seq = row[6];
    this.#epoch = row[9];
  }

  find(id: string): Resource | undefined {
    const row = this.#find.one(id);
    return row && toResource(row);
  }

  slice({ offset, limit, order, maxBytes }: Range): Pick<Slice, "resources" | "isCut"> {
    const { total } = this.#collection;
    if (offset >= total) return { resources: [] };
    const index = order === "created" ? offset : total - 1 - offset;
    const seq = locate(this.#counts, index, this.#seq) + 1;
    const { rows, isCut } = this.#rows(this.#slices[order], maxBytes, seq, limit);
    const resources = rows.map(toResource);
    // Counts and rows come from one snapshot, so a missing row is lost.
    if (!isCut && resources.length < Math.min(limit, total - offset)) throw lostRows;
    return isCut ? { resources, isCut } : { resources };
  }

  /** Without a size limit all rows are read at once, which is faster. */
  #rows<R extends EntryRow | ResourceRow>(
    query: Query<R>,
    maxBytes: number | undefined,
    ...values: readonly number[]
  ): LimitedRows<R> {
    if (maxBytes === undefined) return { rows: query.all(...values), isCut: false };
    return query.within(maxBytes, (row) => row[4]?.length ?? 0, ...values);
  }

  query(query: Question, maxCandidates: number): QueryResult | TooBroad {
    this.#queries ??= new QueryReader(this.#connection, this.key, this.#counts, maxCandidates);
    const state = { collection: this.#collection, plan: this.#plan(), seq: this.#seq };
    return this.#queries.answer(query, state);
  }

  since(position: FeedPosition | 0, limit: number, maxBytes?: number): Feed | "gone" {
    if (position !== 0 && !this.#isOurs(position)) return "gone";
    const revision = position === 0 ? 0 : position.revision;
    const { rows, isCut } = this.#rows(this.#since, maxBytes, revision, limit);
    return {
      collection: this.#collection,
      epoch: epochName(this.key, this.#epoch),
      entries: rows.map((row) => (isRemovalRow(row) ? toRemoval(row) : toResource(row))),
      ...(isCut && { isCut }),
    };
  }

  /** Whether a position belongs to the current history of the collection. */
  #isOurs({ epoch: name, revision, time }: FeedPosition): boolean {
    const [key, epoch] = readEpochName(name);
    if (key !== this.key) return false;
    const last =
      epoch === this.#epoch ? this.#collection.revision : this.#epochs.endOf(this.key, epoch);
    if (last === undefined || revision > last) return false;
    return time === 0 || (this.#timeAt.one(revision)?.[0] ?? time) === time;
  }

  /** Returns the ids of resources that were written or removed after this revision. */
  changedSince(revision: number): readonly string[] {
    return this.#changed.all(revision).map(([id]) => id);
  }

  #plan(): IndexPlan {
    const rules = this.#rules;
    if (this.#planned?.rules !== rules)
      this.#planned = { rules, plan: indexPlanOf(rules.definition) };
    return this.#planned.plan;
  }
}
