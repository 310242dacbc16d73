// Counts unfinished uploads: how many each caller has, and how many bytes they use or will use.

import { Problem } from "../model/problem.ts";
import type { PartialUploads } from "../store/partial-uploads.ts";

/** The limit of one caller. */
export const maxUploadsPerCaller = 100;
/** Announced lengths cost nothing, so a caller with several uploads leaves the other half to others. */
const shareOfCaller = 1 / 2;
/** What an upload counts at least, so that their number has a limit, too. */
const leastBytes = 1024 * 1024;
/** The counts of other processes may be so old; counting takes at most a tenth of the time. */
const maxAgeMs = 1_000;
const maxShare = 10;

interface CallerTotals {
  number: number;
  bytes: number;
}

interface UploadTotals {
  bytes: number;
  readonly perCaller: Map<string, CallerTotals>;
  readonly validUntil: number;
}

export interface UploadsFree {
  readonly bytes: number;
  /** `share`: the limit of the caller, `budget`: that of all. */
  readonly reason: "share" | "budget";
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
    const counts = await this.#current();
    const own = ownOf(counts, caller);
    if (own.number >= maxUploadsPerCaller) return tooMany;
    return this.#take(
      counts,
      { ...own, number: own.number + 1 },
      caller,
      Math.max(bytes, leastBytes),
    );
  }

  /** Counts more bytes of an upload, or returns a problem when there is no room for them. */
  async reserve(caller: string, bytes: number): Promise<Problem | undefined> {
    const counts = await this.#current();
    return this.#take(counts, ownOf(counts, caller), caller, bytes);
  }

  /** The bytes that are free for an upload of this caller, and why there are no more. */
  async free(caller: string): Promise<UploadsFree> {
    const counts = await this.#current();
    return this.#freeOf(counts, ownOf(counts, caller));
  }

  #take(
    counts: UploadTotals,
    own: CallerTotals,
    caller: string,
    bytes: number,
  ): Problem | undefined {
    const free = this.#freeOf(counts, own);
    if (bytes > free.bytes) return uploadsFull(this.#limits.maxBytes, free.reason);
    counts.bytes += Math.max(bytes, 0);
    counts.perCaller.set(caller, { ...own, bytes: own.bytes + Math.max(bytes, 0) });
    return undefined;
  }

  /** A single upload may have all that is free. */
  #freeOf({ bytes }: UploadTotals, own: CallerTotals): UploadsFree {
    const { maxBytes } = this.#limits;
    const ofAll = Math.max(maxBytes - bytes, 0);
    if (own.number < 2) return { bytes: ofAll, reason: "budget" };
    const ofCaller = Math.max(Math.floor(maxBytes * shareOfCaller) - own.bytes, 0);
    return ofCaller < ofAll
      ? { bytes: ofCaller, reason: "share" }
      : { bytes: ofAll, reason: "budget" };
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
    const perCaller = new Map<string, CallerTotals>();
    let bytes = 0;
    for await (const { description, size } of this.#partial.list()) {
      const { caller, length } = JSON.parse(description);
      const counted = Math.max(length ?? size, leastBytes);
      const own = perCaller.get(caller) ?? noUploads;
      bytes += counted;
      perCaller.set(caller, { number: own.number + 1, bytes: own.bytes + counted });
    }
    const now = performance.now();
    return { bytes, perCaller, validUntil: now + maxAgeMs + maxShare * (now - startedAt) };
  }
}

const noUploads: CallerTotals = { number: 0, bytes: 0 };
const ownOf = ({ perCaller }: UploadTotals, caller: string): CallerTotals =>
  perCaller.get(caller) ?? noUploads;

export const uploadsFull = (maxBytes: number, reason: UploadsFree["reason"]): Problem =>
  new Problem(
    "storage-full",
    reason === "share"
      ? `The unfinished uploads of one caller may have ${Math.floor(maxBytes * shareOfCaller)} bytes, if it has several. Complete or cancel one of them.`
      : `All unfinished uploads together may have ${maxBytes} bytes, and there is no room for this one. Try again when others are complete or have expired.`,
  );

const tooMany = new Problem(
  "conflict",
  `One caller may have ${maxUploadsPerCaller} unfinished uploads. Complete or cancel one of them.`,
);
