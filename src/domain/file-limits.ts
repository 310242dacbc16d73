// Limits the bytes of files: of one, of a resource, of a subject, and of all together.

import { readFiles, type StoredFile } from "../model/file.ts";
import type { Principal } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { isAdmin } from "../model/token.ts";
import type { Outcome, Store } from "../store/store.ts";

/** Undefined: no limit. */
export interface FileLimits {
  readonly perFile?: number | undefined;
  readonly perResource?: number | undefined;
  readonly perSubject?: number | undefined;
  readonly total?: number | undefined;
}

/**
 * Rejects a resource that gets a file that is too large, or more bytes than a resource may have. Their
 * number is for a caller who sees all files that were there.
 */
export function checkFileLimits(
  { perFile, perResource }: FileLimits = {},
  files: string | undefined,
  before: string | undefined,
  sees: (file: StoredFile) => boolean,
): Problem | undefined {
  if (files === undefined || files === before) return undefined;
  const stored = readFiles(before);
  const known = new Set(stored.map(({ key }) => key));
  const next = readFiles(files);
  const largest = Math.max(0, ...next.map(({ key, size }) => (known.has(key) ? 0 : size)));
  if (perFile !== undefined && largest > perFile) return fileTooLarge(perFile);
  const bytes = sizeOf(next);
  const isTooLarge = perResource !== undefined && bytes > perResource && bytes > sizeOf(stored);
  return isTooLarge
    ? resourceTooLarge(perResource, stored.every(sees) ? bytes : undefined)
    : undefined;
}

const sizeOf = (files: readonly { readonly size: number }[]): number =>
  files.reduce((sum, { size }) => sum + size, 0);

export const fileTooLarge = (limit: number): Problem =>
  new Problem("content-too-large", `A file may have ${limit} bytes at most. Nothing was stored.`);

const resourceTooLarge = (limit: number, bytes: number | undefined): Problem =>
  new Problem(
    "content-too-large",
    `The files of a resource may have ${limit} bytes together${bytes === undefined ? "" : `, and these have ${bytes}`}. Nothing was stored.`,
  );

type OverQuota = Omit<Extract<Outcome, { kind: "over-quota" }>, "kind">;

/** How much another subject has is not for the caller. */
export function overQuota({ of, limit, used, owner }: OverQuota, caller: Principal): Problem {
  const isKnown = isAdmin(caller) || caller.subject === owner;
  const known = isKnown ? `, and those of this one have ${used}` : "";
  return new Problem(
    "storage-full",
    of === "subject"
      ? `The files of one subject may have ${limit} bytes together${known}. Nothing was stored; delete some, or ask the operator for more.`
      : `All files together may have ${limit} bytes, and have ${used}. Nothing was stored; the operator can raise the limit.`,
  );
}

/** Thrown in the middle of a file. */
export class QuotaError extends Error {
  readonly quota: OverQuota;

  constructor(quota: OverQuota) {
    super("a quota of files is exceeded");
    this.quota = quota;
  }
}

/** What is known of a file before it arrives. */
export interface ArrivingFile {
  /** The owner of its resource. */
  readonly owner: string | undefined;
  readonly expectedBytes?: number;
  /** The size of the file that it replaces. */
  readonly replacedBytes?: number;
}

/**
 * Compares files with the quotas while they arrive: many at once must not fill the disk before the store
 * rejects them.
 */
export class ArrivingFiles {
  readonly #store: Store;
  readonly #limits: FileLimits;
  /** The bytes of the files that arrive now, by owner; undefined for all together. */
  readonly #arriving = new Map<string | undefined, number>();

  constructor(store: Store, limits: FileLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  /** Yields the same bytes. Throws a QuotaError as soon as there are too many; at once, if that is known. */
  count(
    bytes: AsyncIterable<Uint8Array>,
    file: ArrivingFile | undefined,
  ): AsyncIterable<Uint8Array> {
    const { perSubject, total } = this.#limits;
    const isLimited = perSubject !== undefined || total !== undefined;
    return isLimited && file ? this.#count(bytes, file) : bytes;
  }

  async *#count(
    bytes: AsyncIterable<Uint8Array>,
    { owner, expectedBytes = 0, replacedBytes = 0 }: ArrivingFile,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const quotas = await this.#quotasOf(owner);
    let counted = 0;
    /** What the file adds when it has this size. */
    const grow = (size: number) => {
      const more = size - replacedBytes - counted;
      if (more <= 0) return;
      counted += more;
      for (const { owner } of quotas) this.#change(owner, more);
      for (const quota of quotas) this.#check(quota);
    };
    try {
      grow(expectedBytes);
      let received = 0;
      for await (const chunk of bytes) {
        received += chunk.byteLength;
        grow(received);
        yield chunk;
      }
    } finally {
      for (const { owner } of quotas) this.#change(owner, -counted);
    }
  }

  /** What is stored is read once for each file. */
  async #quotasOf(owner: string | undefined): Promise<readonly OverQuota[]> {
    const { perSubject, total } = this.#limits;
    const subject = owner === undefined || perSubject === undefined ? [] : [owner];
    return Promise.all([
      ...subject.map((owner) => this.#quota("subject", perSubject ?? 0, owner)),
      ...(total === undefined ? [] : [this.#quota("all", total, undefined)]),
    ]);
  }

  async #quota(of: OverQuota["of"], limit: number, owner: string | undefined): Promise<OverQuota> {
    return { of, limit, owner, used: await this.#store.fileBytes(owner) };
  }

  #check(quota: OverQuota): void {
    const arriving = this.#arriving.get(quota.owner) ?? 0;
    if (quota.used + arriving > quota.limit) throw new QuotaError(quota);
  }

  #change(owner: string | undefined, bytes: number): void {
    const arriving = (this.#arriving.get(owner) ?? 0) + bytes;
    if (arriving === 0) this.#arriving.delete(owner);
    else this.#arriving.set(owner, arriving);
  }
}
