// Reads the resources of a part by id, by range and by revision, and converts rows to resources.

import {
  type Feed,
  type FeedRange,
  type FormerRange,
  type FormerState,
  type InvalidPosition,
  ownerWindow,
  type Removal,
} from "../../model/feed.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import { Outage } from "../../model/outage.ts";
import type { IndexEntry } from "../../model/query/index-plan.ts";
import { largePageBytes, type Order } from "../../model/query/list-request.ts";
import type { Candidate } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import { epochName, reachedBy, readEpochName } from "../core/epochs.ts";
import { requireIndex } from "../core/index-build.ts";
import { locate } from "../core/position-tree.ts";
import {
  Damage,
  resourceIn,
  type StoredResource,
  toResource as toCheckedResource,
} from "../core/stored-resource.ts";
import type { Range, Slice } from "../store.ts";
import type { CachedCollection } from "./collections.ts";
import type { Connection, LimitedRows, PreparedQuery, Row, Value } from "./connection.ts";
import { PositionReader } from "./positions.ts";

export type ResourceCells<Fields extends string | Uint8Array = string> = readonly [
  ...StoredResource<Fields>,
  checksum: number,
];
export const resourceColumns =
  "id, revision, created, updated, fields, owner, files, shares_date, checksum";

/** The fields of large resources are read as bytes: then they can go to another thread without a copy. */
export type LargeRow = ResourceCells<string | Uint8Array>;
export const largeColumns = resourceColumns.replace(
  "fields",
  "CASE WHEN octet_length(fields) > 32768 THEN CAST(fields AS BLOB) ELSE fields END",
);

/** Throws Damage when the checksum does not match. */
export const toResource = (row: readonly [...LargeRow, ...Value[]]): Resource =>
  toCheckedResource(row as unknown as StoredResource<string | Uint8Array>, row[8]);

/** A resource row with its seq in front. */
export type SeqResourceRow = readonly [seq: number, ...ResourceCells];
export type SeqLargeRow = readonly [seq: number, ...LargeRow];
export const seqResourceColumns = `seq, ${resourceColumns}`;

export const toCandidate = ([seq, ...row]: SeqLargeRow): Candidate => ({
  seq,
  resource: toResource(row),
});

/** Used by the writer: a damaged row must not fail the whole batch. Readers report it. */
export const toUncheckedCandidate = ([seq, ...row]: SeqResourceRow): Candidate => ({
  seq,
  resource: resourceIn(row as unknown as StoredResource),
});

