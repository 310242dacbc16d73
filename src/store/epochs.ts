// Epochs: they tell the history that a feed position comes from, so that no other is taken for it.

import { randomInt } from "node:crypto";

/**
 * A writer begins an epoch when it starts. A collection that it writes to moves to that epoch, and
 * keeps for each earlier epoch the last revision that was written in it. So a position of a history
 * that a restored backup has cut off is recognised: its epoch is unknown, or ended before its revision.
 *
 * An epoch is a number that counts up, followed by random bits: after a restored backup the same
 * count comes again, with other bits.
 */
const randomValues = 2 ** 28;

export const nextEpoch = (last: number): number =>
  (Math.floor(last / randomValues) + 1) * randomValues + randomInt(randomValues);

/** So many epochs are remembered. A position of an earlier one is no longer valid. */
const keptEpochs = 1_000;

/** The first epoch that is still remembered when this one begins. */
export const oldestKept = (epoch: number): number =>
  Math.max(0, Math.floor(epoch / randomValues) - keptEpochs) * randomValues;

/** The epoch of one collection as clients see it. A recreated collection has another key. */
export const epochName = (key: number, epoch: number): string =>
  `${key.toString(36)}.${epoch.toString(36)}`;

/** The key and the epoch that a name stands for; NaN for what is no such name. */
export function readEpochName(name: string): readonly [key: number, epoch: number] {
  const [key = "", epoch = ""] = name.split(".");
  return [Number.parseInt(key, 36), Number.parseInt(epoch, 36)];
}
