// The files of resources: on disk before a row names them, and gone when none does any more.

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

  /** Resolves when the bytes are on disk; rejects with what their source threw. */
  keep(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<SavedFile | "too-large"> {
    return this.#files.save(bytes, maxBytes);
  }

  /** Undefined when the file is gone. */
  read({ key }: StoredFile, start: number, end: number): Promise<FileBytes | undefined> {
    return this.#files.read(key, start, end);
  }

  /** What cannot be removed now is left to the sweep: nobody is to wait or to be refused for it. */
  async discard(files: readonly Pick<StoredFile, "key">[]): Promise<void> {
    const keys = files.map(({ key }) => key);
    if (keys.length > 0) await this.#files.remove(keys).catch(() => undefined);
  }

  /** After a change: removes what a resource named and no longer does. */
  release(before: string | undefined, after: string | undefined): Promise<void> {
    const named = new Set(readFiles(after).map(({ key }) => key));
    return this.discard(readFiles(before).filter(({ key }) => !named.has(key)));
  }

  /** Writes what names the parts; those that it does not name in the end are removed. */
  until<T extends { readonly resource: { readonly parts?: string } }>(
    parts: readonly StoredFile[],
    write: () => Promise<T | Problem>,
  ): Promise<T | Problem> {
    return parts.length === 0 ? write() : this.#guard(parts, write);
  }

  async #guard<T extends { readonly resource: { readonly parts?: string } }>(
    parts: readonly StoredFile[],
    write: () => Promise<T | Problem>,
  ): Promise<T | Problem> {
    try {
      // Another process that starts now must not sweep what came first of a long upload.
      await this.#files.touch(parts.map(({ key }) => key));
      const written = await write();
      const after = written instanceof Problem ? undefined : written.resource.parts;
      await this.#confirm(parts, after);
      await this.release(JSON.stringify(parts), after);
      return written;
    } catch (thrown) {
      if (isSurelyUnwritten(thrown)) await this.discard(parts);
      throw thrown;
    }
  }

  /** The row is there: what goes wrong with its files now cannot mean that it is not. */
  async #confirm(parts: readonly StoredFile[], after: string | undefined): Promise<void> {
    const named = new Set(readFiles(after).map(({ key }) => key));
    const keys = parts.map(({ key }) => key).filter((key) => named.has(key));
    try {
      await this.#files.confirm(keys);
    } catch (cause) {
      throw new Outage("unknown", `the files cannot be confirmed (${cause})`, { cause });
    }
  }

  /** Removes what no row names, left by a process that died. Says how many. */
  sweep(olderThanMs: number): Promise<number> {
    return this.#files.sweep(async (keys) => this.#store.named(keys), olderThanMs);
  }
}

/** The file at a slot of a resource, for whoever may see the resource. */
export function partAt(
  { resource, rules }: { readonly resource: Resource; readonly rules: Rules },
  slot: string,
): StoredFile | Problem {
  const part = readFiles(resource.parts).find((one) => one.slot === slot);
  const isHidden = part && validatorOf(definitionOf(rules)).isHidden(memberOf(part));
  return part === undefined || isHidden ? noPart : part;
}

const noPart = new Problem("not-found", "The resource has no file at this address.");

/** A row that may have come to be must find its files. */
const isSurelyUnwritten = (thrown: unknown): boolean =>
  thrown instanceof Outage && thrown.reason !== "unknown";
