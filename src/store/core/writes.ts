// Defines the rows that a batch writes. An engine sends them, all in the transaction of the batch.

import type { Token } from "../../model/token.ts";
import type { IndexBuild } from "./index-build.ts";
import type {
  EntryRow,
  FileRow,
  FormerOwner,
  FormerStateRow,
  Head,
  KeyRow,
  ResourceRow,
  Tombstone,
  WordRow,
} from "./rows.ts";

export interface EngineWrites {
  readonly parts: readonly PartWrites[];
  /** Collections to insert, or whose definition changes. */
  readonly collections: readonly CollectionWrite[];
  /** Collections to delete. Their other rows are deleted later, in steps. */
  readonly deletedCollections: readonly DeletedCollection[];
  readonly tokens: readonly Token[];
  /** The ids of tokens to delete, and of codes that tokens took the place of. */
  readonly removedTokens: readonly string[];
  /** When codes were made or used; those that had expired then are deleted. */
  readonly codeTimes: readonly number[];
  readonly revokedTokens: readonly TokenTime[];
  readonly usedTokens: readonly TokenTime[];
}

export const noWrites: EngineWrites = {
  parts: [],
  collections: [],
  deletedCollections: [],
  tokens: [],
  removedTokens: [],
  codeTimes: [],
  revokedTokens: [],
  usedTokens: [],
};

export interface CollectionWrite {
  readonly name: string;
  readonly part: number;
  readonly definition: string;
  readonly version: number;
  /** Undefined when the collection exists. */
  readonly createdAt: number | undefined;
  /** How the index rows of existing resources follow the definition; undefined when nothing is to do. */
  readonly build: IndexBuild | undefined;
  /** Whether it has a new definition; otherwise only its referrers change. */
  readonly isDefined: boolean;
  /** The names of the collections that refer to this one. */
  readonly referrers: readonly string[];
}

export interface DeletedCollection {
  readonly name: string;
  readonly part: number;
}

export interface TokenTime {
  readonly id: string;
  readonly at: number;
}

/** The rows of one part. Deletions come before updates, and updates before insertions. */
export interface PartWrites {
  readonly part: number;
  readonly head: Head;
  /** Whether the head has to be inserted. */
  readonly isNew: boolean;
  /** The seqs of resources to delete. */
  readonly deleted: number[];
  readonly updated: ResourceRow[];
  readonly inserted: ResourceRow[];
  /** The ids of tombstones to delete. */
  readonly deletedTombstones: string[];
  /** Tombstones to insert, or to replace by id. */
  readonly tombstones: Tombstone[];
  readonly formerOwners: FormerOwner[];
  readonly formerStates: FormerStateRow[];
  readonly deletedEntries: EntryRow[];
  readonly entries: EntryRow[];
  readonly deletedWords: WordRow[];
  readonly words: WordRow[];
  readonly deletedFiles: string[];
  /** References to insert, or to replace. */
  readonly files: FileRow[];
  /** Positions of deleted resources, to count in the position tree (see position-tree.ts). */
  readonly removedPositions: number[];
  /** Keys to insert, or to replace because they have expired. */
  readonly keys: KeyRow[];
  /** The last revision of the former epoch, when the part moves to a new one. */
  endedEpoch: EndedEpoch | undefined;
}

interface EndedEpoch {
  readonly epoch: number;
  readonly last: number;
}

export const noPartWrites = (part: number, head: Head, isNew: boolean): PartWrites => ({
  part,
  head,
  isNew,
  deleted: [],
  updated: [],
  inserted: [],
  deletedTombstones: [],
  tombstones: [],
  formerOwners: [],
  formerStates: [],
  deletedEntries: [],
  entries: [],
  deletedWords: [],
  words: [],
  deletedFiles: [],
  files: [],
  removedPositions: [],
  keys: [],
  endedEpoch: undefined,
});

export const isEmpty = (writes: EngineWrites): boolean =>
  Object.values(writes).every(({ length }) => length === 0);
