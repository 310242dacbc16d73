// Reads what a filter needs: counts and seqs of index entries, and resources to check.

import { afterAll } from "../../model/query/compound-key.ts";
import { type Candidate, countWithin } from "../../model/query/query.ts";
import { minKey, type Span } from "../../model/query/sort-key.ts";
import type { Resource } from "../../model/resource.ts";
import { type CheckedRow, candidateIn, type Read, type ReadResults } from "../core/filter-reads.ts";
import type { IndexScan, IndexSource } from "../core/index-use.ts";
import type { CachedCollection } from "./collections.ts";
import type { Connection, PreparedQuery, Row } from "./connection.ts";
import { EntryReader } from "./entries.ts";
import {
  type SeqLargeRow,
  type SeqResourceRow,
  seqResourceColumns,
  toCandidate,
} from "./resource-reader.ts";
import { RowTester } from "./row-test.ts";
import { WordReader } from "./search.ts";

type Candidates = readonly Candidate[];

/** The limits of the resources that are read at once. */
const maxRows = 1_000;
const maxBytes = 1024 * 1024;

/** All keys, including the key of a missing value. */
export const everyKey: readonly Span[] = [{ from: minKey, to: afterAll }];

/** The columns of a CheckedRow. */
const checkedColumns = "seq, id, created, updated, fields, owner";

/** A read of the same collection. */
type OwnRead = Exclude<Read, { kind: "related" | "ids" }>;

interface CandidatePage {
  readonly page: Candidates;
  readonly isCut: boolean;
}

export class CandidateReader {
  readonly entries: EntryReader;
  readonly words: WordReader;
  readonly #rowTester: RowTester;
  readonly #next: Readonly<Record<"up" | "down", PreparedQuery<CheckedRow>>>;
  readonly #nextVerified: Readonly<Record<"up" | "down", PreparedQuery<SeqResourceRow>>>;
  readonly #bySeq: PreparedQuery<SeqLargeRow>;
  readonly #sizes: PreparedQuery<readonly [seq: number, bytes: number]>;
  readonly #byId: PreparedQuery<SeqResourceRow>;

  /** `pageColumns` are those of the resources of a page. */
  constructor(connection: Connection, pageColumns: string) {
    const from = "FROM resources WHERE part = ?";
    const listed = "AND seq IN (SELECT value FROM json_each(?))";
    this.entries = new EntryReader(connection);
    this.words = new WordReader(connection);
    this.#rowTester = new RowTester(connection);
    const next = <R extends Row>(columns: string) => {
      const select = `SELECT ${columns} ${from}`;
      return {
        up: connection.query<R>(`${select} AND seq > ? ORDER BY seq LIMIT ${maxRows}`),
        down: connection.query<R>(`${select} AND seq < ? ORDER BY seq DESC LIMIT ${maxRows}`),
      };
    };
    this.#next = next(checkedColumns);
    this.#nextVerified = next(seqResourceColumns);
    this.#bySeq = connection.query(`SELECT seq, ${pageColumns} ${from} ${listed}`);
    this.#byId = connection.query(`SELECT ${seqResourceColumns} ${from} AND id = ?`);
    this.#sizes = connection.query(`SELECT seq, octet_length(fields) ${from} ${listed}`);
  }

  /** `checkStop` throws when the query must end; it is called often enough. */
  read(
    known: CachedCollection,
    read: OwnRead,
    checkStop: () => void,
  ): ReadResults[OwnRead["kind"]] {
    checkStop();
    const { part } = known;
    switch (read.kind) {
      case "count":
        return this.#count(part, read.source, read.max);
      case "seqs":
        return this.#seqs(part, read.source, checkStop);
      case "ranks":
        return this.words.ranks({ part, plan: known.plan }, read.words, checkStop);
      case "scan":
        return this.#scan(known, read);
      case "next":
        return this.#after(part, read);
      case "test":
        return this.#rowTester.test(known, read);
      case "at":
        return this.#at(part, read.seqs, read.maxBytes);
      // A reader thread has no other work.
      case "turn":
        return undefined;
    }
  }

  /** Returns the first resources with at most `maxBytes` together, but at least one, and whether more follow. */
  within(
    part: number,
    seqs: readonly number[],
    maxBytes = Number.POSITIVE_INFINITY,
  ): CandidatePage {
    const { candidates, read } = this.#at(part, seqs, maxBytes);
    return { page: candidates, isCut: read < seqs.length };
  }

