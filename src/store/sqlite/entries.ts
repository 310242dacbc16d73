// Scans and counts the entries of an index in either direction.

import { RecentMap } from "../../lib/recent-map.ts";
import { compareKeys, equalTo, isIn, type Span } from "../../model/query/sort-key.ts";
import { type FreeColumn, freeColumnOf, rangeIn } from "../core/free-indexes.ts";
import type { Connection, PreparedQuery, Value } from "./connection.ts";

/** An index entry: the key, and the seq of its resource. */
export type EntryCells = readonly [key: string | number, seq: number];

/** The state of the part in which its entries are counted. */
export interface CountedPart {
  readonly part: number;
  readonly revision: number;
}

export interface OrderedScan extends CountedPart {
  readonly index: string;
  /** Sorted and not overlapping. */
  readonly spans: readonly Span[];
  readonly isDescending: boolean;
  readonly isNewestFirst: boolean;
}

/** The maximum number of cached counts. */
export const maxCounts = 1_000;

interface Statements {
  readonly table: IndexTable;
  /** Entries within a span, sorted by key and seq. */
  readonly range: ByDirection<PreparedQuery<EntryCells>>;
  /** Entries of one key, sorted by seq. */
  readonly group: ByDirection<PreparedQuery<EntryCells>>;
  readonly groupAfter: ByDirection<PreparedQuery<EntryCells>>;
  readonly count: PreparedQuery<readonly [count: number]>;
  readonly countUpTo: PreparedQuery<readonly [count: number]>;
  readonly seqs: PreparedQuery<readonly [seq: number]>;
}

function prepare(connection: Connection, table: IndexTable): Statements {
  const { name, key, where } = table;
  const select = `SELECT ${key}, seq FROM ${name} WHERE ${where}`;
  const span = `${where} AND ${key} >= ? AND ${key} < ?`;
  const both = (
    sql: (direction: string, beyond: string) => string,
  ): ByDirection<PreparedQuery<EntryCells>> => ({
    up: connection.query(`${sql("ASC", ">")} LIMIT ? OFFSET ?`),
    down: connection.query(`${sql("DESC", "<")} LIMIT ? OFFSET ?`),
  });
  const after = (beyond: string) => `${select} AND ${key} = ? AND seq ${beyond} ?`;
  return {
    table,
    range: both(
      (direction) =>
        `SELECT ${key}, seq FROM ${name} WHERE ${span} ORDER BY ${key} ${direction}, seq ${direction}`,
    ),
    group: both((direction) => `${select} AND ${key} = ? ORDER BY seq ${direction}`),
    groupAfter: both((direction, beyond) => `${after(beyond)} ORDER BY seq ${direction}`),
    count: connection.query(`SELECT count(*) FROM ${name} WHERE ${span}`),
    countUpTo: connection.query(
      `SELECT count(*) FROM (SELECT 1 FROM ${name} WHERE ${span} LIMIT ?)`,
    ),
    seqs: connection.query(`SELECT seq FROM ${name} WHERE ${span}`),
  };
}

