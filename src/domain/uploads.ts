// Stores the files of resources before a row refers to them, and removes them when no row does.

import { readFiles, type StoredFile } from "../model/file.ts";
import { Outage } from "../model/outage.ts";
import { Problem } from "../model/problem.ts";
import type { FileBytes, Files, LinkOptions, SavedFile } from "../store/files.ts";
import type { Store } from "../store/store.ts";
import type { CollectionAccess, CollectionPermission } from "./collection-access.ts";
import {
  type ArrivingFile,
  ArrivingFiles,
  type FileLimits,
  fileTooLarge,
  overQuota,
  QuotaError,
} from "./file-limits.ts";

/** Removes what was made from files that are removed. */
type Forget = (keys: readonly string[]) => Promise<void>;

/** What has come and gone since the process was started. */
export interface FileCounts {
  saved: number;
  savedBytes: number;
  read: number;
  readBytes: number;
  /** Files that no row referred to. */
  swept: number;
}

export class Uploads {
  readonly counts: Readonly<FileCounts>;
  readonly #counts: FileCounts = { saved: 0, savedBytes: 0, read: 0, readBytes: 0, swept: 0 };
  readonly #store: Store;
  readonly #files: Files;
  readonly #limits: FileLimits;
  readonly #arriving: ArrivingFiles;
  readonly #forget: Forget;

  constructor(
    store: Store,
    files: Files,
    limits: FileLimits = {},
    forget: Forget = async () => undefined,
  ) {
    this.counts = this.#counts;
    this.#store = store;
    this.#files = files;
    this.#limits = limits;
    this.#arriving = new ArrivingFiles(store, limits);
    this.#forget = forget;
  }

  get maxFileBytes(): number {
    return this.#limits.perFile ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Resolves when the bytes of a file are on disk; rejects with the error of their source. A file that is
   * known to be too large is rejected before its bytes are read. `file` is needed for an existing resource.
   */
  async save(
    access: CollectionAccess,
    permission: CollectionPermission,
    bytes: AsyncIterable<Uint8Array>,
    maxBytes: number,
    file: ArrivingFile | undefined = newFileOf(access, permission),
  ): Promise<SavedFile | "too-large" | Problem> {
    const forbidden = access.require(permission);
    if (forbidden !== undefined) return forbidden;
    const perFile = this.maxFileBytes;
    if ((file?.expectedBytes ?? 0) > perFile) return fileTooLarge(perFile);
    try {
      const counted = this.#arriving.count(bytes, file);
      const saved = await this.#files.save(counted, Math.min(maxBytes, perFile));
      if (saved === "too-large") return perFile < maxBytes ? fileTooLarge(perFile) : saved;
      this.#counts.saved++;
      this.#counts.savedBytes += saved.size;
      return saved;
    } catch (thrown) {
      if (thrown instanceof QuotaError) return overQuota(thrown.quota, access.principal);
      throw thrown;
    }
  }

  /** Returns undefined when the file does not exist. */
  async read(
    access: CollectionAccess,
    { key }: StoredFile,
    start: number,
    end: number,
  ): Promise<ReadableStream<Uint8Array> | Problem | undefined> {
    return access.require("read") ?? this.#counted(this.#files.read(key, start, end), end - start);
  }

  /** The same for the body of a response that is returned at once. */
  async send(
    access: CollectionAccess,
    file: StoredFile,
    start: number,
    end: number,
  ): Promise<FileBytes | Problem | undefined> {
    const send = this.#files.send ?? ((...range) => this.#files.read(...range));
    return access.require("read") ?? this.#counted(send(file.key, start, end), end - start);
  }

  async #counted<T>(reading: Promise<T | undefined>, bytes: number): Promise<T | undefined> {
    const found = await reading;
    if (found === undefined) return undefined;
    this.#counts.read++;
    this.#counts.readBytes += bytes;
    return found;
  }

  /** Returns a URL that reads the file for a while without credentials, where the storage has such URLs. */
  async link(
    access: CollectionAccess,
    { key }: StoredFile,
    options: LinkOptions,
  ): Promise<string | Problem | undefined> {
    return access.require("read") ?? this.#files.link?.(key, options);
  }

  /** A file that cannot be removed now is left to the sweep, so that no request fails because of it. */
  async discard(files: readonly Pick<StoredFile, "key">[]): Promise<void> {
    const keys = files.map(({ key }) => key);
    if (keys.length === 0) return;
    await this.#files.remove(keys).catch(() => undefined);
    await this.#forget(keys);
  }

  /**
   * Runs a write that refers to new files; removes the files that it does not refer to in the end.
   * `filesOf` returns the files of the written resource.
   */
  async writeWithFiles<T>(
    files: readonly StoredFile[],
    write: () => Promise<T | Problem>,
    filesOf: (written: T) => string | undefined,
  ): Promise<T | Problem> {
    try {
      // A process that starts now must not sweep the first files of a long upload.
      await this.#files.touch(files.map(({ key }) => key));
      const written = await write();
      const after = written instanceof Problem ? undefined : filesOf(written);
      const referenced = new Set(readFiles(after).map(({ key }) => key));
      await this.#confirm(files.filter(({ key }) => referenced.has(key)));
      await this.discard(files.filter(({ key }) => !referenced.has(key)));
      return written;
    } catch (thrown) {
      if (isCertainlyNotWritten(thrown)) await this.discard(files);
      throw thrown;
    }
  }

  /** The row is committed, so an error with its files must not be reported as "not stored". */
  async #confirm(files: readonly StoredFile[]): Promise<void> {
    try {
      await this.#confirmReferenced(files.map(({ key }) => key));
    } catch (cause) {
      throw new Outage("unknown", `the files cannot be confirmed (${cause})`, { cause });
    }
  }

  /** Another write may have replaced or removed files since the commit, and their bytes with them. */
  async #confirmReferenced(keys: readonly string[]): Promise<void> {
    try {
      await this.#files.confirm(keys);
    } catch (thrown) {
      const referenced = await this.#store.findReferencedFiles(keys);
      if (referenced.size === keys.length) throw thrown;
      await this.#confirmReferenced([...referenced]);
    }
  }

  /** Called before the files are erased, so that none is left behind if this process ends meanwhile. */
  async setAside(files: readonly Pick<StoredFile, "key">[]): Promise<void> {
    const keys = files.map(({ key }) => key);
    await this.#files.setAside(keys);
    await this.#forget(keys);
  }

  /** Removes the files that were set aside, or puts them back if rows still refer to them. */
  settleAside(): Promise<void> {
    return this.#files.settleAside(async (keys) => this.#store.findReferencedFiles(keys));
  }

  /** Removes files that no row refers to, left by a process that died. Returns how many. */
  async sweep(olderThanMs: number): Promise<number> {
    const findReferenced = async (keys: readonly string[]) => this.#store.findReferencedFiles(keys);
    const count = await this.#files.sweep(findReferenced, olderThanMs);
    this.#counts.swept += count;
    return count;
  }
}

const newFileOf = (
  { creator }: CollectionAccess,
  permission: CollectionPermission,
): ArrivingFile | undefined => (permission === "create" ? { owner: creator.owner } : undefined);

/** A row that may have been committed must find its files. */
const isCertainlyNotWritten = (thrown: unknown): boolean =>
  thrown instanceof Outage && thrown.reason !== "unknown";
