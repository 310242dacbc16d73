// Defines the contract of every storage engine. Expected results are values; thrown errors are outages or bugs.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Collection, Rules } from "../model/collection.ts";
import type { Feed, FeedRange, InvalidPosition } from "../model/feed.ts";
import type { FeedPosition } from "../model/feed-position.ts";
import type { IdempotencyKey } from "../model/idempotency-key.ts";
import type { Groups } from "../model/query/aggregate.ts";
import type { IndexEntry } from "../model/query/index-plan.ts";
import type { Order } from "../model/query/list-request.ts";
import type { Position, Query } from "../model/query/query.ts";
import type { Target } from "../model/reference.ts";
import type { Resource } from "../model/resource.ts";
import type { Token } from "../model/token.ts";
import type { FailedOperations } from "../model/write/apply-operations.ts";
import type { OperationsRequest } from "../model/write/operate.ts";
import type { Decided, ReadState } from "./read-state.ts";

export type { ReadState };

export interface Store {
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
  /** Returns the token with this hash, even if it is expired or revoked. */
  token(hash: string): MaybePromise<Token | undefined>;
  tokens(): MaybePromise<readonly Token[]>;

  /**
   * Applies all changes in one transaction, in order; each succeeds or fails on its own. Resolves with
   * the outcomes in the same order when the changes are on disk. Rejects with an Outage when none is stored.
   */
  commit(changes: readonly Change[]): Promise<readonly Outcome[]>;

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

/** Two resources that have the same values in the unique index of this name. */
export interface Clash {
  readonly index: string;
  readonly ids: readonly [string, string];
}

export interface BuildProgress {
  /** False when the former definition stands again because of `clashes`. */
  readonly isRunning: boolean;
  /** The number of rows that are indexed or compared, and of all. */
  readonly done: number;
  readonly total: number;
  /** The first values that are not unique. */
  readonly clashes: readonly Clash[];
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
export interface ReadOptions {
  /** Callers take turns when several queries wait. */
  readonly caller?: string;
  /** Aborted when the client has left. */
  readonly signal?: AbortSignal;
}

/** The limits of queries that can be long. */
export interface QueryOptions {
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

/** The precondition of a change. A number is the revision that the resource must have. */
export type Expectation = "anything" | "nothing" | number;

/** Creates or replaces a resource. `nothing`: only creates it. A revision: only replaces that revision. */
export interface Put extends Decided {
  readonly kind: "put";
  readonly collection: string;
  readonly id: string;
  /** The text of a JSON object, as in Resource. */
  readonly fields: string;
  readonly at: number;
  readonly expect: Expectation;
  /** The owner of a new resource; an existing resource keeps its owner. */
  readonly owner?: string;
  /** Sets the owner, also of an existing resource; null removes it. Without it `owner` applies. */
  readonly setOwner?: string | null;
  /** The files of the resource, as in Resource; undefined when it has none. */
  readonly files?: string;
  /** The version of the rules that it was validated against; with other rules the outcome is `outdated`. */
  readonly rules?: number;
  /** Set when the id was generated for this change, so that no resource has or had it. */
  readonly isNewId?: true;
}

export interface Remove extends Decided {
  readonly kind: "remove";
  readonly collection: string;
  readonly id: string;
  readonly at: number;
  readonly expect: Exclude<Expectation, "nothing">;
  readonly rules?: number;
}

/** Computes the new fields of a resource from its fields at the commit. */
export interface Operate extends Decided, OperationsRequest {
  readonly kind: "operate";
  readonly collection: string;
  readonly id: string;
  readonly at: number;
  readonly expect: Exclude<Expectation, "nothing">;
  /** The owner that the resource must have; without it any. With another owner the outcome is `stale`. */
  readonly owner?: string;
  readonly rules?: number;
  /** The size of the resource when it was read, by which commits are grouped. */
  readonly bytes: number;
}

/** A change of one resource. */
export type ResourceChange = Put | Remove | Operate;

export type Change =
  | ResourceChange
  /**
   * All of these or none, applied in order. With `once`, the key and the outcomes are stored in the same
   * transaction, so that a retry gets the same outcomes again. With `isTrial` each succeeds or fails on its
   * own, and then all are undone: the outcome is `all`, with what would have become of each. With `isEach`
   * they are not undone: what they were decided by is compared before the first.
   */
  | {
      readonly kind: "all";
      readonly changes: readonly ResourceChange[];
      readonly once?: IdempotencyKey;
      readonly isTrial?: true;
      readonly isEach?: true;
    }
  /** Creates a collection; does nothing when it exists. */
  | { readonly kind: "create-collection"; readonly collection: string; readonly at: number }
  /**
   * Sets the definition of a collection (the text of a JSON object), and creates the collection when it
   * does not exist. The indexes of the definition are complete afterwards, also for existing resources.
   * With `replaces`, the outcome is `outdated` when the definition is another one; `{}` is that of a
   * collection that does not exist.
   */
  | {
      readonly kind: "define";
      readonly collection: string;
      readonly definition: string;
      readonly replaces?: string;
      readonly at: number;
    }
  /** Deletes a collection with all its resources; with `isEmptyOnly`, only when it has none. */
  | { readonly kind: "drop"; readonly collection: string; readonly isEmptyOnly: boolean }
  | { readonly kind: "create-token"; readonly token: Token }
  | { readonly kind: "revoke-token"; readonly id: string; readonly at: number }
  | { readonly kind: "touch-token"; readonly id: string; readonly at: number };

export type Outcome =
  | { readonly kind: "created"; readonly resource: Resource }
  | { readonly kind: "replaced"; readonly resource: Resource }
  | { readonly kind: "removed"; readonly revision: number }
  /** The resource exists and must not; or the collection is not empty. */
  | { readonly kind: "taken" }
  /** The resource has another revision than the expected one, or something else than `unchanged` names. */
  | { readonly kind: "stale" }
  /** Another resource has the same values in a unique index; `field` is its name. */
  | { readonly kind: "conflict"; readonly field: string; readonly clashes?: readonly Clash[] }
  /** The operations cannot be applied to the fields, or their result is not valid. */
  | FailedOperations
  /** The stored fields are not those that were written, so nothing is computed from them. */
  | { readonly kind: "damaged" }
  /** The rules have changed since the change was validated, or are not those that it replaces. */
  | { readonly kind: "outdated" }
  /** The change refers to a resource that does not exist. */
  | { readonly kind: "dangling"; readonly target: Target }
  /**
   * Resources of this collection refer to what would be deleted; `isKnown` is false while the index of
   * the reference is built, because it is not known then.
   */
  | { readonly kind: "referenced"; readonly by: string; readonly isKnown: boolean }
  /** The resource, the collection or the token does not exist. */
  | { readonly kind: "missing" }
  /** Every change was applied, now or (`isReplay`) by the first request with the same key. */
  | { readonly kind: "all"; readonly outcomes: readonly Outcome[]; readonly isReplay: boolean }
  /** No change was applied, because this one failed. The key is not stored. */
  | { readonly kind: "none"; readonly index: number; readonly outcome: Outcome }
  /** The key belongs to another request. */
  | { readonly kind: "reused" }
  /** The first request with this key was applied, and what it wrote was deleted since. Nothing was applied. */
  | { readonly kind: "gone" }
  | { readonly kind: "done" };

/** Returns the outcome of the change that failed inside `all`, otherwise the outcome itself. */
export const failureOf = (outcome: Outcome): Outcome =>
  outcome.kind === "none" ? outcome.outcome : outcome;

export const isOutdated = (outcome: Outcome): boolean => failureOf(outcome).kind === "outdated";
