// Walks through an index: the entries of a field in the order of their keys, each as far as it is asked.

import { compareKeys, equalTo, isIn, type Span } from "../../model/query/sort-key.ts";
import type { Connection, Query } from "./connection.ts";

/** What stands in an index: the key, and the seq of the resource that has it. */
export type Place = readonly [key: string, seq: number];

export interface Walk {
  readonly field: string;
  /** In order, and apart. */
  readonly spans: readonly Span[];
  readonly isDescending: boolean;
  readonly isNewestFirst: boolean;
}

/** So many counts are remembered. */
const maxCounts = 1_000;

export class EntryReader {
  /** In order, or in reverse: first by key, then by seq. */
  readonly #stretch: Both<Query<Place>>;
  /** Those of one key, in the order of creation or in reverse. */
  readonly #group: Both<Query<Place>>;
  readonly #groupFrom: Both<Query<Place>>;
  readonly #count: Query<readonly [count: number]>;
  readonly #countUpTo: Query<readonly [count: number]>;
  readonly #seqs: Query<readonly [seq: number]>;
  readonly #counts = new Map<string, number>();
  /** The revision that the counts are of. */
  #revision = 0;

  constructor(connection: Connection, key: number) {
    const select = `SELECT key, seq FROM entries_${key} WHERE field = ?`;
    const span = "field = ? AND key >= ? AND key < ?";
    const both = (sql: (direction: string, beyond: string) => string): Both<Query<Place>> => ({
      up: connection.query(`${sql("ASC", ">")} LIMIT ? OFFSET ?`),
      down: connection.query(`${sql("DESC", "<")} LIMIT ? OFFSET ?`),
    });
    this.#stretch = both(
      (direction) =>
        `${select} AND key >= ? AND key < ? ORDER BY key ${direction}, seq ${direction}`,
    );
    this.#group = both((direction) => `${select} AND key = ? ORDER BY seq ${direction}`);
    this.#groupFrom = both(
      (direction, beyond) => `${select} AND key = ? AND seq ${beyond} ? ORDER BY seq ${direction}`,
    );
    this.#count = connection.query(`SELECT count(*) FROM entries_${key} WHERE ${span}`);
    this.#countUpTo = connection.query(
      `SELECT count(*) FROM (SELECT 1 FROM entries_${key} WHERE ${span} LIMIT ?)`,
    );
    this.#seqs = connection.query(`SELECT seq FROM entries_${key} WHERE ${span}`);
  }

  /** Counts of another revision hold no longer. */
  forgetCountsBefore(revision: number): void {
    if (revision !== this.#revision) this.#counts.clear();
    this.#revision = revision;
  }

  /** How many entries there are. Where nothing has moved, it is not counted again. */
  count(field: string, spans: readonly Span[]): number {
    return spans.reduce((sum, span) => sum + this.#countOf(field, span), 0);
  }

  /** As `count`, but no further than to a limit. */
  countUpTo(field: string, spans: readonly Span[], limit: number): number {
    let sum = 0;
    for (const { from, to } of spans)
      if (sum < limit) sum += this.#countUpTo.one(field, from, to, limit - sum)?.[0] ?? 0;
    return sum;
  }

  /** Each once, in no particular order. */
  seqs(field: string, spans: readonly Span[]): readonly number[] {
    const seqs = new Set<number>();
    for (const { from, to } of spans)
      for (const [seq] of this.#seqs.all(field, from, to)) seqs.add(seq);
    return [...seqs];
  }

  /** Those of one key, in the order of creation, from an offset or after a seq. */
  group(
    field: string,
    key: string,
    { isNewestFirst, limit, offset = 0, after }: GroupPart,
  ): readonly Place[] {
    const way = isNewestFirst ? "down" : "up";
    return after === undefined
      ? this.#group[way].all(field, key, limit, offset)
      : this.#groupFrom[way].all(field, key, after, limit, offset);
  }

  /** The places from an offset on. */
  walk(walk: Walk, offset: number, limit: number): readonly Place[] {
    const places: Place[] = [];
    let left = offset;
    for (const span of inOrder(walk)) {
      if (places.length === limit) break;
      const count = left > 0 ? this.#countOf(walk.field, span) : Number.POSITIVE_INFINITY;
      if (left >= count) left -= count;
      else {
        places.push(...this.#walkSpan(walk, span, left, limit - places.length));
        left = 0;
      }
    }
    return places;
  }

  /** The places after this one: first the rest of those with its key, then those beyond it. */
  walkAfter(walk: Walk, [key, seq]: Place, limit: number): readonly Place[] {
    const { field, spans, isNewestFirst } = walk;
    const rest = spans.some((span) => isIn(key, span))
      ? this.group(field, key, { isNewestFirst, limit, after: seq })
      : [];
    const beyond = { ...walk, spans: spans.flatMap((span) => clip(span, key, walk.isDescending)) };
    return [...rest, ...this.walk(beyond, 0, limit - rest.length)];
  }

  /**
   * Where keys and seqs go the same way, the index is the order. Where they do not, only the order
   * within a key is another: the first and the last group are read again their own way, as they may
   * not be there as a whole, and the ones between are turned round. So nothing is ever sorted, and
   * ties cost nothing, however many there are.
   */
  #walkSpan(walk: Walk, span: Span, offset: number, limit: number): readonly Place[] {
    const { field, isDescending, isNewestFirst } = walk;
    const { from, to } = span;
    const way = isDescending ? "down" : "up";
    const places = this.#stretch[way].all(field, from, to, limit, offset);
    const first = places[0];
    if (isDescending === isNewestFirst || first === undefined) return places;
    const [head = [], ...others] = groupsIn(places);
    const before = offset === 0 ? 0 : this.#countBefore(walk, span, first[0]);
    const group = { isNewestFirst, limit: head.length, offset: offset - before };
    const heads = this.group(field, first[0], group);
    const tail = others.pop() ?? [];
    const last = tail[0];
    const tails = last ? this.group(field, last[0], { isNewestFirst, limit: tail.length }) : [];
    return [...heads, ...others.flatMap((group) => group.toReversed()), ...tails];
  }

  /** How many stand before the first of this key. */
  #countBefore({ field, isDescending }: Walk, { from, to }: Span, key: string): number {
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

interface Both<T> {
  readonly up: T;
  readonly down: T;
}

interface GroupPart {
  readonly isNewestFirst: boolean;
  readonly limit: number;
  readonly offset?: number;
  readonly after?: number | undefined;
}

const inOrder = ({ spans, isDescending }: Walk): readonly Span[] =>
  isDescending ? spans.toReversed() : spans;

/** What is left of a span beyond a key. */
function clip(span: Span, key: string, isDescending: boolean): readonly Span[] {
  const { from, to } = span;
  const beyond = equalTo(key).to;
  const left = isDescending
    ? { from, to: compareKeys(key, to) < 0 ? key : to }
    : { from: compareKeys(beyond, from) > 0 ? beyond : from, to };
  return compareKeys(left.from, left.to) < 0 ? [left] : [];
}

/** Those with the same key, which stand together. */
function groupsIn(places: readonly Place[]): Place[][] {
  const groups: Place[][] = [];
  for (const place of places) {
    const group = groups.at(-1);
    if (group?.[0]?.[0] === place[0]) group.push(place);
    else groups.push([place]);
  }
  return groups;
}
