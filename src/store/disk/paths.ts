// Maps the key of a file to its path: 256 directories, so that no directory gets too large.

import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isKey } from "../file-key.ts";
import { ignoreMissing } from "./errors.ts";

const directoryPattern = /^[0-9a-f]{2}$/;

export class FilePaths {
  readonly folder: string;
  /** Holds uploads in progress; on the same disk, so that they can be renamed to their final path. */
  readonly incoming: string;
  /** Holds files that a sweep is about to remove. */
  readonly removed: string;
  /** Holds a directory for each upload that is not complete. */
  readonly partial: string;
  /** Holds the descriptions of uploads that were completed lately. */
  readonly finished: string;

  constructor(folder: string) {
    this.folder = folder;
    this.incoming = join(folder, "incoming");
    this.removed = join(folder, "removed");
    this.partial = join(folder, "partial");
    this.finished = join(folder, "finished");
  }

  /** Returns undefined when the key is not valid, so that no input leads out of the folder. */
  parse(key: string): string | undefined {
    return isKey(key) ? this.pathOf(key) : undefined;
  }

  /** The path of a key that is known to be valid. */
  pathOf(key: string): string {
    return join(this.folder, key.slice(0, 2), key.slice(2));
  }

  /** Where a sweep moves the file before it removes it. The name is unique to the sweep. */
  removedPathOf(key: string, sweep: string): string {
    return join(this.removed, `${key}.${sweep}`);
  }

  /** Returns the path of a file that any sweep has moved, if there is one. */
  async findRemoved(key: string): Promise<string | undefined> {
    const names = (await ignoreMissing(readdir(this.removed))) ?? [];
    const name = names.find((each) => each.startsWith(`${key}.`));
    return name && join(this.removed, name);
  }
}

/** Whether a directory with this name holds files. */
export const isKeyDirectory = (name: string): boolean => directoryPattern.test(name);
