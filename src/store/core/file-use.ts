// Compares the bytes of files with their quotas while a batch is applied.

import { readFiles } from "../../model/file.ts";
import type { Outcome } from "../store.ts";
import { countedBytes, type FileHolder } from "./file-references.ts";

/** Undefined: no limit. */
export interface FileQuotas {
  readonly perSubject?: number | undefined;
  readonly total?: number | undefined;
}

/** What is stored before the batch. */
export interface StoredFileUse {
  readonly quotas: FileQuotas;
  /** The bytes of the files of an owner; without one, of all. */
  bytes(owner?: string): number;
}

const nothing = () => undefined;

/** Counts what the batch adds and gives back. Without quotas it costs nothing. */
export class FileUse {
  readonly #stored: StoredFileUse | undefined;
  /** By owner; undefined for all together. */
  readonly #changes = new Map<string | undefined, number>();

  constructor(stored: StoredFileUse | undefined) {
    this.#stored = stored;
  }

  /** Returns the outcome of a change after which there would be too much. What does not grow is accepted. */
  exceeded(before: FileHolder | undefined, after: FileHolder): Outcome | undefined {
    if (!this.#stored || after.files === null) return undefined;
    const { perSubject, total } = this.#stored.quotas;
    const [last, next] = [bytesIn(before), bytesIn(after)];
    const isSame = before?.owner === after.owner;
    const growth = next - last;
    return (
      (after.owner === null
        ? undefined
        : this.#compare("subject", perSubject, isSame ? growth : next, after.owner)) ??
      this.#compare("all", total, growth)
    );
  }

  /** Returns a function that undoes it. */
  count(before: FileHolder | undefined, after: FileHolder | undefined): () => void {
    if (!this.#stored || (!before?.files && !after?.files)) return nothing;
    const steps = [
      [undefined, bytesIn(after) - bytesIn(before)],
      [before?.owner ?? undefined, before?.owner ? -bytesIn(before) : 0],
      [after?.owner ?? undefined, after?.owner ? bytesIn(after) : 0],
    ] as const;
    for (const [owner, bytes] of steps) this.#add(owner, bytes);
    return () => {
      for (const [owner, bytes] of steps) this.#add(owner, -bytes);
    };
  }

  #compare(
    of: "subject" | "all",
    limit: number | undefined,
    growth: number,
    owner?: string,
  ): Outcome | undefined {
    if (!this.#stored || limit === undefined || growth <= 0) return undefined;
    const used = this.#stored.bytes(owner) + (this.#changes.get(owner) ?? 0);
    const subject = owner !== undefined && { owner };
    return used + growth > limit ? { kind: "over-quota", of, limit, used, ...subject } : undefined;
  }

  #add(owner: string | undefined, bytes: number): void {
    this.#changes.set(owner, (this.#changes.get(owner) ?? 0) + bytes);
  }
}

const bytesIn = (holder: FileHolder | undefined): number =>
  readFiles(holder?.files ?? undefined).reduce((sum, file) => sum + countedBytes(file), 0);
