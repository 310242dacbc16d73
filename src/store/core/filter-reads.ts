// The reads of a filter, which both engines answer: one of them at once, the other with a round trip.

import type { Predicate } from "../../model/query/predicate.ts";
import type { Candidate, Position, Query } from "../../model/query/query.ts";
import { type Resource, sizeOf } from "../../model/resource.ts";
import type { IndexScan, IndexSource } from "./index-use.ts";
import type { Ranks } from "./search.ts";

/** What the engine reads for a filter. All reads of one filter see the same snapshot. */
export type Read =
  /** Counts the entries of a source, up to a limit. */
  | { readonly kind: "count"; readonly source: IndexSource; readonly max: number }
  /** Returns the seqs of a source, without duplicates and in ascending order. */
  | { readonly kind: "seqs"; readonly source: IndexSource }
  /** Returns the resources that contain all words, with their ranks. */
  | { readonly kind: "ranks"; readonly words: Query["words"] }
  /** Returns the seqs of the next entries of a scan, at most `limit`. */
  | {
      readonly kind: "scan";
      readonly scan: IndexScan;
      readonly after: Position | undefined;
      readonly isNewestFirst: boolean;
      readonly limit: number;
    }
  /** Returns some of the resources after a seq in order of creation, or an empty list at the end. */
  | {
      readonly kind: "next";
      readonly after: number | undefined;
      readonly isNewestFirst: boolean;
      /** Whether damage is noticed by the checksums, at a cost. */
      readonly isVerified: boolean;
    }
  | RowTest
  /** Returns the first of these resources, at least one if any exists, and how many seqs were read. */
  | { readonly kind: "at"; readonly seqs: readonly number[]; readonly maxBytes: number }
  /** Returns the first of these resources of another collection, at least one; undefined where there is none. */
  | {
      readonly kind: "related";
      readonly collection: string;
      readonly ids: readonly string[];
      readonly maxBytes: number;
    }
  /** Returns the ids of the results of a query in another collection; undefined when it has more results. */
  | { readonly kind: "ids"; readonly collection: string; readonly query: Query }
  /** Reads nothing: other work of the event loop gets a turn. */
  | { readonly kind: "turn" };

/** Lets SQL decide which of the next resources match, in order of creation. */
export interface RowTest {
  readonly kind: "test";
  readonly after: number | undefined;
  readonly isNewestFirst: boolean;
  readonly conditions: readonly Predicate[];
  /** Resources that surely match, but surely not these, are only counted. */
  readonly wanted: readonly Predicate[];
  /** Fields that are read of resources that surely match. Then these are all counted. */
  readonly fields?: readonly string[] | undefined;
  /** Whether the seqs of these are read, too. */
  readonly hasSeqs?: boolean | undefined;
  /** How many resources are tested at most. */
  readonly limit: number;
}

export interface TestedRows {
  /** How many resources were tested; 0 at the end. */
  readonly tested: number;
  readonly last: number;
  /** How many match and are not wanted. */
  readonly counted: number;
  /** The others that may match, in order. */
  readonly seqs: readonly number[];
  /** For each field that is read: the JSON values of the counted resources, with commas between them. Their seqs follow. */
  readonly values: readonly string[];
}

/** The columns that conditions and sort orders look at. */
export type CheckedRow = readonly [
  seq: number,
  id: string,
  createdAt: number,
  updatedAt: number,
  fields: string,
  owner: string | null,
];

/** Returns a resource to check, without a look at its checksum. */
export const candidateIn = ([seq, id, createdAt, updatedAt, ...rest]: CheckedRow): Candidate => {
  const [fields, owner] = rest;
  const resource = { id, revision: 0, createdAt, updatedAt, fields };
  return { seq, resource: owner === null ? resource : { ...resource, owner } };
};

/** The answers to reads, by their kind. */
export interface ReadResults {
  readonly count: number;
  readonly seqs: readonly number[];
  readonly ranks: Ranks;
  readonly scan: readonly number[];
  readonly next: readonly Candidate[];
  readonly test: TestedRows;
  readonly at: { readonly candidates: readonly Candidate[]; readonly read: number };
  readonly related: readonly (Resource | undefined)[];
  readonly ids: readonly string[] | undefined;
  readonly turn: undefined;
}

/** A running filter: it yields reads, and gets their results. */
export type Running<T> = Generator<Read, T, unknown>;

/** Yields a read, and returns its result. */
export function* ask<K extends Read["kind"]>(
  _kind: K,
  read: Extract<Read, { kind: K }> | Read,
): Generator<Read, ReadResults[K], unknown> {
  return (yield read) as ReadResults[K];
}

/** How many resources are read at once, and their size. */
export const seqsAtOnce = 250;
export const checkedBytes = 1024 * 1024;

/** Reads these resources, a few at once. */
export function* visitAt(
  seqs: readonly number[],
  visit: (candidates: readonly Candidate[]) => Running<void>,
): Running<void> {
  for (let at = 0; at < seqs.length; ) {
    const chunk = seqs.slice(at, at + seqsAtOnce);
    const read: Read = { kind: "at", seqs: chunk, maxBytes: checkedBytes };
    const next: ReadResults["at"] = yield* ask("at", read);
    yield* visit(next.candidates);
    at += next.read;
  }
}

export interface PageResult {
  readonly candidates: readonly Candidate[];
  readonly isCut: boolean;
}

/** Reads the first of these resources that have at most `maxBytes` together, at least one. */
export function* readPage(
  seqs: readonly number[],
  maxBytes = Number.POSITIVE_INFINITY,
): Running<PageResult> {
  const candidates: Candidate[] = [];
  let bytes = 0;
  for (let at = 0; at < seqs.length; ) {
    const chunk = seqs.slice(at, at + seqsAtOnce);
    const read: Read = { kind: "at", seqs: chunk, maxBytes: maxBytes - bytes };
    const next: ReadResults["at"] = yield* ask("at", read);
    bytes += next.candidates.reduce((sum, { resource }) => sum + sizeOf(resource), 0);
    // A later chunk returns at least one resource, even if none fits.
    if (at > 0 && bytes > maxBytes) return { candidates, isCut: true };
    candidates.push(...next.candidates);
    if (next.read < chunk.length) return { candidates, isCut: true };
    at += next.read;
  }
  return { candidates, isCut: false };
}
