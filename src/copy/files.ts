// Copies the files that resources refer to, and reads them back.

import { createHash } from "node:crypto";
import { readFiles, type StoredFile } from "../model/file.ts";
import { Outage } from "../model/outage.ts";
import { bytesOf, type Files, MissingFile } from "../store/files.ts";
import type { Snapshot } from "../store/transfer/transfer.ts";

/** So many files are copied at the same time, because each one waits for the disk. */
const concurrency = 8;

export interface BothFiles {
  readonly from: Files;
  readonly to: Files;
}

export class FileCopier {
  readonly #open: () => BothFiles;
  /** The revisions up to which the files of parts are copied. */
  readonly #reached = new Map<number, number>();

  constructor(open: () => BothFiles) {
    this.#open = open;
  }

  get #files(): BothFiles {
    return this.#open();
  }

  /**
   * Copies the files of resources that were written since the last time. Leaves out those that are not
   * there any more. Returns false when there was no time for all.
   */
  async copy(
    snapshot: Snapshot,
    add: (count: number) => void,
    deadline = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    for (const { part, head } of snapshot.collections) {
      for await (const rows of snapshot.filesSince(part, this.#reached.get(part) ?? 0)) {
        const files = rows.flatMap(([, , text]) => readFiles(text));
        for (let first = 0; first < files.length; first += concurrency) {
          if (performance.now() > deadline) return false;
          const some = files.slice(first, first + concurrency);
          const copied = await Promise.all(some.map((file) => this.#copyNew(file)));
          add(copied.filter((isCopied) => isCopied).length);
        }
      }
      this.#reached.set(part, head.revision);
    }
    return true;
  }

  /** Returns whether the file is there with the right bytes. Copies it again when it is not. */
  async check(file: StoredFile): Promise<boolean> {
    for (let attempt = 0; attempt < 2; attempt++) {
      if ((await hashIn(this.#files.to, file.key)) === file.sha256) return true;
      if (!(await this.#copy(file))) return false;
    }
    return false;
  }

  /** A file gets its name when all of it is there. Its hash is compared at the end. */
  async #copyNew(file: StoredFile): Promise<boolean> {
    if ((await this.#files.to.size(file.key)) === file.size) return true;
    return this.#copy(file);
  }

  /** Returns false when the source does not have it. */
  async #copy({ key, sha256 }: StoredFile): Promise<boolean> {
    const { from, to } = this.#files;
    try {
      const bytes = bytesOf(() => from.open(key));
      await to.saveAs(key, bytes, sha256);
      return true;
    } catch (error) {
      if (error instanceof MissingFile) return false;
      if (error instanceof Outage && error.reason === "damaged") return false;
      throw error;
    }
  }
}

async function hashIn(files: Files, key: string): Promise<string | undefined> {
  const opened = await files.open(key);
  if (opened === undefined) return undefined;
  const hash = createHash("sha256");
  for await (const piece of opened.bytes) hash.update(piece);
  return hash.digest("hex");
}
