// Creates and names epochs, which identify the history that a feed position belongs to.

import { randomInt } from "node:crypto";
import type { FeedPosition } from "../../model/feed-position.ts";

/**
 * A writer begins a new epoch when it starts. A collection that it writes to moves to that epoch, and
 * the last revision of each earlier epoch is stored. A position from before a backup was restored is
 * recognised: its epoch is unknown, or ended before its revision.
 *
 * An epoch is a counter followed by random bits. After a restore the same count can occur again, but
 * with other random bits.
 */
const randomValues = 2 ** 28;

export const nextEpoch = (last: number): number =>
  (Math.floor(last / randomValues) + 1) * randomValues + randomInt(randomValues);

/** How many epochs are stored. A position of an older epoch is no longer valid. */
const maxStoredEpochs = 1_000;

/** The oldest epoch that is still stored when this one begins. */
export const oldestStoredEpoch = (epoch: number): number =>
  Math.max(0, Math.floor(epoch / randomValues) - maxStoredEpochs) * randomValues;

/** The epoch of a collection as clients see it. A recreated collection has another key. */
export const epochName = (key: number, epoch: number): string =>
  `${key.toString(36)}.${epoch.toString(36)}`;

/** Returns the revision up to which removals do not matter to a client at this position. */
export const reachedBy = ({ revision, start = 0 }: FeedPosition): number =>
  Math.max(revision, start);

/** Returns the key and the epoch in a name; NaN where the name is not valid. */
export function readEpochName(name: string): readonly [key: number, epoch: number] {
  const [key = "", epoch = ""] = name.split(".");
  return [Number.parseInt(key, 36), Number.parseInt(epoch, 36)];
}
