// Holds the pages of a list that are near what is shown. It loads those that are missing, gives up those that
// scrolled away, and reads again what someone has changed.

import { asProblem, Problem } from "../api/problem.ts";
import type { Row } from "./columns.ts";

export const pageSize = 100;
const keptPages = 30;
/** So many places are kept before the first answer. */
const expectedRows = 30;
/** While someone scrolls fast, a page is asked for when the movement slows down. */
const settleMs = 50;
/** But not later than this. */
const longestWaitMs = 200;

/** What a page says of its whole list. */
export interface Summary {
  /** Undefined when the server does not count so many. */
  readonly total: number | undefined;
  readonly totalAtLeast: number;
  /** How many resources were checked one by one, and how long it took. */
  readonly scan: { readonly count: number; readonly milliseconds: number } | undefined;
}

export interface ListPage extends Summary {
  readonly rows: readonly Row[];
  readonly etag: string | undefined;
}

/** Returns undefined when the page still has this ETag. */
export type LoadPage = (
  page: number,
  signal: AbortSignal,
  etag?: string,
) => Promise<ListPage | undefined>;

/** The server says that there is no such list any more: another definition, other rights, no collection. */
const isRefusal = ({ status }: Problem): boolean => [400, 403, 404].includes(status);

/** What is known of the list. It is another object only when it says something else. */
export interface ListFacts {
  /** That of the answer that came last; undefined before the first one. */
  readonly latest: Summary | undefined;
  /** Why the last page did not come. */
  readonly problem: Problem | undefined;
  /** How many there are for sure: the server has counted, or the last page is there. */
  readonly total: number | undefined;
  /** How many rows there are, as far as is known. */
  readonly rowCount: number;
}

export const nothingKnown: ListFacts = {
  ...{ latest: undefined, problem: undefined, total: undefined, rowCount: expectedRows },
};

export class PageCache {
  /** Changes whenever other rows are to be shown. */
  readonly version: { value: number };
  readonly facts: { value: ListFacts };
  private readonly load: LoadPage;
  private readonly pages = new Map<number, ListPage>();
  private readonly loading = new Map<number, AbortController>();
  private wanted: readonly number[] = [];
  private settle: ReturnType<typeof setTimeout> | undefined;
  private lastMove = 0;
  private lastLoad = 0;

  /** `version` and `facts` are signals where a component shows the pages. */
  constructor(load: LoadPage, version = { value: 0 }, facts = { value: nothingKnown }) {
    this.version = version;
    this.facts = facts;
    this.load = load;
  }

  get latest(): Summary | undefined {
    return this.facts.value.latest;
  }

  get problem(): Problem | undefined {
    return this.facts.value.problem;
  }

  get total(): number | undefined {
    return this.facts.value.total;
  }

  get rowCount(): number {
    return this.facts.value.rowCount;
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
    if (isFast && isEarly && this.pages.size > 0)
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
    this.changed();
  }

  /** Reads what is shown again. Returns whether anything has changed. */
  async refresh(): Promise<boolean> {
    try {
      return await this.readAgain();
    } catch (error) {
      const problem = asProblem(error);
      if (isRefusal(problem)) {
        this.pages.clear();
        this.changed(problem);
      }
      throw error;
    }
  }

  private async readAgain(): Promise<boolean> {
    const [first = 0] = this.wanted;
    const asked = this.wanted;
    const abort = new AbortController();
    const head = await this.load(first, abort.signal, this.pages.get(first)?.etag);
    if (head === undefined) return false;
    const others = asked.filter((page) => page !== first);
    const rest = await Promise.all(others.map((page) => this.load(page, abort.signal)));
    this.pages.clear();
    for (const [index, page] of others.entries()) this.keep(page, rest[index]);
    this.keep(first, head);
    this.loadWanted();
    this.changed(head);
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
    for (const old of this.pages.keys()) {
      if (this.pages.size <= keptPages) break;
      if (!this.wanted.includes(old)) this.pages.delete(old);
    }
  }

  /** Those before and after what is shown, where they cost the server little. */
  private get near(): readonly number[] {
    const [first = 0] = this.wanted;
    if (this.latest === undefined || this.latest.scan !== undefined) return [];
    const after = first + this.wanted.length;
    const isThere = after * pageSize < this.rowCount;
    return [...(isThere ? [after] : []), ...(first > 0 ? [first - 1] : [])];
  }

  private loadWanted(): void {
    this.lastLoad = performance.now();
    const kept = [...this.wanted, ...this.near];
    for (const [page, abort] of this.loading) if (!kept.includes(page)) abort.abort();
    for (const page of this.wanted) this.loadMissing(page);
    this.loadNear();
  }

  /** When all that is shown is there. */
  private loadNear(): void {
    if (this.wanted.every((page) => this.pages.has(page)))
      for (const page of this.near) this.loadMissing(page);
  }

  private loadMissing(page: number): void {
    if (!this.pages.has(page) && !this.loading.has(page)) void this.loadPage(page);
  }

  private async loadPage(page: number): Promise<void> {
    const abort = new AbortController();
    this.loading.set(page, abort);
    let answer: ListPage | Problem | undefined;
    try {
      answer = await this.load(page, abort.signal);
      this.keep(page, answer);
    } catch (error) {
      answer = asProblem(error);
    } finally {
      if (this.loading.get(page) === abort) this.loading.delete(page);
    }
    const isWanted = this.wanted.includes(page);
    if (abort.signal.aborted) {
      if (isWanted) this.loadWanted();
    } else if (isWanted || !(answer instanceof Problem)) {
      this.changed(answer);
      this.loadNear();
    }
  }

  private changed(answer?: ListPage | Problem): void {
    const former = this.facts.value;
    const isLoaded = answer !== undefined && "rows" in answer;
    const latest = isLoaded ? summaryOf(answer, former.latest) : former.latest;
    const problem = answer === undefined ? former.problem : isLoaded ? undefined : answer;
    const total = latest?.total ?? this.seenEnd();
    const rowCount = latest === undefined ? expectedRows : (total ?? this.seenRows(latest));
    const facts = { latest, problem, total, rowCount };
    const names = Object.keys(facts) as (keyof ListFacts)[];
    if (names.some((name) => facts[name] !== former[name])) this.facts.value = facts;
    this.version.value += 1;
  }

  /** The end of a page that is not full. */
  private seenEnd(): number | undefined {
    const ends = [...this.pages].filter(([, { rows }]) => rows.length < pageSize);
    const counts = ends.map(([page, { rows }]) => page * pageSize + rows.length);
    return counts.length === 0 ? undefined : Math.min(...counts);
  }

  /** A full page may have another one after it. */
  private seenRows({ totalAtLeast }: Summary): number {
    return Math.max(totalAtLeast, ...[...this.pages.keys()].map((page) => (page + 2) * pageSize));
  }
}

/** The former one where it says the same. */
function summaryOf({ total, totalAtLeast, scan }: ListPage, former: Summary | undefined): Summary {
  const summary = { total, totalAtLeast, scan };
  return former && JSON.stringify(former) === JSON.stringify(summary) ? former : summary;
}
