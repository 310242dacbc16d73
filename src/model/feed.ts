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
}
