// Defines the contract of every storage engine. Expected results are values; thrown errors are outages or bugs.

import type { JobOptions } from "../lib/job-queue.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Collection, Rules } from "../model/collection.ts";
import type { Feed, FeedRange, InvalidPosition } from "../model/feed.ts";
import type { FeedPosition } from "../model/feed-position.ts";
import type { Groups } from "../model/query/aggregate.ts";
import type { IndexEntry } from "../model/query/index-plan.ts";
import type { Order } from "../model/query/list-request.ts";
import type { Position, Query } from "../model/query/query.ts";
import type { Resource } from "../model/resource.ts";
import type { Token } from "../model/token.ts";
import type { Change, Clash, Outcome } from "./change.ts";
import type { Erasing } from "./erasure.ts";

export * from "./change.ts";
export type { Decided, ReadState } from "./read-state.ts";

export interface Store extends Erasing {
  /**
   * Returns a number that is different after every commit of any process, so that what was read at the
   * same number is still current. Missing or undefined where only a read of the database tells.
   */
  version?(): number | undefined;
  /** The same for commits that change tokens: what `token` returned at the same number is still current. */
  tokenVersion?(): number | undefined;
  /** Returns the collection with its current revision and total. A conditional list request needs only this. */
  collection(name: string): MaybePromise<Collection | undefined>;
  collections(): MaybePromise<readonly Collection[]>;
  /**
   * Returns the rules of a collection, as the same object while they do not change. With several nodes
   * they can be a second old, so a change names the version that it was validated against.
   */
  rules(collection: string): MaybePromise<Rules | undefined>;
  /** Returns the current resource. The same state can be the same object, so it can be the key of a WeakMap. */
  find(collection: string, id: string): MaybePromise<Resource | undefined>;
  /** Returns the resources with these ids, in the same order. */
  findAll(
    collection: string,
    ids: readonly string[],
  ): MaybePromise<readonly (Resource | undefined)[]>;
  /**
   * Returns the resource that has this key in a unique index over one field. Rejects with an Outage while
   * the index is built.
   */
  findUnique(collection: string, entry: IndexEntry): MaybePromise<Resource | undefined>;
  /** Returns a range of the resources in order of creation, and the collection, in one snapshot. O(log n) at any offset. */
  slice(collection: string, range: Range, options?: ReadOptions): MaybePromise<Slice | undefined>;
  /**
   * Returns the resources that match a query, and the collection, in one snapshot. Conditions that no
   * index can answer are checked on each resource. Rejects with an Outage when it takes too long.
   */
  query(
    collection: string,
    query: Query,
    options?: ReadOptions,
  ): MaybePromise<QueryResult | undefined>;
  /**
   * Returns what was written or removed after a position, ordered by revision, at most `limit` entries.
   * 0 is the beginning.
   */
  since(
    collection: string,
    position: FeedPosition | 0,
    range: FeedRange,
  ): MaybePromise<Feed | InvalidPosition | undefined>;
  /** Returns how far the indexes of a collection follow its definition; undefined when they are complete. */
  indexBuild(collection: string): MaybePromise<BuildProgress | undefined>;
  /** Returns a random text that never changes and that no client learns. */
  secret(): MaybePromise<string>;
  /** Returns those of the file keys that a resource references. */
  findReferencedFiles(keys: readonly string[]): MaybePromise<ReadonlySet<string>>;
  /** Returns the bytes of the files of all resources of an owner; without one, of all resources. */
  fileBytes(owner?: string): MaybePromise<number>;
  /** Returns the token with this hash, even if it is expired or revoked. */
  token(hash: string): MaybePromise<Token | undefined>;
  findToken(id: string): MaybePromise<Token | undefined>;
  /** Returns tokens in the order of their ids, with a subject only its own. Without a range all rows: codes, too. */
  tokens(range?: TokenRange): MaybePromise<readonly Token[]>;
  countTokens(subject?: string): MaybePromise<number>;

  /**
   * Applies all changes in one transaction, in order; each succeeds or fails on its own. Resolves with
   * the outcomes in the same order when the changes are on disk. Rejects with an Outage when none is stored.
   */
  commit(changes: readonly Change[]): Promise<readonly Outcome[]>;

  /** Sets how long queries may take that begin from now on, their wait included. */
  setQueryDeadline(ms: number): void;
  /**
   * Calls the listener soon after every commit, also after those of other processes and nodes. One call
   * can report several commits, and a call can be in vain. A listener reads on with `since` from its own
   * position: nothing is stored for it. Returns a function that ends it.
   */
  watch(listener: () => void): () => void;

  /** Returns undefined when writes are possible now, otherwise the reason why not. */
  ready(): MaybePromise<string | undefined>;
  /** Waits for commits in progress, then releases all resources. */
  close(): Promise<void>;
}

export interface BuildProgress {
  /** False when values are not unique and the definition has lost these unique indexes. */
  readonly isRunning: boolean;
  /** The number of rows that are indexed or compared, and of all. */
  readonly done: number;
  readonly total: number;
  /** The first values of each index that are not unique. */
  readonly clashes: readonly Clash[];
}

export interface TokenRange {
  readonly subject?: string | undefined;
  readonly offset: number;
  readonly limit: number;
}

export interface Range {
  readonly offset: number;
  readonly limit: number;
  readonly order: Order;
  /** Limits the total size of the fields; a single resource is always returned. */
  readonly maxBytes?: number | undefined;
}

export interface Slice {
  readonly collection: Collection;
  readonly resources: readonly Resource[];
  /** How many resources `maxBytes` allows, at least one; set when it allows fewer, and then none are returned. */
  readonly fits?: number;
}

/** Whose query it is, and when it is not needed any more. */
export type ReadOptions = JobOptions;

/** The limits of queries that can be long, and where they are counted. */
export interface QueryOptions {
  readonly metrics?: Metrics | undefined;
  /** How long a query may take, including its wait. */
  readonly queryDeadlineMs?: number | undefined;
  /** The total is exact while a query looks at no more index entries and resources than this. */
  readonly maxCounted?: number | undefined;
}

/** The total of a query is exact while it looks at no more index entries and resources than this. */
export const maxCounted = 1_000_000;

export interface QueryResult {
  readonly collection: Collection;
  readonly resources: readonly Resource[];
  /** Undefined when the query does not ask for it, or when counting would look at too many entries. */
  readonly total: number | undefined;
  /** A lower limit of the total, when counting would look at too many entries. */
  readonly totalAtLeast?: number;
  /** The position of the last resource when more follow; undefined when the results are ranked. */
  readonly last: Position | undefined;
  /** Whether `maxBytes` left out resources that are within `limit`; then `last` is set. */
  readonly isCut?: boolean;
  /** Set when resources were checked one by one. */
  readonly scan?: ScanReport;
  /** The figures that the query asks for. */
  readonly groups?: Groups;
}

export interface ScanReport {
  /** How many resources were checked. */
  readonly checked: number;
}
