// Creates directories and syncs them to disk, so that they survive a power cut.

import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { syncPath } from "../../lib/sync-path.ts";
import { codeOf } from "../../lib/system-error.ts";
import { mapDiskError } from "./errors.ts";

export class Directories {
  readonly #ensured = new Map<string, Promise<void>>();

  /** Creates the directory and its parents if they do not exist, and resolves when they are on disk. */
  async ensure(directory: string): Promise<void> {
    const ensured = this.#ensured.get(directory) ?? make(directory);
    this.#ensured.set(directory, ensured);
    await ensured;
  }

  /** After an error of the operation, every directory is checked again before it is used. */
  async watch<T>(operation: Promise<T>): Promise<T> {
    try {
      return await mapDiskError(operation);
    } catch (error) {
      this.#ensured.clear();
      throw error;
    }
  }
}

async function make(directory: string): Promise<void> {
  const firstCreated = await mkdir(directory, { recursive: true, mode: 0o700 });
  let parent = dirname(directory);
  // Another process may have created it just now without syncing it yet.
  if (firstCreated === undefined) return syncIfAllowed(parent);
  for (; parent.length >= dirname(firstCreated).length; parent = dirname(parent)) {
    await syncPath(parent);
    if (parent === dirname(parent)) return;
  }
}

/** Ignores EACCES: the parent of an existing directory may not be readable for this user. */
async function syncIfAllowed(directory: string): Promise<void> {
  try {
    await syncPath(directory);
  } catch (error) {
    if (codeOf(error) !== "EACCES") throw error;
  }
}
