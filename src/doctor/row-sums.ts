// Compares two sets of rows that come in different orders, with a fixed amount of memory.

import { crc32 } from "node:zlib";

/** Rows are summed by place, so that a difference is found again in a small part of them. */
const bucketCount = 4096;

export const bucketOf = (place: number): number => place % bucketCount;

/** The sums of the hashes of one set minus those of the other: all are zero when both have the same rows. */
export class RowSums {
  readonly #first = new Uint32Array(bucketCount);
  readonly #second = new Uint32Array(bucketCount);

  add(place: number, text: string): void {
    this.#sum(place, text, 1);
  }

  subtract(place: number, text: string): void {
    this.#sum(place, text, -1);
  }

  /** The buckets in which the sets differ. */
  differing(): readonly number[] {
    const buckets: number[] = [];
    for (let bucket = 0; bucket < bucketCount; bucket++)
      if (this.#first[bucket] !== 0 || this.#second[bucket] !== 0) buckets.push(bucket);
    return buckets;
  }

  /** The elements wrap around by themselves. */
  #sum(place: number, text: string, sign: 1 | -1): void {
    const bucket = bucketOf(place);
    this.#first[bucket] = (this.#first[bucket] ?? 0) + sign * crc32(text);
    this.#second[bucket] = (this.#second[bucket] ?? 0) + sign * hashOf(text);
  }
}

/** FNV-1a. The CRC alone would not tell apart all rows of a large collection. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}
