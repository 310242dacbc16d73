// Defines the stored state that a change needs. An engine loads it before, or looks it up when asked.

import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import type { IndexEntry, IndexPlan } from "../../model/query/index-plan.ts";
import type { StoredFileUse } from "./file-use.ts";
import type { IndexBuild } from "./index-build.ts";
import type { Head, ResourceRow } from "./rows.ts";

export interface StoredCollection {
  readonly name: string;
  readonly part: number;
  readonly head: Head;
  readonly definition: string;
  /** What is left to do for the definition. */
  readonly build: IndexBuild | undefined;
  /** The plan by which rows are written, for the version of the definition in the head. */
  readonly plan: IndexPlan;
  /** The names of the collections that refer to this one. */
  readonly referrers: readonly string[];
}

/** The columns of a stored resource that a change needs. */
export interface ResourceState {
  readonly seq: number;
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** The size of the fields in UTF-8. */
  readonly bytes: number;
  readonly owner: string | null;
  readonly files: string | null;
  readonly sharesDate: number;
  readonly checksum: number;
  /** Only needed when the collection has indexes or searchable fields, or for operations, otherwise it can be null. */
  readonly fields: string | null;
}

export interface StoredRemoval {
  readonly removedAt: number;
  readonly owner: string | null;
}

/** A stored Idempotency-Key with the outcomes of its request. */
export interface StoredKey {
  readonly fingerprint: string;
  /** See stored-outcomes.ts. */
  readonly outcomes: string;
  readonly expiresAt: number;
}

/** The state before the batch. It does not include what the batch itself writes. */
export interface StateBefore {
  collection(name: string): StoredCollection | undefined;
  resource(part: number, id: string, needsFields: boolean): ResourceState | undefined;
  /** When the last resource with this id was removed, if it was, and its owner. */
  removal(part: number, id: string): StoredRemoval | undefined;
  /** The seqs of resources that have this entry in an index, at most so many. */
  holders(part: number, entry: IndexEntry, most: number): readonly number[];
  key(part: number, key: IdempotencyKey): StoredKey | undefined;
  hasToken(id: string): boolean;
  /** Also true for a token that does not exist. */
  isTokenRevoked(id: string): boolean;
  hasTokenHash(hash: string): boolean;
  /** The newest epoch of any writer. */
  writerEpoch(): number;
  /** Set where the bytes of files are limited. */
  readonly fileUse?: StoredFileUse | undefined;
  /** Set when the engine can insert a resource without loading state. */
  readonly directInsert?: DirectInsert;
}

/** Inserts a resource at once: a new id is the usual case, and looking for it first would double the cost. */
export interface DirectInsert {
  /** Returns false, and inserts nothing, when the id exists. */
  insert(part: number, row: ResourceRow): boolean;
  /** Inserts a resource with an id that was generated for it, together with others. */
  insertNew(part: number, row: ResourceRow): void;
  /** Deletes a resource that was inserted in the same batch. */
  undo(part: number, seq: number): void;
}
