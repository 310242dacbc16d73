// Counts unfinished uploads: how many each caller has, and how many bytes they use or will use.

import { Problem } from "../model/problem.ts";
import type { PartialUploads } from "../store/partial-uploads.ts";

/** The limit of one caller. */
export const maxUploadsPerCaller = 100;
/** Announced lengths cost nothing, so nobody reserves what others need, and without a token all together less. */
const shares = { subject: 1 / 2, anonymous: 1 / 4 } as const;
/** For so long after its last byte an upload counts with its announced length, then with what it has. */
export const reservedMs = 300_000;
/** What an upload counts at least, so that their number has a limit, too. */
const leastBytes = 1024 * 1024;
/** The counts of other processes may be so old; counting takes at most a tenth of the time. */
const maxAgeMs = 1_000;
const maxShare = 10;

/** Whose upload it is. */
export interface Uploader {
  /** The subject, or the network of an anonymous caller: its uploads are counted. */
  readonly caller: string;
  /** Whose bytes are counted together; null for all anonymous callers. */
  readonly owner: string | null;
}

interface UploadTotals {
  bytes: number;
  readonly numbers: Map<string, number>;
  readonly owned: Map<string | null, number>;
  readonly validUntil: number;
}

export interface UploadsFree {
  readonly bytes: number;
  /** `budget`: the limit of all. */
  readonly reason: keyof typeof shares | "budget";
}

interface TallyLimits {
  readonly clock: () => number;
  readonly maxBytes: number;
}

export class UploadTally {
  readonly #partial: PartialUploads;
  readonly #limits: TallyLimits;
  #counts: Promise<UploadTotals | undefined> | undefined;

  constructor(partial: PartialUploads, limits: TallyLimits) {
    this.#partial = partial;
    this.#limits = limits;
  }

  /** Counts a new upload, or returns the limit that it exceeds. */
  async add(uploader: Uploader, length: number): Promise<Problem | undefined> {
    const counts = await this.#current();
    const number = counts.numbers.get(uploader.caller) ?? 0;
    if (number >= maxUploadsPerCaller) return tooMany;
    const full = this.#take(counts, uploader, Math.max(length, leastBytes));
    if (full === undefined) counts.numbers.set(uploader.caller, number + 1);
    return full;
  }

  /** Counts an upload of this size with its length, or returns a problem when there is no room for it. */
  async reserve(uploader: Uploader, length: number, size: number): Promise<Problem | undefined> {
    const more = length - Math.max(size, leastBytes);
    return this.#take(await this.#current(), uploader, Math.max(more, 0));
  }

  /** The bytes that are free for an upload, and why there are no more. */
  async free(uploader: Uploader): Promise<UploadsFree> {
    return this.#freeOf(await this.#current(), uploader);
  }

  #take(counts: UploadTotals, uploader: Uploader, bytes: number): Problem | undefined {
    const free = this.#freeOf(counts, uploader);
    if (bytes > free.bytes) return uploadsFull(this.#limits.maxBytes, free.reason);
    addTo(counts, uploader, bytes);
    return undefined;
  }

  #freeOf({ bytes, owned }: UploadTotals, { owner }: Uploader): UploadsFree {
    const { maxBytes } = this.#limits;
    const reason = owner === null ? "anonymous" : "subject";
    const ofAll = Math.max(maxBytes - bytes, 0);
    const ofOwner = Math.max(shareOf(maxBytes, reason) - (owned.get(owner) ?? 0), 0);
    return ofOwner < ofAll ? { bytes: ofOwner, reason } : { bytes: ofAll, reason: "budget" };
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
    const totals = { bytes: 0, numbers: new Map(), owned: new Map(), validUntil: 0 };
    const reservedSince = this.#limits.clock() - reservedMs;
    for await (const { description, size, changedAt } of this.#partial.list()) {
      const { length, ...uploader }: Uploader & { length: number | null } = JSON.parse(description);
      const reserved = changedAt < reservedSince ? size : Math.max(length ?? 0, size);
      addTo(totals, uploader, Math.max(reserved, leastBytes));
      totals.numbers.set(uploader.caller, (totals.numbers.get(uploader.caller) ?? 0) + 1);
    }
    const now = performance.now();
    return { ...totals, validUntil: now + maxAgeMs + maxShare * (now - startedAt) };
  }
}

function addTo(totals: Pick<UploadTotals, "bytes" | "owned">, { owner }: Uploader, bytes: number) {
  totals.bytes += bytes;
  totals.owned.set(owner, (totals.owned.get(owner) ?? 0) + bytes);
}

const shareOf = (maxBytes: number, whose: keyof typeof shares): number =>
  Math.floor(maxBytes * shares[whose]);

export const uploadsFull = (maxBytes: number, reason: UploadsFree["reason"]): Problem =>
  new Problem("storage-full", fullDetail(maxBytes, reason));

function fullDetail(maxBytes: number, reason: UploadsFree["reason"]): string {
  if (reason === "budget")
    return `All unfinished uploads together may have ${maxBytes} bytes, and there is no room for this one. Try again when others are complete or have expired.`;
  const share = shareOf(maxBytes, reason);
  return reason === "subject"
    ? `The unfinished uploads of one subject may have ${share} bytes. Complete or cancel one of them.`
    : `The unfinished uploads of all callers without a token may have ${share} bytes together. Try again later, or send a token.`;
}

const tooMany = new Problem(
  "conflict",
  `One caller may have ${maxUploadsPerCaller} unfinished uploads. Complete or cancel one of them.`,
);
