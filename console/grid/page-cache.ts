// Holds the pages of a list that are near what is shown. It loads those that are missing, gives up those that
// scrolled away, and reads again what someone has changed.

import { asProblem, type Problem } from "../api/problem.ts";
import type { Row } from "./columns.ts";

export const pageSize = 100;
const keptPages = 30;
/** So many places are kept before the first answer. */
const expectedRows = 30;
/** While someone scrolls fast, a page is asked for when the movement slows down. */
const settleMs = 50;
/** But not later than this. */
const longestWaitMs = 200;

export interface ListPage {
  readonly rows: readonly Row[];
  readonly etag: string | undefined;
  /** Undefined when the server does not count so many. */
  readonly total: number | undefined;
  readonly totalAtLeast: number;
  /** How many resources were checked one by one, and how long it took. */
  readonly scan: { readonly count: number; readonly milliseconds: number } | undefined;
}

/** Returns undefined when the page still has this ETag. */
export type LoadPage = (
  page: number,
  signal: AbortSignal,
  etag?: string,
) => Promise<ListPage | undefined>;

export class PageCache {
  /** Changes whenever something else is to be shown. */
  readonly version: { value: number };
  private failure: Problem | undefined;
  private readonly load: LoadPage;
  private readonly pages = new Map<number, ListPage>();
  private readonly loading = new Map<number, AbortController>();
  private newest: ListPage | undefined;
  private wanted: readonly number[] = [];
  private settle: ReturnType<typeof setTimeout> | undefined;
  private lastMove = 0;
  private lastLoad = 0;

  /** `version` is a signal where a component shows the pages. */
  constructor(load: LoadPage, version = { value: 0 }) {
    this.version = version;
    this.load = load;
  }

  /** The answer that came last; undefined before the first one. */
  get latest(): ListPage | undefined {
    return this.version.value < 0 ? undefined : this.newest;
  }

  /** Why the last page did not come. */
  get problem(): Problem | undefined {
    return this.version.value < 0 ? undefined : this.failure;
  }

  /** How many rows there are, as far as is known. */
  get rowCount(): number {
    if (this.latest === undefined) return expectedRows;
    // A full page may have another one after it.
    const ends = [...this.pages.keys()].map((page) => (page + 2) * pageSize);
    return this.total ?? Math.max(this.latest.totalAtLeast, ...ends);
  }

  /** How many there are for sure: the server has counted, or the last page is there. */
  get total(): number | undefined {
    if (this.latest?.total !== undefined) return this.latest.total;
    const ends = [...this.pages].filter(([, { rows }]) => rows.length < pageSize);
    const counts = ends.map(([page, { rows }]) => page * pageSize + rows.length);
    return counts.length === 0 ? undefined : Math.min(...counts);
  }

  rowAt(index: number): Row | undefined {
    return this.pages.get(Math.floor(index / pageSize))?.rows[index % pageSize];
  }

  /** Undefined when it is in no page that is held. */
  indexOf(id: string): number | undefined {
    for (const [page, { rows }] of this.pages) {
      const index = rows.findIndex((row) => row.id === id);
      if (index >= 0) return page * pageSize + index;
    }
    return undefined;
  }

  find(id: string): Row | undefined {
    const index = this.indexOf(id);
    return index === undefined ? undefined : this.rowAt(index);
  }

  /** Says which rows are shown. */
  show(first: number, last: number): void {
    const from = Math.floor(first / pageSize);
    const count = Math.floor(Math.max(last - 1, first) / pageSize) - from + 1;
    this.wanted = Array.from({ length: count }, (_, index) => from + index);
    const now = performance.now();
    const isFast = now - this.lastMove < settleMs;
    this.lastMove = now;
    clearTimeout(this.settle);
    const isEarly = now - this.lastLoad < longestWaitMs;
    if (isFast && isEarly && this.newest)
      this.settle = setTimeout(() => this.loadWanted(), settleMs);
    else this.loadWanted();
  }

  /** Returns the row when it has come. */
  async fetchRow(index: number): Promise<Row | undefined> {
    const page = Math.floor(index / pageSize);
    if (!this.pages.has(page)) await this.loadPage(page);
    return this.rowAt(index);
  }

  /** Replaces a row that was changed here. */
  replace(row: Row): void {
    for (const [page, held] of this.pages) {
      if (!held.rows.some(({ id }) => id === row.id)) continue;
      const rows = held.rows.map((one) => (one.id === row.id ? { ...one, ...row } : one));
      // Its ETag is that of the former state.
      this.pages.set(page, { ...held, rows, etag: undefined });
    }
    this.version.value += 1;
  }

  /** Reads what is shown again. Returns whether anything has changed. */
  async refresh(): Promise<boolean> {
    const [first = 0] = this.wanted;
    const asked = this.wanted;
    const abort = new AbortController();
    const head = await this.load(first, abort.signal, this.pages.get(first)?.etag);
    if (head === undefined) return false;
    const others = asked.filter((page) => page !== first);
    const rest = await Promise.all(others.map((page) => this.load(page, abort.signal)));
    this.pages.clear();
    this.keep(first, head);
    for (const [index, page] of others.entries()) this.keep(page, rest[index]);
    this.failure = undefined;
    this.loadWanted();
    this.version.value += 1;
    return true;
  }

  close(): void {
    clearTimeout(this.settle);
    for (const abort of this.loading.values()) abort.abort();
  }

  private keep(page: number, loaded: ListPage | undefined): void {
    if (loaded === undefined) return;
    this.pages.delete(page);
    this.pages.set(page, loaded);
    this.newest = loaded;
    for (const old of this.pages.keys()) {
      if (this.pages.size <= keptPages) break;
      if (!this.wanted.includes(old)) this.pages.delete(old);
    }
  }

  private loadWanted(): void {
    this.lastLoad = performance.now();
    for (const [page, abort] of this.loading) if (!this.wanted.includes(page)) abort.abort();
    for (const page of this.wanted)
      if (!this.pages.has(page) && !this.loading.has(page)) void this.loadPage(page);
  }

  private async loadPage(page: number): Promise<void> {
    const abort = new AbortController();
    this.loading.set(page, abort);
    try {
      this.keep(page, await this.load(page, abort.signal));
      this.failure = undefined;
    } catch (error) {
      if (!abort.signal.aborted) this.failure = asProblem(error);
    } finally {
      if (this.loading.get(page) === abort) this.loading.delete(page);
    }
    if (!abort.signal.aborted) this.version.value += 1;
    else if (this.wanted.includes(page)) this.loadWanted();
  }
}
