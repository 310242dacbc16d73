// The head of a part while a batch is applied: its counters, its times and the version of its definition.

import type { KeyClock } from "./key-clock.ts";
import type { Head } from "./rows.ts";
import { notBefore, sharesSecond } from "./times.ts";

/**
 * The version of a definition that is set at this time, in milliseconds: its second is later than that of
 * any former one. What else takes a version adds one, so that the second is that of the definition
 * (docs/decisions/0081-the-contract-has-a-version-of-its-own.md). The first one of a collection is within
 * the second, so that a collection that is deleted and created again gets another version.
 */
export const definedVersion = (version: number, at: number): number =>
  version === 0
    ? at - (at % 1_000) + Math.floor((at % 1_000) / 2) + 1
    : (Math.floor(Math.max(version, at) / 1_000) + 1) * 1_000;

export class OpenHead {
  /** The head before the batch. */
  readonly before: Head;
  #current: Head;

  constructor(before: Head) {
    this.before = before;
    this.#current = before;
  }

  get current(): Head {
    return this.#current;
  }

  get isChanged(): boolean {
    return this.#current !== this.before;
  }

  set keyClock(keyClock: KeyClock) {
    this.#current = { ...this.#current, keyClock };
  }

  /** Increments the revision. */
  touch(at: number, growth: -1 | 0 | 1, bytes: number): void {
    const before = this.#current;
    this.#current = {
      ...before,
      revision: before.revision + 1,
      seq: before.seq + (growth === 1 ? 1 : 0),
      total: before.total + growth,
      bytes: before.bytes + bytes,
      // A clock that was set back must not make the collection look older.
      updatedAt: notBefore(before.updatedAt, at),
    };
  }

  /** Undoes what has changed since this was the current head. */
  restore(head: Head): void {
    this.#current = head;
  }

  /** Takes the version of a new definition. */
  define(at: number): void {
    this.#current = { ...this.#current, version: definedVersion(this.#current.version, at) };
  }

  /** Takes the next version, not below the given one: something else than the definition has changed what caches hold. */
  renewVersion(least: number): void {
    this.#current = { ...this.#current, version: Math.max(this.#current.version + 1, least) };
  }

  /** Returns the head to write, for the epoch of the writer. */
  written(writerEpoch: number): Head {
    const epoch = Math.max(this.before.epoch, writerEpoch);
    return { ...this.#current, epoch, sharesDate: this.#sharesDate() };
  }

  /** 1 when the state before the batch has a time within the same second. */
  #sharesDate(): 0 | 1 {
    const { revision, updatedAt } = this.before;
    return revision === 0 ? 0 : sharesSecond(updatedAt, this.#current.updatedAt);
  }
}
