// The contract of every engine. What is expected is a value; what is thrown is an outage or a bug.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Collection, Rules } from "../model/collection.ts";
import type { FeedPosition } from "../model/feed-position.ts";
import type { Order } from "../model/query/page.ts";
import type { Position, Query } from "../model/query/query.ts";
import type { Resource } from "../model/resource.ts";
import type { Token } from "../model/token.ts";

export interface Store {
  /** The collection with its revision and total as of now; also what lets a list's 304 read no rows. */
  collection(name: string): MaybePromise<Collection | undefined>;
  collections(): MaybePromise<readonly Collection[]>;
  /**
   * The rules of a collection: the same object as long as they are the same. Where others write too
   * they may be a second old, so a change names the version that it was judged by.
   */
  rules(collection: string): MaybePromise<Rules | undefined>;
  /** The resource as of now. The same state may come as the same object, so it can key a WeakMap. */
  find(collection: string, id: string): MaybePromise<Resource | undefined>;
  /** A slice of the total order, and the collection, both of one moment. O(log n) at any depth. */
  slice(collection: string, range: Range): MaybePromise<Slice | undefined>;
  /**
   * The resources that a query asks for, and the collection, both of one moment. What the indexes of
   * the collection's definition cannot answer is looked for among at most `maxCandidates` resources:
   * all of the collection, or those that one indexed condition or the words leave.
   */
  query(collection: string, query: Query): MaybePromise<QueryResult | TooBroad | undefined>;
  /**
   * What was written or removed after a position, in order of revision, at most `limit` entries; 0 is
   * before everything. `gone` when the position is of another history than the collection has now.
   */
  since(
    collection: string,
    position: FeedPosition | 0,
    limit: number,
    maxBytes?: number,
  ): MaybePromise<Feed | "gone" | undefined>;
  /** Which of these keys a resource's parts name. */
  named(keys: readonly string[]): MaybePromise<ReadonlySet<string>>;
  /** The token with this hash, dead or alive. */
  token(hash: string): MaybePromise<Token | undefined>;
  tokens(): MaybePromise<readonly Token[]>;

  /**
   * One transaction for all changes, each judged on its own, in order; outcomes in the same order.
   * Resolves only when the changes are on disk. Rejects with an Outage when none of them is.
   */
  commit(changes: readonly Change[]): Promise<readonly Outcome[]>;

  /** Whether writes can be taken right now; the reason if not. */
  ready(): MaybePromise<string | undefined>;
  /** Waits for commits under way, then lets go of everything. */
  close(): Promise<void>;
}

export interface Range {
  readonly offset: number;
  readonly limit: number;
  readonly order: Order;
  /** The fields of the resources have no more together; but one resource is always there. */
  readonly maxBytes?: number | undefined;
}

export interface Slice {
  readonly collection: Collection;
  readonly resources: readonly Resource[];
  /** Whether there would be more within `limit`, but not within `maxBytes`. */
  readonly isCut?: boolean;
}

/** So many resources may be looked at one by one, with so many bytes together. */
export const maxCandidates = 10_000;
export const maxCandidateBytes = 64 * 1024 * 1024;

export interface QueryResult {
  readonly kind: "found";
  readonly collection: Collection;
  readonly resources: readonly Resource[];
  /** None when it was not asked for. */
  readonly total: number | undefined;
  /** The position of the last of the resources, when there are more; none where they are ranked. */
  readonly last: Position | undefined;
  /** Whether there would be more within `limit`, but not within `maxBytes`; then `last` is there. */
  readonly isCut?: boolean;
}

/** Too many resources would have to be looked at one by one. */
export interface TooBroad {
  readonly kind: "broad";
  readonly collection: Collection;
}

/** What is left of a removed resource. */
export interface Removal {
  readonly kind: "removal";
  readonly id: string;
  readonly revision: number;
  readonly removedAt: number;
}

/** Each resource is there once, in its newest state; the collection is of the same moment. */
export interface Feed {
  readonly collection: Collection;
  /** The epoch of every position in it. */
  readonly epoch: string;
  readonly entries: readonly (Resource | Removal)[];
  /** Whether there would be more within `limit`, but not within `maxBytes`. */
  readonly isCut?: boolean;
}

/** What must be true of the resource for a change to happen: a number is the revision it must have. */
export type Expectation = "anything" | "nothing" | number;

