// What a feed is asked for, and the page that answers it.

import type { Collection } from "../model/collection.ts";
import type { Feed, InvalidPosition, Removal } from "../model/feed.ts";
import type { FeedPosition, SealedPosition } from "../model/feed-position.ts";
import type { Problem } from "../model/problem.ts";
import type { ListRequest } from "../model/query/list-request.ts";
import type { Resource } from "../model/resource.ts";
import type { Mask } from "./mask.ts";
import { positionExpired, positionGone } from "./problems.ts";

/** A position as a client sends it; 0 is before all changes. */
export type SentPosition = FeedPosition | SealedPosition | 0;

export interface FeedRequest {
  readonly since: SentPosition;
  /** Its filters, fields and limit. */
  readonly listRequest: ListRequest;
  /** Aborted when the client has left. */
  readonly signal?: AbortSignal | undefined;
}

export interface FeedPage {
  readonly collection: Collection;
  readonly entries: readonly (Resource | Removal)[];
  /** The position after the page, as text. */
  readonly next: string;
  readonly isMore: boolean;
  /** Whether the caller sees all resources; if not, the revisions are not shown. */
  readonly isWhole: boolean;
  /** How the caller sees each resource; undefined for all fields. */
  readonly maskOf?: (resource: Resource) => Mask;
}

/** The limit for the fields of a page, which is shortened to fit. */
export const maxPageBytes = 4 * 1024 * 1024;
/** With filters, this many entries are read at once: most of them may be left out. */
export const filteredEntries = 1_000;

/** The size of the fields, in characters. */
export const entrySize = (entry: Resource | Removal): number =>
  "fields" in entry ? entry.fields.length : 0;

/** How many of the entries a page has room for, at least one. */
export function fittingIn(entries: Iterable<Resource | Removal>): number {
  let [count, bytes] = [0, 0];
  for (const entry of entries) {
    bytes += entrySize(entry);
    if (count > 0 && bytes > maxPageBytes) break;
    count++;
  }
  return Math.max(count, 1);
}

export const isSealed = (position: SentPosition): position is SealedPosition =>
  position !== 0 && "sealed" in position;

export const isInvalid = (feed: Feed | InvalidPosition): feed is InvalidPosition =>
  typeof feed === "string";

export const problemOf = (invalid: InvalidPosition): Problem =>
  invalid === "gone" ? positionGone : positionExpired;
