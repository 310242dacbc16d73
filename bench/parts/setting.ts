// What every part of the benchmark is given: the stores, the token, and how much to measure.

import type { ShopSize } from "../data/shop.ts";
import type { Stores } from "../data/stores.ts";
import type { Pace } from "../load/interleave.ts";
import { say } from "../progress.ts";

export interface Setting {
  readonly stores: Stores;
  readonly secret: string;
  readonly withPeers: boolean;
  readonly sizes: Sizes;
}

export interface Sizes {
  readonly pace: Pace;
  /** People in the comparison with the bare server. */
  readonly people: number;
  readonly tokens: number;
  readonly growth: readonly number[];
  /** Members in the store that long queries run on: the largest of growth. */
  readonly big: number;
  readonly shop: ShopSize;
  /** Resources of a megabyte. */
  readonly large: number;
  readonly fairnessSeconds: number;
  /** How long the build of an index is watched. */
  readonly buildSeconds: number;
  readonly memorySeconds: number;
  readonly uploadBytes: number;
  /** Files in the store that is copied, beside the members of the largest. */
  readonly copiedFiles: number;
  /** Of the apps in one process that differ in one thing. */
  readonly observedRounds: number;
}

export const fullSizes: Sizes = {
  // On one core a server takes seconds until its code is compiled. On two shared cores the rate of
  // one server differs by a third between two rounds.
  pace: { rounds: 9, seconds: 1.5, warmUpSeconds: 5 },
  people: 100_000,
  tokens: 100_000,
  growth: [10_000, 100_000, 1_000_000],
  big: 1_000_000,
  shop: { orders: 100_000, products: 1_000 },
  large: 1_000,
  fairnessSeconds: 3,
  buildSeconds: 40,
  memorySeconds: 4,
  uploadBytes: 1_000_000_000,
  copiedFiles: 10_000,
  observedRounds: 4_000,
};

export const quickSizes: Sizes = {
  pace: { rounds: 1, seconds: 0.3, warmUpSeconds: 0.1 },
  people: 10_000,
  tokens: 1_000,
  growth: [1_000, 3_000, 10_000],
  big: 10_000,
  shop: { orders: 2_000, products: 100 },
  large: 40,
  fairnessSeconds: 0.5,
  buildSeconds: 10,
  memorySeconds: 0.5,
  uploadBytes: 20_000_000,
  copiedFiles: 200,
  observedRounds: 100,
};

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The figures of one line, or why there are none: one failure must not cost the others. */
export async function attempt<T>(
  label: string,
  work: () => Promise<T>,
): Promise<T | { readonly error: string }> {
  try {
    return await work();
  } catch (error) {
    say(`  ${label} failed: ${messageOf(error)}`);
    return { error: messageOf(error) };
  }
}
