// Scans and counts the entries of an index in either direction.

import { compareKeys, equalTo, isIn, type Span } from "../../model/query/sort-key.ts";
import type { Connection, Query } from "./connection.ts";

/** An index entry: the key, and the seq of its resource. */
export type EntryRow = readonly [key: string, seq: number];

export interface IndexScan {
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
  readonly #counts = new Map<string, number>();
  /** The revision of the cached counts. */
  #revision = 0;

  constructor(connection: Connection, key: number) {
    const select = `SELECT key, seq FROM entries_${key} WHERE field = ?`;
    const span = "field = ? AND key >= ? AND key < ?";
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
    this.#count = connection.query(`SELECT count(*) FROM entries_${key} WHERE ${span}`);
    this.#countUpTo = connection.query(
      `SELECT count(*) FROM (SELECT 1 FROM entries_${key} WHERE ${span} LIMIT ?)`,
    );
    this.#seqs = connection.query(`SELECT seq FROM entries_${key} WHERE ${span}`);
  }

  /** Clears the cached counts when the revision has changed. */
  clearCountsBefore(revision: number): void {
    if (revision !== this.#revision) this.#counts.clear();
    this.#revision = revision;
  }

  /** The number of counts that are cached now. */
  get cachedCounts(): number {
    return this.#counts.size;
  }

  /** Counts the entries; the counts are cached until the collection changes. */
  count(field: string, spans: readonly Span[]): number {
    return spans.reduce((sum, span) => sum + this.#countOf(field, span), 0);
  }

  /** Counts like `count`, but only up to a limit. */
  countUpTo(field: string, spans: readonly Span[], limit: number): number {
    let sum = 0;
    for (const { from, to } of spans)
      if (sum < limit) sum += this.#countUpTo.one(field, from, to, limit - sum)?.[0] ?? 0;
    return sum;
  }

  /** Returns the seqs without duplicates, in no particular order. */
  seqs(field: string, spans: readonly Span[]): readonly number[] {
    const seqs = new Set<number>();
    for (const { from, to } of spans)
      for (const [seq] of this.#seqs.all(field, from, to)) seqs.add(seq);
    return [...seqs];
  }

  /** Returns the entries of one key in order of creation, from an offset or after a seq. */
  group(
    field: string,
    key: string,
    { isNewestFirst, limit, offset = 0, after }: GroupPage,
  ): readonly EntryRow[] {
    const direction = isNewestFirst ? "down" : "up";
    return after === undefined
      ? this.#group[direction].all(field, key, limit, offset)
      : this.#groupAfter[direction].all(field, key, after, limit, offset);
  }

  /** Returns the entries from an offset. */
  scan(scan: IndexScan, offset: number, limit: number): readonly EntryRow[] {
    const rows: EntryRow[] = [];
    let left = offset;
    for (const span of inOrder(scan)) {
      if (rows.length === limit) break;
      const count = left > 0 ? this.#countOf(scan.field, span) : Number.POSITIVE_INFINITY;
      if (left >= count) left -= count;
      else {
        rows.push(...this.#scanSpan(scan, span, left, limit - rows.length));
        left = 0;
      }
    }
    return rows;
  }

  /** Returns the entries after this one: first the rest with the same key, then the following keys. */
  scanAfter(scan: IndexScan, [key, seq]: EntryRow, limit: number): readonly EntryRow[] {
    const { field, spans, isNewestFirst } = scan;
    const rest = spans.some((span) => isIn(key, span))
      ? this.group(field, key, { isNewestFirst, limit, after: seq })
      : [];
    const beyond = { ...scan, spans: spans.flatMap((span) => clip(span, key, scan.isDescending)) };
    return [...rest, ...this.scan(beyond, 0, limit - rest.length)];
  }

  /**
   * When keys and seqs have the same direction, the index has the requested order. Otherwise only the
   * order within each key differs: the groups between the first and the last are reversed, and these two
   * are read again, because they can be incomplete. So nothing is sorted, even with many equal keys.
   */
  #scanSpan(scan: IndexScan, span: Span, offset: number, limit: number): readonly EntryRow[] {
    const { field, isDescending, isNewestFirst } = scan;
    const { from, to } = span;
    const direction = isDescending ? "down" : "up";
    const rows = this.#range[direction].all(field, from, to, limit, offset);
    const first = rows[0];
    if (isDescending === isNewestFirst || first === undefined) return rows;
    const [head = [], ...others] = groupsIn(rows);
    const before = offset === 0 ? 0 : this.#countBefore(scan, span, first[0]);
    const group = { isNewestFirst, limit: head.length, offset: offset - before };
    const heads = this.group(field, first[0], group);
    const tail = others.pop() ?? [];
    const last = tail[0];
    const tails = last ? this.group(field, last[0], { isNewestFirst, limit: tail.length }) : [];
    return [...heads, ...others.flatMap((group) => group.toReversed()), ...tails];
  }

  /** Counts the entries before the first one of this key. */
  #countBefore({ field, isDescending }: IndexScan, { from, to }: Span, key: string): number {
    const before = isDescending ? { from: equalTo(key).to, to } : { from, to: key };
    return this.#countOf(field, before);
  }

  #countOf(field: string, { from, to }: Span): number {
    const name = JSON.stringify([field, from, to]);
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    const count = this.#count.one(field, from, to)?.[0] ?? 0;
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

const inOrder = ({ spans, isDescending }: IndexScan): readonly Span[] =>
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
