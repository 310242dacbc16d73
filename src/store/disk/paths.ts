// Where files are: each under its key, in one of 256 directories, so that none has too many.

import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ifThere } from "./errors.ts";

const keyShape = /^[0-9a-f]{32}$/;
const drawerShape = /^[0-9a-f]{2}$/;

/**
 * Keys are random and tell nothing of what is in the file. Were they its hash, two resources could share
 * one file, and removing it would need a count of who still has it, right under every crash.
 */
export const newKey = (): string => randomBytes(16).toString("hex");

export class Places {
  readonly folder: string;
  /** For what is still arriving; on the same disk, so that it can be renamed into its place. */
  readonly incoming: string;
  /** For what a sweep is about to remove. */
  readonly removed: string;

  constructor(folder: string) {
    this.folder = folder;
    this.incoming = join(folder, "incoming");
    this.removed = join(folder, "removed");
  }

  /** None for what cannot be a key: so nothing that a caller says leads out of the folder. */
  of(key: string): string | undefined {
    return keyShape.test(key) ? this.at(key) : undefined;
  }

  /** Of a key that we have made. */
  at(key: string): string {
    return join(this.folder, key.slice(0, 2), key.slice(2));
  }

  /** Where a sweep puts the file until it is sure: under a name that no other sweep has. */
  removedAt(key: string, sweep: string): string {
    return join(this.removed, `${key}.${sweep}`);
  }

  /** Where the file is that some sweep has put there. */
  async findRemoved(key: string): Promise<string | undefined> {
    const names = (await ifThere(readdir(this.removed))) ?? [];
    const name = names.find((each) => each.startsWith(`${key}.`));
    return name && join(this.removed, name);
  }
}

/** Whether a directory of this name is one with files. */
export const isDrawer = (name: string): boolean => drawerShape.test(name);
export const isKey = (key: string): boolean => keyShape.test(key);
