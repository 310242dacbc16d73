// Defines the contract of a file store. A row references a file only after its bytes are stored.

import { createHash } from "node:crypto";
import { Outage } from "../model/outage.ts";
import { isKey } from "./file-key.ts";
import type { PartialUploads } from "./partial-uploads.ts";

export interface Files {
  /**
   * Saves the bytes, and resolves when they are on disk. Resolves with `too-large` when there are more than
   * `maxBytes`, and rejects with the error of the source. In both cases nothing is left behind.
   */
  save(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<SavedFile | "too-large">;
  /**
   * Returns the bytes from `start` to `end` (exclusive), or undefined when the file does not exist. They can
   * be read to the end also when the file is removed meanwhile.
   */
  read(key: string, start: number, end: number): Promise<ReadableStream<Uint8Array> | undefined>;
  /**
   * The same for a runtime that cannot set a stream's Content-Length. A Blob is the body of a response that
   * is returned in the same turn of the event loop, and is good for nothing else.
   */
  readonly send?: (key: string, start: number, end: number) => Promise<FileBytes | undefined>;
  /** Returns all bytes of a file, or undefined when it does not exist. */
  open(key: string): Promise<OpenedFile | undefined>;
  /** Returns the size of a file in bytes, or undefined when it does not exist. */
  size(key: string): Promise<number | undefined>;
  /**
   * Saves bytes under the key that they have in another store. Resolves with false when the file is there
   * already. Rejects when they have another hash.
   */
  saveAs(key: string, bytes: AsyncIterable<Uint8Array>, sha256: string): Promise<boolean>;
  /**
   * Sets the modification time of files to now, so that no sweep removes them. Rejects with an Outage
   * when one has been removed already.
   */
  touch(keys: readonly string[]): Promise<void>;
  /**
   * Called after the commit that references the files, and before it is acknowledged: makes sure that no
   * sweep of another process removed them. Rejects with an Outage when one is gone.
   */
  confirm(keys: readonly string[]): Promise<void>;
  /** Ignores files that do not exist. */
  remove(keys: readonly string[]): Promise<void>;
  /**
   * Sets files aside that a commit will unreference. They can still be read. Afterwards `settleAside`
   * removes them, and puts back those that are still referenced, also after a crash.
   */
  setAside(keys: readonly string[]): Promise<void>;
  settleAside(findReferenced: FindReferenced): Promise<void>;
  /**
   * Removes files that no resource references and that are older than this; a crashed process has left
   * them. Resolves with their number. `findReferenced` returns those of the keys that a resource references.
   */
  sweep(findReferenced: FindReferenced, olderThanMs: number): Promise<number>;
  /** Yields the keys of the files that a sweep removes. */
  orphans(findReferenced: FindReferenced, olderThanMs: number): AsyncIterable<readonly string[]>;
  /** Rejects with `OtherStore` when the storage belongs to another store, where no lock prevents that. */
  claim?(): Promise<void>;
  /** Uploads that arrive in several requests. */
  readonly partial: PartialUploads;
  /** Returns a URL that reads the file without credentials for a while, where the storage has such URLs. */
  link?(key: string, options: LinkOptions): Promise<string>;
  /** Returns why files cannot be read or saved now, or undefined. Without it, they are where the store is. */
  ready?(): Promise<string | undefined>;
}

/** The answer to a request for a link, and how long the link is valid. */
export interface LinkOptions {
  readonly expiresInSeconds: number;
  readonly type: string;
  readonly disposition: string;
  readonly cacheControl: string;
}

export type FindReferenced = (keys: readonly string[]) => Promise<ReadonlySet<string>>;

/** A response body. */
export type FileBytes = ReadableStream<Uint8Array> | Blob;

export interface OpenedFile {
  readonly size: number;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A file that was opened and not read is never closed, and Bun ends a process that loses an open file. */
export async function* bytesOf(
  open: () => Promise<OpenedFile | undefined>,
): AsyncGenerator<Uint8Array> {
  const opened = await open();
  if (opened === undefined) throw new MissingFile();
  yield* opened.bytes;
}

export class MissingFile extends Error {}

export interface SavedFile {
  readonly key: string;
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
}

/** `saveAs` of a store of files, which saves the bytes with `save`. */
export async function saveAs(
  files: Files,
  key: string,
  sha256: string,
  save: () => Promise<Pick<SavedFile, "sha256"> | "too-large">,
): Promise<boolean> {
  if (!isKey(key)) throw new Error(`${key} is not the key of a file`);
  const there = await files.open(key);
  if (there !== undefined && (await hashOf(there.bytes)) === sha256) {
    await files.touch([key]);
    return false;
  }
  const saved = await save();
  if (saved !== "too-large" && saved.sha256 === sha256) return true;
  await files.remove([key]);
  throw new Outage("damaged", `the file ${key} does not have the bytes it should have`);
}

async function hashOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of bytes) hash.update(piece);
  return hash.digest("hex");
}
