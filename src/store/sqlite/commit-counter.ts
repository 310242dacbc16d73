// Detects cheaply whether any process has committed, with numbers in a small file.

import { closeSync, ftruncateSync, openSync, readSync, watch, writeSync } from "node:fs";
import type { MapFile } from "../../lib/file-access.ts";
import { Outage } from "../../model/outage.ts";
import { movedNumber } from "./moved.ts";

/** The last commit, and the last one that changed the catalog: tokens, collections or their definitions. */
const numbers = 2;
const numberBytes = Uint32Array.BYTES_PER_ELEMENT;

/** Creates the file when it does not exist. Several processes can do so at once. */
export function createCommitCounter(path: string): void {
  const descriptor = openSync(path, "a", 0o600);
  ftruncateSync(descriptor, numbers * numberBytes);
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

  /** The catalog comes first: who sees the commit sees what it has changed there, too. */
  publish(commit: number, isCatalogChanged: boolean): void {
    this.#number[0] = commit;
    try {
      if (isCatalogChanged) this.#write(1);
      this.#write(0);
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

  #write(place: number): void {
    writeSync(this.#descriptor, this.#number, 0, numberBytes, place * numberBytes);
  }
}

/** Tells every reader, in all processes, that the database is in another file now. */
export function tellMoved(path: string): void {
  const writer = new CommitCounterWriter(path);
  try {
    writer.publish(movedNumber, true);
  } finally {
    writer.close();
  }
}

/**
 * Two writers can write their numbers out of order, but each number is written only once. So while the
 * number is the one last read, there was no commit.
 */
export class CommitCounter {
  readonly #numbers: Uint32Array;
  /** Undefined when the file is mapped into memory. */
  readonly #descriptor: number | undefined;
  #isRead = false;

  constructor(path: string, mapFile?: MapFile) {
    if (mapFile === undefined) {
      this.#descriptor = openSync(path, "r");
      this.#numbers = new Uint32Array(numbers);
      return;
    }
    const { buffer, byteOffset } = mapFile(path);
    this.#numbers = new Uint32Array(buffer, byteOffset, numbers);
  }

  get number(): number {
    this.#read();
    return this.#numbers[0] ?? 0;
  }

  /** That of the last commit that changed the catalog. */
  get catalogNumber(): number {
    this.#read();
    return this.#numbers[1] ?? 0;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }

  /**
   * Reads that follow each other without a return to the event loop see the same commits. No client can
   * have sent its request after the acknowledgement of a commit in between.
   */
  #read(): void {
    if (this.#descriptor === undefined || this.#isRead) return;
    readSync(this.#descriptor, this.#numbers, 0, numbers * numberBytes, 0);
    this.#isRead = true;
    queueMicrotask(() => {
      this.#isRead = false;
    });
  }
}

/** Bun leaves out a second event within the same millisecond. */
const settleMs = 10;

/** Calls back after the commits of any process, and once more soon after the last. Returns a function that ends it. */
export function followCommits(path: string, onCommit: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  const onEvent = (): void => {
    clearTimeout(timer);
    timer = setTimeout(onCommit, settleMs).unref();
    onCommit();
  };
  try {
    const watcher = watch(path, { persistent: false }, onEvent);
    // Listeners are also called once a second, so a system that cannot watch files only makes it slower.
    watcher.on("error", () => watcher.close());
    return () => {
      clearTimeout(timer);
      watcher.close();
    };
  } catch {
    return () => undefined;
  }
}