  /** Whether one of the sources has no more resources than this, and their fields no more bytes. */
  areFew(
    part: number,
    sources: readonly IndexSource[],
    maxCount: number,
    maxSize: number,
  ): boolean {
    const few = sources.find((source) => this.#count(part, source, maxCount + 1) <= maxCount);
    if (few === undefined) return false;
    const seqs = this.#seqs(part, few, () => undefined);
    return this.#countWithin(part, seqs, maxSize) === seqs.length;
  }

  /** Returns the first resources with these ids; undefined where there is none. */
  named(
    part: number,
    { ids, maxBytes }: Extract<Read, { kind: "related" }>,
  ): ReadResults["related"] {
    const found: (Resource | undefined)[] = [];
    let bytes = 0;
    for (const id of ids) {
      const row = this.#byId.one(part, id);
      found.push(row && toCandidate(row).resource);
      bytes += row?.[5].length ?? 0;
      if (bytes > maxBytes) break;
    }
    return found;
  }

  #count(part: number, { ranges }: IndexSource, max: number): number {
    return ranges.reduce(
      (sum, { index, spans = everyKey }) =>
        sum < max ? sum + this.entries.countUpTo(part, index, spans, max - sum) : sum,
      0,
    );
  }

  #seqs(part: number, { ranges }: IndexSource, checkStop: () => void): readonly number[] {
    const seqs = new Set<number>();
    for (const { index, spans = everyKey } of ranges)
      this.entries.addSeqs(seqs, part, index, spans, checkStop);
    // A typed array is sorted by number, and faster.
    return Array.from(Float64Array.from(seqs).sort());
  }

  #scan(known: CachedCollection, read: Extract<Read, { kind: "scan" }>): readonly number[] {
    const { scan, after, isNewestFirst, limit } = read;
    const { part, head } = known;
    const { index, spans = everyKey, isDescending } = scan;
    if (isDescending === undefined) {
      const key = keyOfGroup(scan);
      const page = { isNewestFirst, limit, after: after?.seq };
      return this.entries.group(part, index, key, page).map(([, seq]) => seq);
    }
    const order = { part, revision: head.revision, index, spans, isDescending, isNewestFirst };
    const rows =
      after === undefined
        ? this.entries.scan(order, 0, limit)
        : this.entries.scanAfter(order, scan.keyAt(after), after.seq, limit);
    return rows.map(([, seq]) => seq);
  }

  #after(part: number, read: Extract<Read, { kind: "next" }>): Candidates {
    const { isNewestFirst, isVerified } = read;
    const direction = isNewestFirst ? "down" : "up";
    const from = read.after ?? (isNewestFirst ? Number.MAX_SAFE_INTEGER : 0);
    if (!isVerified)
      return this.#next[direction]
        .within(maxBytes, (row) => row[4].length, part, from)
        .rows.map(candidateIn);
    const statement = this.#nextVerified[direction];
    return statement.within(maxBytes, (row) => row[5].length, part, from).rows.map(toCandidate);
  }

  #at(part: number, seqs: readonly number[], maxBytes: number): ReadResults["at"] {
    const count = this.#countWithin(part, seqs, maxBytes);
    const chosen = count === seqs.length ? seqs : seqs.slice(0, count);
    const rows = this.#bySeq.all(part, JSON.stringify(chosen));
    const bySeq = new Map(rows.map((row) => [row[0], row]));
    const candidates = chosen.flatMap((seq) => {
      const row = bySeq.get(seq);
      return row ? [toCandidate(row)] : [];
    });
    return { candidates, read: count };
  }

  /** Returns how many of the first resources have at most `maxBytes` together, at least one. */
  #countWithin(part: number, seqs: readonly number[], maxBytes: number): number {
    if (maxBytes === Number.POSITIVE_INFINITY) return seqs.length;
    const sizes = new Map(this.#sizes.all(part, JSON.stringify(seqs)));
    return countWithin(seqs, (seq) => sizes.get(seq) ?? 0, maxBytes);
  }
}

/** Returns the key of a scan whose entries have only one. */
export const keyOfGroup = ({ spans }: IndexScan): string => spans?.[0]?.from ?? minKey;
