// Counts unfinished uploads: how many each caller has, and how many bytes all of them use or will use.

import { Problem } from "../model/problem.ts";
import type { PartialUploads } from "../store/files.ts";

/** The limit of one caller. */
export const maxUploadsPerCaller = 100;
/** What an upload counts at least, so that their number has a limit, too. */
const leastBytes = 1024 * 1024;
/** The counts of other processes may be so old; counting takes at most a tenth of the time. */
const maxAgeMs = 1_000;
const maxShare = 10;

interface UploadTotals {
  bytes: number;
  readonly perCaller: Map<string, number>;
  readonly validUntil: number;
}

export class UploadTally {
  readonly #partial: PartialUploads;
  readonly #limits: { readonly maxBytes: number };
  #counts: Promise<UploadTotals | undefined> | undefined;

  constructor(partial: PartialUploads, limits: { readonly maxBytes: number }) {
    this.#partial = partial;
    this.#limits = limits;
  }

  /** Counts a new upload, or returns the limit that it exceeds. */
  async add(caller: string, bytes: number): Promise<Problem | undefined> {
    const { perCaller } = await this.#current();
    const number = perCaller.get(caller) ?? 0;
    if (number >= maxUploadsPerCaller) return tooMany;
    const full = await this.reserve(Math.max(bytes, leastBytes));
    if (full === undefined) perCaller.set(caller, number + 1);
    return full;
  }

  /** Counts more bytes of an upload, or returns a problem when there is no room for them. */
  async reserve(bytes: number): Promise<Problem | undefined> {
    const counts = await this.#current();
    if (counts.bytes + bytes > this.#limits.maxBytes) return uploadsFull(this.#limits.maxBytes);
    counts.bytes += Math.max(bytes, 0);
    return undefined;
  }

  async free(): Promise<number> {
    return Math.max(this.#limits.maxBytes - (await this.#current()).bytes, 0);
  }

  /** Counts again at the next use. */
  forget(): void {
    this.#counts = undefined;
  }

  async #current(): Promise<UploadTotals> {
    for (;;) {
      const latest = this.#counts;
      const counts = await latest;
      if (counts !== undefined && performance.now() < counts.validUntil) return counts;
      // Another request may have begun to count meanwhile.
      if (latest !== this.#counts) continue;
      const counting = this.#count();
      this.#counts = counting.catch(() => undefined);
      return counting;
    }
  }

  async #count(): Promise<UploadTotals> {
    const startedAt = performance.now();
    const perCaller = new Map<string, number>();
    let bytes = 0;
    for await (const { description, size } of this.#partial.list()) {
      const { caller, length } = JSON.parse(description);
      bytes += Math.max(length ?? size, leastBytes);
      perCaller.set(caller, (perCaller.get(caller) ?? 0) + 1);
    }
    const now = performance.now();
    return { bytes, perCaller, validUntil: now + maxAgeMs + maxShare * (now - startedAt) };
  }
}

export const uploadsFull = (maxBytes: number): Problem =>
  new Problem(
    "storage-full",
    `All unfinished uploads together may have ${maxBytes} bytes, and there is no room for this one. Try again when others are complete or have expired.`,
  );

const tooMany = new Problem(
  "conflict",
  `One caller may have ${maxUploadsPerCaller} unfinished uploads. Complete or cancel one of them.`,
);
