// Tells, for next to nothing, whether anyone has committed: a number in a small file beside the database.

import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import { Outage } from "../store.ts";

/** A file's bytes as memory shared with every process that maps or writes it; not every runtime can. */
export type MapFile = (path: string) => Uint8Array;

const bellBytes = 4;

/** Finds or makes the file; however many do so at once, it has its full length for each of them. */
export function createCommitCounter(path: string): void {
  const descriptor = openSync(path, "a", 0o600);
  ftruncateSync(descriptor, bellBytes);
  closeSync(descriptor);
}

/** Rung by each writer after each commit and before the acknowledgement, with the batch's own number. */
export class CommitCounterWriter {
  readonly #descriptor: number;
  readonly #number = new Uint32Array(1);

  constructor(path: string) {
    try {
      this.#descriptor = openSync(path, "r+");
    } catch (error) {
      throw new Outage("unavailable", `the bell cannot be opened (${error})`, { cause: error });
    }
  }

  ring(batch: number): void {
    this.#number[0] = batch;
    try {
      writeSync(this.#descriptor, this.#number, 0, bellBytes, 0);
    } catch (error) {
      // The batch is kept, but others may not have heard: it must not be acknowledged.
      throw new Outage("unknown", `the bell cannot be rung (${error})`, { cause: error });
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/**
 * Two writers may ring out of order, but each number is rung once only. So as long as the number is
 * the one that was last heard, nobody has committed since.
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