export class EntryReader {
  readonly #connection: Connection;
  readonly #statements = new Map<IndexTable, Statements>();
  /** Counts by part, revision, index and span. */
  readonly #counts = new RecentMap<string, number>(maxCounts);

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#of(tables.entries);
  }

  /** The number of counts that are cached now. */
  get cachedCounts(): number {
    return this.#counts.size;
  }

  /** Counts the entries; the counts are cached until the collection changes. */
  count(part: CountedPart, index: string, spans: readonly Span[]): number {
    return spans.reduce((sum, span) => sum + this.#countOf(part, index, span), 0);
  }

  /** Counts like `count`, but only up to a limit. */
  countUpTo(part: number, index: string, spans: readonly Span[], limit: number): number {
    const { table, countUpTo } = this.#of(tableOf(index));
    let sum = 0;
    for (const span of spans)
      if (sum < limit)
        sum += countUpTo.one(...table.bind(part, index, span), limit - sum)?.[0] ?? 0;
    return sum;
  }

  /** Adds the seqs of the entries. `checkStop` is called from time to time. */
  addSeqs(
    seqs: Set<number>,
    part: number,
    index: string,
    spans: readonly Span[],
    checkStop: () => void,
  ): void {
    const { table, seqs: statement } = this.#of(tableOf(index));
    for (const span of spans)
      for (const [seq] of statement.each(...table.bind(part, index, span))) {
        if ((seqs.size & 4_095) === 0) checkStop();
        seqs.add(seq);
      }
  }

  /** Returns the entries of one key in order of creation, from an offset or after a seq. */
  group(
    part: number,
    index: string,
    key: string,
    { isNewestFirst, limit, offset = 0, after }: GroupPage,
  ): readonly EntryCells[] {
    const { table } = this.#of(tableOf(index));
    const { from } = equalTo(key);
    const values = table.bind(part, index, { from, to: from }).slice(0, -1);
    return this.#group(index, values, { isNewestFirst, limit, offset, after });
  }

  #group(
    index: string,
    values: readonly Value[],
    { isNewestFirst, limit, offset = 0, after }: GroupPage,
  ): readonly EntryCells[] {
    const { group, groupAfter } = this.#of(tableOf(index));
    const direction = isNewestFirst ? "down" : "up";
    return after === undefined
      ? group[direction].all(...values, limit, offset)
      : groupAfter[direction].all(...values, after, limit, offset);
  }

  #of(table: IndexTable): Statements {
    const prepared = this.#statements.get(table) ?? prepare(this.#connection, table);
    this.#statements.set(table, prepared);
    return prepared;
  }

  /** Returns the entries from an offset. */
  scan(scan: OrderedScan, offset: number, limit: number): readonly EntryCells[] {
    const rows: EntryCells[] = [];
    let left = offset;
    for (const span of inOrder(scan)) {
      if (rows.length === limit) break;
      const count = left > 0 ? this.#countOf(scan, scan.index, span) : Number.POSITIVE_INFINITY;
      if (left >= count) left -= count;
      else {
        rows.push(...this.#scanSpan(scan, span, left, limit - rows.length));
        left = 0;
      }
    }
    return rows;
  }

  /** Returns the entries after this one: first the rest with the same key, then the following keys. */
  scanAfter(scan: OrderedScan, key: string, seq: number, limit: number): readonly EntryCells[] {
    const { part, index, spans, isNewestFirst } = scan;
    const rest = spans.some((span) => isIn(key, span))
      ? this.group(part, index, key, { isNewestFirst, limit, after: seq })
      : [];
    const beyond = { ...scan, spans: spans.flatMap((span) => clip(span, key, scan.isDescending)) };
    return [...rest, ...this.scan(beyond, 0, limit - rest.length)];
  }

  /**
   * When keys and seqs have the same direction, the index has the requested order. Otherwise only the
   * order within each key differs: the groups between the first and the last are reversed, and these two
   * are read again, because they can be incomplete. So nothing is sorted, even with many equal keys.
   */
  #scanSpan(scan: OrderedScan, span: Span, offset: number, limit: number): readonly EntryCells[] {
    const { part, index, isDescending, isNewestFirst } = scan;
    const { table, range } = this.#of(tableOf(index));
    const values = table.bind(part, index, span);
    const rows = range[isDescending ? "down" : "up"].all(...values, limit, offset);
    const first = rows[0];
    if (isDescending === isNewestFirst || first === undefined) return rows;
    const [head = [], ...others] = groupsIn(rows);
    const before = offset === 0 ? 0 : this.#countBefore(scan, span, first[0]);
    const valuesOf = (key: string | number) => [...values.slice(0, -2), key];
    const group = { isNewestFirst, limit: head.length, offset: offset - before };
    const heads = this.#group(index, valuesOf(first[0]), group);
    const tail = others.pop() ?? [];
    const last = tail[0];
    const tails = last
      ? this.#group(index, valuesOf(last[0]), { isNewestFirst, limit: tail.length })
      : [];
    return [...heads, ...others.flatMap((group) => group.toReversed()), ...tails];
  }

  /** Counts the entries before the first one of this key. */
  #countBefore(scan: OrderedScan, span: Span, key: string | number): number {
    const { part, index } = scan;
    const { table, count } = this.#of(tableOf(index));
    const [from = "", to = ""] = table.bind(part, index, span).slice(-2);
    const bounds = scan.isDescending ? [table.after(key), to] : [from, key];
    const values = [...table.bind(part, index, span).slice(0, -2), ...bounds];
    return this.#counts.getOrAdd(JSON.stringify([part, scan.revision, index, ...bounds]), () => {
      return count.one(...values)?.[0] ?? 0;
    });
  }

  #countOf({ part, revision }: CountedPart, index: string, span: Span): number {
    const { table, count } = this.#of(tableOf(index));
    const values = table.bind(part, index, span);
    return this.#counts.getOrAdd(
      JSON.stringify([part, revision, index, ...values.slice(-2)]),
      () => {
        return count.one(...values)?.[0] ?? 0;
      },
    );
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
function groupsIn(rows: readonly EntryCells[]): EntryCells[][] {
  const groups: EntryCells[][] = [];
  for (const row of rows) {
    const group = groups.at(-1);
    if (group?.[0]?.[0] === row[0]) group.push(row);
    else groups.push([row]);
  }
  return groups;
}

interface IndexTable {
  readonly name: string;
  /** The column of the keys. */
  readonly key: string;
  /** Selects the entries of one index. */
  readonly where: string;
  /** Returns the values of `where` and of the first and the last key of a span. */
  bind(part: number, index: string, span: Span): readonly Value[];
  /** Returns the smallest key after this one. */
  after(key: string | number): string | number;
}

const freeTable = (column: FreeColumn): IndexTable => ({
  name: "resources",
  key: column,
  where: "part = ?",
  bind(part, _index, span) {
    const { from, to } = rangeIn(column, span);
    return [part, from, to];
  },
  after: (key) => (typeof key === "number" ? key + 1 : `${key}\u0001`),
});

const tables = {
  entries: {
    name: "entries",
    key: "key",
    where: "part = ? AND field = ?",
    bind: (part, index, { from, to }) => [part, index, from, to],
    after: (key) => equalTo(String(key)).to,
  },
  id: freeTable("id"),
  created: freeTable("created"),
  updated: freeTable("updated"),
} as const satisfies Readonly<Record<string, IndexTable>>;

const tableOf = (index: string): IndexTable => tables[freeColumnOf(index) ?? "entries"];
