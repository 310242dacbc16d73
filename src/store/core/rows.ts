// Defines the rows of a part, which are the same on every engine.

import type { IndexEntry } from "../../model/query/index-plan.ts";
import type { KeyClock } from "./key-clock.ts";

/** The small row of a part that every write to it locks and updates. */
export interface Head {
  /** The last assigned revision; 0 when the collection is being created. */
  readonly revision: number;
  /** The last assigned seq. */
  readonly seq: number;
  /** The number of resources. */
  readonly total: number;
  /** The size of their fields in UTF-8. */
  readonly bytes: number;
  /** The time of the last write. */
  readonly updatedAt: number;
  /** 1 when the state before the last write has a time within the same second. */
  readonly sharesDate: number;
  /** The version of the definition; 0 when there is none. It shows that a cached definition is outdated. */
  readonly version: number;
  /** The epoch of the last write (see epochs.ts). */
  readonly epoch: number;
  /** The clock by which the Idempotency-Keys of the part expire. */
  readonly keyClock: KeyClock;
}

/** The head of a part before its first write. */
export const noHead: Head = {
  revision: 0,
  seq: 0,
  total: 0,
  bytes: 0,
  updatedAt: 0,
  sharesDate: 0,
  version: 0,
  epoch: 0,
  keyClock: { now: 0, seen: 0 },
};

export interface ResourceRow {
  readonly seq: number;
  readonly id: string;
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly fields: string;
  /** The size of the fields in UTF-8. */
  readonly bytes: number;
  readonly owner: string | null;
  readonly files: string | null;
  readonly sharesDate: number;
  readonly checksum: number;
}

export interface Tombstone {
  readonly id: string;
  readonly revision: number;
  readonly removedAt: number;
  /** The owner of the removed resource. */
  readonly owner: string | null;
}

/** A resource that has another owner since this revision: for the former one it is removed. */
export interface FormerOwner {
  readonly id: string;
  readonly revision: number;
  readonly owner: string;
  readonly changedAt: number;
}

/** A state that a change has ended, as far as rules decide by it. */
export interface FormerStateRow {
  readonly id: string;
  /** The revision of the change that ended it. */
  readonly revision: number;
  /** The revision of the change that made it. */
  readonly since: number;
  readonly changedAt: number;
  /** See model/access/former-state.ts. */
  readonly state: string;
}

export interface EntryRow extends IndexEntry {
  readonly seq: number;
}

/** A term of a resource (see model/query/rank.ts). */
export interface WordRow {
  readonly word: string;
  readonly seq: number;
  readonly weight: number;
}

/** A file that a resource has, with what counts against quotas. */
export interface FileRow {
  readonly key: string;
  readonly owner: string | null;
  readonly bytes: number;
}

export interface KeyRow {
  readonly owner: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly outcomes: string;
  readonly expiresAt: number;
}