/** Creates or replaces. `nothing`: only creates. A revision: only replaces exactly that state. */
export interface Put {
  readonly kind: "put";
  readonly collection: string;
  readonly id: string;
  /** The text of a JSON object, as in Resource. */
  readonly fields: string;
  readonly at: number;
  readonly expect: Expectation;
  /** Who creates it; what is there keeps its owner. */
  readonly owner?: string;
  /** Its files, as in Resource; without it, it has none. */
  readonly parts?: string;
  /** The version of the rules that it was judged by; it happens only while they hold. */
  readonly rules?: number;
}

export interface Remove {
  readonly kind: "remove";
  readonly collection: string;
  readonly id: string;
  readonly at: number;
  readonly expect: Exclude<Expectation, "nothing">;
  readonly rules?: number;
}

/** A caller's word that a repetition means the same request and must not be done again. */
export interface IdempotencyKey {
  /** Keys of one owner never meet those of another. */
  readonly owner: string;
  readonly key: string;
  /** Tells a repetition from another request under the same key. */
  readonly fingerprint: string;
  readonly at: number;
  /** As long as from `at` until then the outcomes are kept, by a clock that never jumps (key-clock.ts). */
  readonly keptUntil: number;
}

export type Change =
  | Put
  | Remove
  /**
   * All of these or none, each judged after the ones before it. With `once`, the key and what was
   * done are kept in the same transaction, so that a repetition gets the same outcomes again.
   */
  | {
      readonly kind: "all";
      readonly changes: readonly (Put | Remove)[];
      readonly once?: IdempotencyKey;
    }
  /** Brings a collection into being; does nothing when it is there. */
  | { readonly kind: "found"; readonly collection: string; readonly at: number }
  /**
   * Gives a collection its rules (the text of a JSON object), and brings it into being if need be.
   * The indexes that they plan are complete when it is done, for what is there already, too.
   */
  | {
      readonly kind: "define";
      readonly collection: string;
      readonly definition: string;
      readonly at: number;
    }
  /** The end of a collection and all that is in it; with `isEmptyOnly`, only when there is nothing. */
  | { readonly kind: "drop"; readonly collection: string; readonly isEmptyOnly: boolean }
  | { readonly kind: "keep-token"; readonly token: Token }
  | { readonly kind: "revoke-token"; readonly id: string; readonly at: number }
  | { readonly kind: "touch-token"; readonly id: string; readonly at: number };

export type Outcome =
  | { readonly kind: "created"; readonly resource: Resource }
  | { readonly kind: "replaced"; readonly resource: Resource }
  | { readonly kind: "removed"; readonly revision: number }
  /** Something is there and nothing was expected; or the collection is not empty. */
  | { readonly kind: "taken" }
  /** Another state is there than the one expected. */
  | { readonly kind: "stale" }
  /** Another resource has the same value in a field that is unique. */
  | { readonly kind: "conflict"; readonly field: string }
  /** Other rules hold than those it was judged by. */
  | { readonly kind: "outdated" }
  /** Nothing is there and something was expected; or the collection or token does not exist. */
  | { readonly kind: "missing" }
  /** Every one was done, now or (`isReplay`) when the same request came first. */
  | { readonly kind: "all"; readonly outcomes: readonly Outcome[]; readonly isReplay: boolean }
  /** None was done, because this one could not be. Nothing is kept of the key. */
  | { readonly kind: "none"; readonly index: number; readonly outcome: Outcome }
  /** The key belongs to another request. */
  | { readonly kind: "reused" }
  /** The same request came first, and what it wrote was deleted since. Nothing was done. */
  | { readonly kind: "gone" }
  | { readonly kind: "done" };

/** The outcome that decided: within a unit, that of the change that failed. */
export const failureOf = (outcome: Outcome): Outcome =>
  outcome.kind === "none" ? outcome.outcome : outcome;

export const isOutdated = (outcome: Outcome): boolean => failureOf(outcome).kind === "outdated";

/** The store cannot do it now. Nothing of the batch was kept, unless `reason` is `unknown`. */
export class Outage extends Error {
  /**
   * `full`: no room; `busy`: too much is waiting; `unavailable`: cannot be reached or written;
   * `unknown`: the connection broke during the commit, so it may or may not have happened;
   * `suspect`: the disk has failed, and no write is taken until the data is copied to new files;
   * `damaged`: what is stored is not what was written, and the message may be shown to clients.
   */
  readonly reason: "full" | "busy" | "unavailable" | "unknown" | "suspect" | "damaged";

  constructor(reason: Outage["reason"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
