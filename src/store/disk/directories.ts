// Directories that a power cut does not take away.

import { mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { codeOf } from "./errors.ts";

export class Directories {
  readonly #ensured = new Map<string, Promise<void>>();

  /** Makes it where it is not, with all that leads to it, and resolves when that is on disk. */
  async ensure(directory: string): Promise<void> {
    const ensured = this.#ensured.get(directory) ?? make(directory);
    this.#ensured.set(directory, ensured);
    await ensured;
  }

  /** After a failure nothing is taken for granted. */
  forget(): void {
    this.#ensured.clear();
  }
}

/** Until its directory is synced, a power cut can take a new file away, whatever is in it. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function make(directory: string): Promise<void> {
  const topmostMade = await mkdir(directory, { recursive: true, mode: 0o700 });
  let parent = dirname(directory);
  // Another process may have made it a moment ago and not synced yet.
  if (topmostMade === undefined) return syncIfAllowed(parent);
  for (; parent.length >= dirname(topmostMade).length; parent = dirname(parent)) {
    await syncDirectory(parent);
    if (parent === dirname(parent)) return;
  }
}

/** Somebody else has made it, and what is above it may be closed to us. */
async function syncIfAllowed(directory: string): Promise<void> {
  try {
    await syncDirectory(directory);
  } catch (error) {
    if (codeOf(error) !== "EACCES") throw error;
  }
}
