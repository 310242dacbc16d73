// Counts the bytes of the states that a batch holds in memory, and rejects a batch that holds too many.

import type { Reservation } from "../../lib/memory-budget.ts";
import { Problem } from "../../model/problem.ts";
import { overloaded } from "../problems.ts";

/** The former and the new states of a batch are in memory at the same time. */
export const batchMemoryLimits = {
  maxChangedBytes: 32 * 1024 * 1024,
  maxWrittenBytes: 32 * 1024 * 1024,
};

export class BatchMemory {
  readonly #reservation: Reservation;
  #changedBytes = 0;
  #writtenBytes = 0;

  constructor(reservation: Reservation) {
    this.#reservation = reservation;
  }

  /** Counts a former state. */
  takeChanged(bytes: number): Problem | undefined {
    this.#changedBytes += bytes;
    return this.#changedBytes > batchMemoryLimits.maxChangedBytes
      ? changesTooMuch
      : this.#take(bytes);
  }

  /** Counts a new state. It stays in memory until the batch is written and the response is sent. */
  takeWritten(bytes: number): Problem | undefined {
    this.#writtenBytes += bytes;
    return this.#writtenBytes > batchMemoryLimits.maxWrittenBytes
      ? writesTooMuch
      : this.#take(bytes);
  }

  /** Forgets the states of a batch that is planned again. */
  restart(): void {
    this.#changedBytes = 0;
    this.#writtenBytes = 0;
  }

  #take(bytes: number): Problem | undefined {
    return this.#reservation.take(bytes) ? undefined : overloaded;
  }
}

const mebibytes = (bytes: number): string => `${bytes / 1024 / 1024} MiB`;

const changesTooMuch = new Problem(
  "content-too-large",
  `Up to this operation the batch changes resources of over ${mebibytes(batchMemoryLimits.maxChangedBytes)} together. Send fewer operations at once.`,
);

const writesTooMuch = new Problem(
  "content-too-large",
  `Up to this operation the batch writes over ${mebibytes(batchMemoryLimits.maxWrittenBytes)}. Send fewer operations at once.`,
);
