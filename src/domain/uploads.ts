// Stores the files of resources before a row refers to them, and removes them when no row does.

import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import { memberOf, readFiles, type StoredFile } from "../model/file.ts";
import { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { validatorOf } from "../model/validator.ts";
import type { FileBytes, Files, SavedFile } from "../store/files.ts";
import { Outage, type Store } from "../store/store.ts";

export class Uploads {
  readonly #store: Store;
  readonly #files: Files;

  constructor(store: Store, files: Files) {
    this.#store = store;
    this.#files = files;
  }

  /** Resolves when the bytes are on disk; rejects with the error of their source. */
  save(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<SavedFile | "too-large"> {
    return this.#files.save(bytes, maxBytes);
  }

  /** Returns undefined when the file does not exist. */
  read({ key }: StoredFile, start: number, end: number): Promise<FileBytes | undefined> {
    return this.#files.read(key, start, end);
  }

  /** A file that cannot be removed now is left to the sweep, so that no request fails because of it. */
  async discard(files: readonly Pick<StoredFile, "key">[]): Promise<void> {
    const keys = files.map(({ key }) => key);
    if (keys.length > 0) await this.#files.remove(keys).catch(() => undefined);
  }

  /** Removes the files that the former state of a resource has and the new state has not. */
  removeUnused(before: string | undefined, after: string | undefined): Promise<void> {
    const referenced = new Set(readFiles(after).map(({ key }) => key));
    return this.discard(readFiles(before).filter(({ key }) => !referenced.has(key)));
  }

  /** Runs a write that refers to new files; removes the files that it does not refer to in the end. */
  writeWithFiles<T extends { readonly resource: { readonly parts?: string } }>(
    parts: readonly StoredFile[],
    write: () => Promise<T | Problem>,
  ): Promise<T | Problem> {
    return parts.length === 0 ? write() : this.#writeWithNewFiles(parts, write);
  }

  async #writeWithNewFiles<T extends { readonly resource: { readonly parts?: string } }>(
    parts: readonly StoredFile[],
    write: () => Promise<T | Problem>,
  ): Promise<T | Problem> {
    try {
      // A process that starts now must not sweep the first files of a long upload.
      await this.#files.touch(parts.map(({ key }) => key));
      const written = await write();
      const after = written instanceof Problem ? undefined : written.resource.parts;
      await this.#confirm(parts, after);
      await this.removeUnused(JSON.stringify(parts), after);
      return written;
    } catch (thrown) {
      if (isCertainlyNotWritten(thrown)) await this.discard(parts);
      throw thrown;
    }
  }

  /** The row is committed, so an error with its files must not be reported as "not stored". */
  async #confirm(parts: readonly StoredFile[], after: string | undefined): Promise<void> {
    const referenced = new Set(readFiles(after).map(({ key }) => key));
    const keys = parts.map(({ key }) => key).filter((key) => referenced.has(key));
    try {
      await this.#files.confirm(keys);
    } catch (cause) {
      throw new Outage("unknown", `the files cannot be confirmed (${cause})`, { cause });
    }
  }

  /** Removes files that no row refers to, left by a process that died. Returns how many. */
  sweep(olderThanMs: number): Promise<number> {
    return this.#files.sweep(async (keys) => this.#store.findReferencedFiles(keys), olderThanMs);
  }
}

/** Returns the file in a slot of a resource that the caller may read. */
export function fileAt(
  { resource, rules }: { readonly resource: Resource; readonly rules: Rules },
  slot: string,
): StoredFile | Problem {
  const part = readFiles(resource.parts).find((one) => one.slot === slot);
  const isHidden = part && validatorOf(definitionOf(rules)).isHidden(memberOf(part));
  return part === undefined || isHidden ? fileNotFound : part;
}

const fileNotFound = new Problem("not-found", "The resource has no file at this address.");

/** A row that may have been committed must find its files. */
const isCertainlyNotWritten = (thrown: unknown): boolean =>
  thrown instanceof Outage && thrown.reason !== "unknown";
