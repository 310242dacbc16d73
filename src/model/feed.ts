// A feed: the changes of a collection since a position, with tombstones of removed resources.

import type { Collection } from "./collection.ts";
import type { Resource } from "./resource.ts";

/** The tombstone of a removed resource. */
export interface Removal {
  readonly kind: "removal";
  readonly id: string;
  readonly revision: number;
  readonly removedAt: number;
}

/** Contains each resource once, in its newest state. The collection is from the same snapshot. */
export interface Feed {
  readonly collection: Collection;
  /** The epoch of all its positions. */
  readonly epoch: string;
  readonly entries: readonly (Resource | Removal)[];
  /** Whether `maxBytes` left out entries that are within `limit`. */
  readonly isCut?: boolean;
  /** What is kept of the states that the range asks for, in order. */
  readonly formerStates?: readonly FormerState[];
  /** The last revision that was looked at, when there are later ones; only in the feed of one owner. */
  readonly end?: number;
}

/** A state of a resource that a change has ended. */
export interface FormerState {
  readonly id: string;
  readonly endedAt: number;
  /** See access/former-state.ts. */
  readonly state: string;
}

/** States that ended after one revision and began up to another one. */
export interface FormerRange {
  readonly after: number;
  readonly upTo: number;
}

/**
 * Why a position is no longer valid. `gone`: it belongs to another history of the collection. `expired`:
 * removals after it are no longer stored.
 */
export type InvalidPosition = "gone" | "expired";

export interface FeedRange {
  /** The maximum number of entries. */
  readonly limit: number;
  /** Limits the total size of the fields; the first resource is always included. */
  readonly maxBytes?: number | undefined;
  /**
   * Only what this owner sees: a resource that belongs to someone else now is removed for its former owner.
   * At most `ownerWindow` revisions are looked at.
   */
  readonly owner?: string | undefined;
  /** Which former states of the entries are wanted. */
  readonly former?: FormerRange | undefined;
}

/** How many revisions are looked at for one owner at once, which takes a few milliseconds. */
export const ownerWindow = 10_000;
