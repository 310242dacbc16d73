// Scans and counts the entries of an index in either direction.

import { compareKeys, equalTo, isIn, type Span } from "../../model/query/sort-key.ts";
import type { Connection, Query } from "./connection.ts";

/** An index entry: the key, and the seq of its resource. */
export type EntryRow = readonly [key: string, seq: number];

/** The state of the part in which its entries are counted. */
export interface CountedPart {
  readonly part: number;
  readonly revision: number;
}

export interface OrderedScan extends CountedPart {
  readonly field: string;
  /** Sorted and not overlapping. */
  readonly spans: readonly Span[];
  readonly isDescending: boolean;
  readonly isNewestFirst: boolean;
}

/** The maximum number of cached counts. */
export const maxCounts = 1_000;

export class EntryReader {
  /** Entries within a span, sorted by key and seq. */
  readonly #range: ByDirection<Query<EntryRow>>;
  /** Entries of one key, sorted by seq. */
  readonly #group: ByDirection<Query<EntryRow>>;
  readonly #groupAfter: ByDirection<Query<EntryRow>>;
  readonly #count: Query<readonly [count: number]>;
  readonly #countUpTo: Query<readonly [count: number]>;
  readonly #seqs: Query<readonly [seq: number]>;
  /** Counts by part, revision, field and span. */
  readonly #counts = new Map<string, number>();