type RemovalRow = readonly [
  ...(readonly [id: string, revision: number, removedAt: number]),
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
type FeedRow = readonly [...ResourceCells, isRemoval: 0] | RemovalRow;
const isRemovalRow = (row: FeedRow): row is RemovalRow => row[9] === 1;

const lostRows = new Outage(
  "damaged",
  "resources of this list cannot be found in the database: restore it from a backup",
);

export class ResourceReader {
  readonly #find: PreparedQuery<ResourceCells>;
  readonly #findUnique: PreparedQuery<ResourceCells>;
  readonly #slices: Readonly<Record<Order, PreparedQuery<LargeRow>>>;
  readonly #sizes: Readonly<Record<Order, PreparedQuery<readonly [bytes: number]>>>;
  readonly #since: PreparedQuery<FeedRow>;
  readonly #sinceByOwner: PreparedQuery<FeedRow>;
  readonly #purged: PreparedQuery<readonly [revision: number]>;
  readonly #timeAt: PreparedQuery<readonly [time: number]>;
  readonly #endOfEpoch: PreparedQuery<readonly [last: number]>;
  readonly #changed: PreparedQuery<readonly [id: string]>;
  readonly #formerStates: FormerStateReader;
  readonly #positions: PositionReader;

  constructor(connection: Connection, columns = resourceColumns) {
    const select = `SELECT ${resourceColumns} FROM resources WHERE part = ?1`;
    this.#find = connection.query(`${select} AND id = ?2`);
    this.#findUnique = connection.query(
      `${select} AND seq = (SELECT seq FROM entries WHERE part = ?1 AND field = ?2 AND key = ?3 LIMIT 1)`,
    );
    const slices = <R extends Row>(columns: string): Readonly<Record<Order, PreparedQuery<R>>> => {
      const rows = `SELECT ${columns} FROM resources WHERE part = ?1`;
      return {
        created: connection.query(`${rows} AND seq >= ?2 ORDER BY seq LIMIT ?3`),
        "-created": connection.query(`${rows} AND seq <= ?2 ORDER BY seq DESC LIMIT ?3`),
      };
    };
    this.#slices = slices(columns);
    // SQLite knows the size of a value without reading it.
    this.#sizes = slices("octet_length(fields)");
    // Both tables are read in index order and merged up to the limit.
    this.#since = connection.query(
      `SELECT ${resourceColumns}, 0 FROM resources WHERE part = ?1 AND revision > ?2
       UNION ALL
       SELECT id, revision, removed, NULL, NULL, NULL, NULL, NULL, NULL, 1 FROM tombstones
       WHERE part = ?1 AND revision > ?2
       ORDER BY revision LIMIT ?3`,
    );
    const removedBy = (table: string, time: string) =>
      `SELECT id, revision, ${time}, NULL, NULL, NULL, NULL, NULL, NULL, 1 FROM ${table}`;
    const ofOwner = "WHERE part = ?1 AND revision > ?2 AND revision <= ?3 AND owner = ?4";
    this.#sinceByOwner = connection.query(
      `SELECT ${resourceColumns}, 0 FROM resources ${ofOwner}
       UNION ALL ${removedBy("tombstones", "removed")} ${ofOwner}
       UNION ALL ${removedBy("former_owners", "changed")} ${ofOwner}
       ORDER BY revision LIMIT ?5`,
    );
    this.#purged = connection.query("SELECT purged FROM heads WHERE part = ?");
    this.#timeAt = connection.query(
      `SELECT updated FROM resources WHERE part = ?1 AND revision = ?2
       UNION ALL SELECT removed FROM tombstones WHERE part = ?1 AND revision = ?2`,
    );
    this.#endOfEpoch = connection.query("SELECT last FROM epochs WHERE part = ? AND epoch = ?");
    this.#changed = connection.query(
      `SELECT id FROM resources WHERE part = ?1 AND revision > ?2
       UNION ALL SELECT id FROM tombstones WHERE part = ?1 AND revision > ?2`,
    );
    this.#formerStates = new FormerStateReader(connection);
    this.#positions = new PositionReader(connection);
  }

  find(part: number, id: string): Resource | undefined {
    const row = this.#find.one(part, id);
    // A damaged index can lead to the row of another resource.
    if (row && row[0] !== id) throw new Damage(id);
    return row && toResource(row);
  }

  /** Returns the resource that has this key in a unique index. */
  findUnique({ part, plan }: CachedCollection, { field, key }: IndexEntry): Resource | undefined {
    requireIndex(plan, field);
    const row = this.#findUnique.one(part, field, key);
    return row && toResource(row);
  }

  /** Returns `long` when the resources are so large that reading them may block others. */
  sliceIfShort(known: CachedCollection, range: Range): Slice | "long" {
    return largePageBytes(known.head, range) > 0 ? "long" : this.slice(known, range);
  }

  slice({ part, head, collection }: CachedCollection, range: Range): Slice {
    const { offset, limit, order, maxBytes } = range;
    const { seq, total } = head;
    if (offset >= total) return { collection, resources: [] };
    const index = order === "created" ? offset : total - 1 - offset;
    const first = locate(this.#positions.of(part), index, seq) + 1;
    const fits = maxBytes && this.#fits(this.#sizes[order], maxBytes, part, first, limit);
    if (fits) return { collection, resources: [], fits };
    const resources = this.#slices[order].all(part, first, limit).map(toResource);
    // Counters and rows come from one snapshot, so a missing row is lost.
    if (resources.length < Math.min(limit, total - offset)) throw lostRows;
    return { collection, resources };
  }

  /** Returns how many rows have at most `maxBytes` together, at least one; undefined when all have. */
  #fits(
    sizes: PreparedQuery<readonly [bytes: number]>,
    maxBytes: number,
    ...values: readonly Value[]
  ): number | undefined {
    const { rows, isCut } = sizes.within(maxBytes, ([bytes]) => bytes, ...values);
    return isCut ? rows.length : undefined;
  }

  since(
    known: CachedCollection,
    position: FeedPosition | 0,
    range: FeedRange,
  ): Feed | InvalidPosition {
    if (position !== 0 && !this.#isOurs(known, position)) return "gone";
    const { part, head, collection } = known;
    const { limit, maxBytes, owner, former } = range;
    const reached = position === 0 ? 0 : (former?.after ?? reachedBy(position));
    if (position !== 0 && this.purgedRevision(part) > reached) return "expired";
    const revision = position === 0 ? 0 : position.revision;
    const end = owner === undefined ? head.revision : revision + ownerWindow;
    const { rows, isCut } =
      owner === undefined
        ? rowsOf(this.#since, maxBytes, part, revision, limit)
        : rowsOf(this.#sinceByOwner, maxBytes, part, revision, end, owner, limit);
    const ids = rows.map(([id]) => id);
    return {
      collection,
      epoch: epochName(part, head.epoch),
      entries: rows.map((row) => (isRemovalRow(row) ? toRemoval(row) : toResource(row))),
      ...(former && { formerStates: this.#formerStates.of(part, ids, former) }),
      ...(isCut && { isCut }),
      ...(end < head.revision && { end }),
    };
  }

  /** Returns the last revision whose removal may no longer be stored. */
  purgedRevision(part: number): number {
    return this.#purged.one(part)?.[0] ?? 0;
  }

  /** Returns the ids of resources that were written or removed after this revision. */
  changedSince(part: number, revision: number): readonly string[] {
    return this.#changed.all(part, revision).map(([id]) => id);
  }

  /** Whether a position belongs to the current history of the collection. */
  #isOurs(
    { part, head }: CachedCollection,
    { epoch: name, revision, time }: FeedPosition,
  ): boolean {
    const [key, epoch] = readEpochName(name);
    if (key !== part) return false;
    const last = epoch === head.epoch ? head.revision : this.#endOfEpoch.one(part, epoch)?.[0];
    if (last === undefined || revision > last) return false;
    return time === 0 || (this.#timeAt.one(part, revision)?.[0] ?? time) === time;
  }
}

/** Without a size limit all rows are read at once, which is faster. */
function rowsOf<R extends FeedRow | ResourceCells>(
  query: PreparedQuery<R>,
  maxBytes: number | undefined,
  ...values: readonly Value[]
): LimitedRows<R> {
  if (maxBytes === undefined) return { rows: query.all(...values), isCut: false };
  return query.within(maxBytes, (row) => row[4]?.length ?? 0, ...values);
}

type FormerRow = readonly [id: string, endedAt: number, state: string, revision: number];

class FormerStateReader {
  readonly #ended: PreparedQuery<FormerRow>;
  readonly #next: PreparedQuery<FormerRow>;

  constructor(connection: Connection) {
    const select = `SELECT id, changed, state, revision, since FROM former_states
       WHERE part = ?1 AND id = ?2 AND revision > ?3`;
    this.#ended = connection.query(`${select} AND revision <= ?4`);
    // The state that follows began when the one before ended, so only the first one can be within the range.
    this.#next = connection.query(
      `SELECT id, changed, state, revision FROM (${select} ORDER BY revision LIMIT 1)
       WHERE since <= ?4`,
    );
  }

  /** Returns states of these resources, in order. */
  of(part: number, ids: readonly string[], { after, upTo }: FormerRange): readonly FormerState[] {
    const last = Math.max(after, upTo);
    return ids
      .flatMap((id) => [
        ...(after < upTo ? this.#ended.all(part, id, after, upTo) : []),
        ...this.#next.all(part, id, last, upTo),
      ])
      .sort((one, other) => one[3] - other[3])
      .map(([id, endedAt, state]) => ({ id, endedAt, state }));
  }
}
