// Defines how all rows of a store are read at one point in time, and loaded into another store.

import type { Token } from "../../model/token.ts";
import type { IndexBuild } from "../core/index-build.ts";
import type { TreeWrite } from "../core/position-tree.ts";
import type { Head } from "../core/rows.ts";
import type { PartWrites } from "../core/writes.ts";
import type { SchemaRange, WrittenBy } from "../version.ts";
import type { DerivedTable, SourceRow, SourceTable } from "./source-tables.ts";

/** A collection with what stands in its rows and in the head of its part. */
export interface SourceCollection {
  readonly name: string;
  readonly part: number;
  readonly definition: string;
  readonly version: number;
  readonly createdAt: number;
  /** The names of the collections that refer to this one. */
  readonly referrers: readonly string[];
  readonly head: Head;
  /** Tombstones up to this revision may be deleted. */
  readonly purged: number;
  /** How the index rows follow a new definition, while they do. */
  readonly build: IndexBuild | undefined;
}

/** What identifies a store, and its newest epoch. */
export interface StoreState {
  readonly id: string;
  readonly epoch: number;
}

/** A resource with files, as in Resource. */
export type FilesRow = readonly [revision: number, id: string, files: string];

/** All rows of a store at one point in time. Others can write meanwhile. */
export interface Snapshot {
  readonly engine: "sqlite" | "postgres";
  readonly store: StoreState;
  /** In the order of their names. The access document is among them. */
  readonly collections: readonly SourceCollection[];
  readonly tokens: readonly Token[];
  /** Yields the rows of a part in the order of the table's key, after the given row, in steps of a few MB. */
  rows(part: number, table: SourceTable, after?: SourceRow): AsyncIterable<readonly SourceRow[]>;
  /** Yields rows of a part that are computed from its resources, as they are stored. */
  derived(part: number, table: DerivedTable): AsyncIterable<readonly SourceRow[]>;
  /** Yields the keys of all files that a resource references. */
  fileKeys(): AsyncIterable<readonly string[]>;
  /** Returns those of the keys that a resource references. */
  referenced(keys: readonly string[]): Promise<ReadonlySet<string>>;
  /** Yields the files of the resources of a part that were written after a revision. */
  filesSince(part: number, revision: number): AsyncIterable<readonly FilesRow[]>;
  close(): Promise<void>;
}

/** Where rows are read from. */
export interface TransferSource {
  snapshot(): Promise<Snapshot>;
  /**
   * Resolves when no write is in progress. Writers wait until it is released, and fail when that takes
   * more than a few seconds. It ends with the process at the latest.
   */
  holdWrites(): Promise<Hold>;
}

export interface Hold {
  release(): Promise<void>;
}

/** What a database says about itself within milliseconds. */
export interface Examination {
  /** With its version. */
  readonly engine: string;
  readonly writtenBy: WrittenBy;
  /** The schema versions that this program opens. */
  readonly supported: SchemaRange;
  /** The bytes that a check of the integrity reads. */
  readonly bytes: number;
  /** The time of the newest write. */
  readonly newestAt: number;
  /** What endangers the data: the state of the files, or settings of the server. */
  readonly concerns: readonly Concern[];
}

export interface Concern {
  readonly isError: boolean;
  readonly message: string;
  readonly advice: string;
}

/** Looks at a database from a connection of its own, also beside a running server. */
export interface Examiner {
  examine(): Promise<Examination>;
  /** Reads all of the database as far as the engine can check it. Returns what is wrong. */
  checkIntegrity(): Promise<readonly string[]>;
}

/** Computes what is derived from the resources of a part again, counts included, in one transaction. */
export interface Rebuilder {
  rebuild(part: number): Promise<void>;
  close(): Promise<void>;
}

/** What a publication replaces. With `nothing` the store must not have a collection of these names. */
export type Replaced = "nothing" | "same-names" | "everything";

export interface Publication {
  readonly replaces: Replaced;
  /** The tokens and the identity of the store, when the whole of it is loaded. */
  readonly whole?: { readonly store: StoreState; readonly tokens: readonly Token[] };
}

/**
 * Loads rows as they are: ids, revisions, times, owners, checksums. Nobody sees them before they are
 * published, all at once. What a process leaves behind that ends before is deleted later.
 */
export interface Loader {
  /** Begins a collection. No other rows may have its part. */
  begin(collection: SourceCollection): Promise<PartLoad>;
  publish(publication: Publication): Promise<void>;
  /** Without a publication, nothing was loaded. */
  close(): Promise<void>;
}

/** Rows of one table must come in the order of its key. Index rows and the like are computed from them. */
export interface PartLoad {
  add(table: SourceTable, rows: readonly SourceRow[]): Promise<void>;
  /** Rejects when there are not as many resources as the head says. */
  finish(): Promise<void>;
}

/**
 * A store that follows another one, step by step. Nobody else sees it before it is published. When the
 * process ends before, the next one goes on with what is there.
 */
export interface Replica {
  /** What it has. Its rows are those at the moment when they are read. */
  state(): Promise<Snapshot>;
  /** Adds a collection without rows. */
  begin(collection: SourceCollection): Promise<void>;
  /** Removes a collection with all of its rows. */
  remove(collection: Pick<SourceCollection, "name" | "part">): Promise<void>;
  /** Writes rows of one table, and what is computed from them, in one transaction. */
  write(writes: ReplicaWrites): Promise<void>;
  /** Sets all that is not in the rows of parts. */
  finish(state: Pick<Snapshot, "store" | "collections" | "tokens">): Promise<void>;
  /** Makes it the store that others open. */
  publish(): Promise<void>;
  close(): Promise<void>;
}

export interface ReplicaWrites {
  readonly table: SourceTable;
  /** Rows to delete. They are deleted before others are inserted. */
  readonly deleted: readonly SourceRow[];
  readonly inserted: readonly SourceRow[];
  /** Index rows and references to files. */
  readonly derived: PartWrites;
  readonly tree: readonly TreeWrite[];
  /** Whether the position tree is written anew. */
  readonly isNewTree: boolean;
}

/** Thrown when a store cannot take what is to be loaded. The message says what to do. */
export class CannotLoad extends Error {}