  constructor(connection: Connection) {
    const select = "SELECT key, seq FROM entries WHERE part = ? AND field = ?";
    const span = "part = ? AND field = ? AND key >= ? AND key < ?";
    const both = (
      sql: (direction: string, beyond: string) => string,
    ): ByDirection<Query<EntryRow>> => ({
      up: connection.query(`${sql("ASC", ">")} LIMIT ? OFFSET ?`),
      down: connection.query(`${sql("DESC", "<")} LIMIT ? OFFSET ?`),
    });
    this.#range = both(
      (direction) =>
        `${select} AND key >= ? AND key < ? ORDER BY key ${direction}, seq ${direction}`,
    );
    this.#group = both((direction) => `${select} AND key = ? ORDER BY seq ${direction}`);
    this.#groupAfter = both(
      (direction, beyond) => `${select} AND key = ? AND seq ${beyond} ? ORDER BY seq ${direction}`,
    );
    this.#count = connection.query(`SELECT count(*) FROM entries WHERE ${span}`);
    this.#countUpTo = connection.query(
      `SELECT count(*) FROM (SELECT 1 FROM entries WHERE ${span} LIMIT ?)`,
    );
    this.#seqs = connection.query(`SELECT seq FROM entries WHERE ${span}`);
  }

  /** The number of counts that are cached now. */
  get cachedCounts(): number {
    return this.#counts.size;
  }

  /** Counts the entries; the counts are cached until the collection changes. */
  count(part: CountedPart, field: string, spans: readonly Span[]): number {
    return spans.reduce((sum, span) => sum + this.#countOf(part, field, span), 0);
  }

  /** Counts like `count`, but only up to a limit. */
  countUpTo(part: number, field: string, spans: readonly Span[], limit: number): number {
    let sum = 0;
    for (const { from, to } of spans)
      if (sum < limit) sum += this.#countUpTo.one(part, field, from, to, limit - sum)?.[0] ?? 0;
    return sum;
  }

  /** Returns the seqs without duplicates, in no particular order. */
  seqs(part: number, field: string, spans: readonly Span[]): readonly number[] {
    const seqs = new Set<number>();
    for (const { from, to } of spans)
      for (const [seq] of this.#seqs.all(part, field, from, to)) seqs.add(seq);
    return [...seqs];
  }

  /** Returns the entries of one key in order of creation, from an offset or after a seq. */
  group(
    part: number,
    field: string,
    key: string,
    { isNewestFirst, limit, offset = 0, after }: GroupPage,
  ): readonly EntryRow[] {
    const direction = isNewestFirst ? "down" : "up";
    return after === undefined
      ? this.#group[direction].all(part, field, key, limit, offset)
      : this.#groupAfter[direction].all(part, field, key, after, limit, offset);
  }

  /** Returns the entries from an offset. */
  scan(scan: OrderedScan, offset: number, limit: number): readonly EntryRow[] {
    const rows: EntryRow[] = [];
    let left = offset;
    for (const span of inOrder(scan)) {
      if (rows.length === limit) break;
      const count = left > 0 ? this.#countOf(scan, scan.field, span) : Number.POSITIVE_INFINITY;
      if (left >= count) left -= count;
      else {
        rows.push(...this.#scanSpan(scan, span, left, limit - rows.length));
        left = 0;
      }
    }
    return rows;
  }

  /** Returns the entries after this one: first the rest with the same key, then the following keys. */
  scanAfter(scan: OrderedScan, [key, seq]: EntryRow, limit: number): readonly EntryRow[] {
    const { part, field, spans, isNewestFirst } = scan;
    const rest = spans.some((span) => isIn(key, span))
      ? this.group(part, field, key, { isNewestFirst, limit, after: seq })
      : [];
    const beyond = { ...scan, spans: spans.flatMap((span) => clip(span, key, scan.isDescending)) };
    return [...rest, ...this.scan(beyond, 0, limit - rest.length)];
  }

  /**
   * When keys and seqs have the same direction, the index has the requested order. Otherwise only the
   * order within each key differs: the groups between the first and the last are reversed, and these two
   * are read again, because they can be incomplete. So nothing is sorted, even with many equal keys.
   */
  #scanSpan(scan: OrderedScan, span: Span, offset: number, limit: number): readonly EntryRow[] {
    const { part, field, isDescending, isNewestFirst } = scan;
    const { from, to } = span;
    const direction = isDescending ? "down" : "up";
    const rows = this.#range[direction].all(part, field, from, to, limit, offset);
    const first = rows[0];
    if (isDescending === isNewestFirst || first === undefined) return rows;
    const [head = [], ...others] = groupsIn(rows);
    const before = offset === 0 ? 0 : this.#countBefore(scan, span, first[0]);
    const group = { isNewestFirst, limit: head.length, offset: offset - before };
    const heads = this.group(part, field, first[0], group);
    const tail = others.pop() ?? [];
    const last = tail[0];
    const tails = last
      ? this.group(part, field, last[0], { isNewestFirst, limit: tail.length })
      : [];
    return [...heads, ...others.flatMap((group) => group.toReversed()), ...tails];
  }

  /** Counts the entries before the first one of this key. */
  #countBefore(scan: OrderedScan, { from, to }: Span, key: string): number {
    const before = scan.isDescending ? { from: equalTo(key).to, to } : { from, to: key };
    return this.#countOf(scan, scan.field, before);
  }

  #countOf({ part, revision }: CountedPart, field: string, { from, to }: Span): number {
    const name = JSON.stringify([part, revision, field, from, to]);
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    const count = this.#count.one(part, field, from, to)?.[0] ?? 0;
    if (this.#counts.size === maxCounts) this.#counts.clear();
    this.#counts.set(name, count);
    return count;
  }
}

interface ByDirection<T> {
  readonly up: T;
  readonly down: T;
}

interface GroupPage {
  readonly isNewestFirst: boolean;
  readonly limit: number;
  readonly offset?: number;
  readonly after?: number | undefined;
}

const inOrder = ({ spans, isDescending }: OrderedScan): readonly Span[] =>
  isDescending ? spans.toReversed() : spans;

/** Returns the part of a span after a key. */
function clip(span: Span, key: string, isDescending: boolean): readonly Span[] {
  const { from, to } = span;
  const beyond = equalTo(key).to;
  const left = isDescending
    ? { from, to: compareKeys(key, to) < 0 ? key : to }
    : { from: compareKeys(beyond, from) > 0 ? beyond : from, to };
  return compareKeys(left.from, left.to) < 0 ? [left] : [];
}

/** Groups adjacent entries with the same key. */
function groupsIn(rows: readonly EntryRow[]): EntryRow[][] {
  const groups: EntryRow[][] = [];
  for (const row of rows) {
    const group = groups.at(-1);
    if (group?.[0]?.[0] === row[0]) group.push(row);
    else groups.push([row]);
  }
  return groups;
}
