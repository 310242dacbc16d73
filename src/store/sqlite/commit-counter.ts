// Detects cheaply whether any process has committed, with a number in a small memory-mapped file.

import { closeSync, ftruncateSync, openSync, watch, writeSync } from "node:fs";
import { Outage } from "../../model/outage.ts";

/** Maps a file into shared memory. Not every runtime supports it. */
export type MapFile = (path: string) => Uint8Array;

const counterBytes = 4;

/** Creates the file when it does not exist. Several processes can do so at once. */
export function createCommitCounter(path: string): void {
  const descriptor = openSync(path, "a", 0o600);
  ftruncateSync(descriptor, counterBytes);
  closeSync(descriptor);
}

/** Writes the number of each commit before the commit is acknowledged. */
export class CommitCounterWriter {
  readonly #descriptor: number;
  readonly #number = new Uint32Array(1);

  constructor(path: string) {
    try {
      this.#descriptor = openSync(path, "r+");
    } catch (error) {
      throw new Outage("unavailable", `the commit counter cannot be opened (${error})`, {
        cause: error,
      });
    }
  }

  publish(commit: number): void {
    this.#number[0] = commit;
    try {
      writeSync(this.#descriptor, this.#number, 0, counterBytes, 0);
    } catch (error) {
      // The changes are stored, but other processes may not notice them, so they must not be acknowledged.
      throw new Outage("unknown", `the commit counter cannot be written (${error})`, {
        cause: error,
      });
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/**
 * Two writers can write their numbers out of order, but each number is written only once. So while the
 * number is the one last read, there was no commit.
 */
export class CommitCounter {
  readonly #number: Uint32Array;

  constructor(path: string, mapFile: MapFile) {
    const { buffer, byteOffset } = mapFile(path);
    this.#number = new Uint32Array(buffer, byteOffset, 1);
  }

  get number(): number {
    return this.#number[0] ?? 0;
  }
}

/** Calls back after the commits of any process. Returns a function that ends it. */
export function followCommits(path: string, onCommit: () => void): () => void {
  try {
    const watcher = watch(path, { persistent: false }, onCommit);
    // Listeners are also called once a second, so a system that cannot watch files only makes it slower.
    watcher.on("error", () => watcher.close());
    return () => watcher.close();
  } catch {
    return () => undefined;
  }
}
