// Reads the resources of a collection in order of creation: SQL decides what it can, and the checker the rest.

import type { Predicate } from "../../model/query/predicate.ts";
import type { Candidate, Query } from "../../model/query/query.ts";
import type { Checker } from "./checker.ts";
import { ask, type Read, type Running, visitAt } from "./filter-reads.ts";
import type { Visit } from "./first-matches.ts";
import { canDecide } from "./sql-verdict.ts";

export interface ScanOptions {
  readonly maxCounted: number;
  /** Whether the total is needed. */
  readonly isCounting: boolean;
  /** Whether the checksum of each resource is checked. Then SQL decides nothing. */
  readonly isVerified: boolean;
  /** Set when SQL reads the values of these fields, so that resources that surely match are not visited. */
  readonly fields?: readonly string[] | undefined;
  /** Whether it reads their seqs, too. */
  readonly hasSeqs?: boolean;
}

export interface ScanStep {
  readonly after: number | undefined;
  readonly isNewestFirst: boolean;
  /** Matches other than these need not be visited. */
  readonly wanted: readonly Predicate[];
}

export interface ScannedRows {
  /** The last seq; undefined at the end. */
  readonly last: number | undefined;
  /** How many matches were not visited. */
  readonly counted: number;
  /** The values of the matches that were not visited, by field, and their seqs. */
  readonly values: readonly string[];
}

/** How many resources SQL tests at once: few at first, because the page may be full soon. */
const firstTested = 500;
export const mostTested = 8_000;
/** When SQL leaves more than this part of the resources, the checker alone is faster. */
const maxLeft = 0.6;
/** How many reads follow until SQL is tried again. */
const readsUntested = 16;

export class RowScan {
  readonly #checker: Checker;
  readonly #query: Query;
  readonly #options: ScanOptions;
  #rows = firstTested;
  #untested = 0;

  constructor(checker: Checker, query: Query, options: ScanOptions) {
    this.#checker = checker;
    this.#query = query;
    this.#options = options;
  }

  /** Visits the matches among the next resources. */
  *next(step: ScanStep, visit: Visit): Running<ScannedRows> {
    const { after, isNewestFirst } = step;
    const test = this.#testOf(step);
    if (test !== undefined) return yield* this.#test(test, visit);
    this.#untested--;
    const { isVerified } = this.#options;
    const read: Read = { kind: "next", after, isNewestFirst, isVerified };
    const candidates: readonly Candidate[] = yield* ask("next", read);
    yield* this.#check(candidates, visit);
    return { last: candidates.at(-1)?.seq, counted: 0, values: [] };
  }

  *#test(test: Extract<Read, { kind: "test" }>, visit: Visit): Running<ScannedRows> {
    const { tested, last, counted, seqs, values } = yield* ask("test", test);
    this.#rows = Math.min(2 * this.#rows, mostTested);
    if (seqs.length > maxLeft * tested) this.#untested = readsUntested;
    this.#checker.checked += tested - seqs.length;
    yield* visitAt(seqs, (candidates) => this.#check(candidates, visit));
    return { last: tested === 0 ? undefined : last, counted, values };
  }

  /** Returns undefined when SQL can decide nothing. */
  #testOf({ wanted, ...step }: ScanStep): Extract<Read, { kind: "test" }> | undefined {
    const { conditions, words } = this.#query;
    const all = [...conditions, ...wanted];
    const { isVerified, isCounting, maxCounted, fields, hasSeqs } = this.#options;
    if (isVerified || this.#untested > 0 || !canDecide(all)) return undefined;
    if (fields !== undefined) {
      const limit = Math.ceil(this.#rows / Math.max(1, fields.length));
      return { kind: "test", ...step, conditions, wanted: [], fields, hasSeqs, limit };
    }
    if (all.length === 0) return undefined;
    // The total is exact up to this many resources, so that no test goes beyond them.
    const left = maxCounted - this.#checker.checked;
    const limit = left > 0 ? Math.min(left, this.#rows) : this.#rows;
    const test = { kind: "test", ...step, limit } as const;
    if (!isCounting) return { ...test, conditions: all, wanted: [] };
    // SQL does not look for words, so that it cannot count.
    return { ...test, conditions, wanted: words.length === 0 ? wanted : [] };
  }

  #check(candidates: readonly Candidate[], visit: Visit): Running<void> {
    return this.#checker.visit(candidates, this.#query.conditions, visit);
  }
}
