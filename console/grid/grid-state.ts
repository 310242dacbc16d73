// Where a grid stands: what is scrolled into view, which cell is active, and which one is edited.

import { signal } from "@preact/signals";
import type { PageCache } from "./page-cache.ts";
import {
  clampTop,
  type Extent,
  rowHeight,
  scrollHeight,
  scrollOf,
  topAfter,
  topToShow,
} from "./scroll.ts";

export interface Position {
  /** -1 is the row of headers. */
  readonly row: number;
  /** 0 is the column of check boxes. */
  readonly column: number;
}

const spareRows = 4;
/** So long a wheel moves the scroll bar. */
const wheelMs = 300;
const doubleClickMs = 200;

export class GridState {
  readonly cache: PageCache;
  /** The first row that is rendered. */
  readonly first = signal(0);
  readonly height = signal(0);
  readonly active = signal<Position>({ row: 0, column: 1 });
  readonly editing = signal<Position | undefined>(undefined);
  private top = 0;
  private scroll = 0;
  private renderedFirst = 0;
  private lastWheel = Number.NEGATIVE_INFINITY;
  private offset = Number.NaN;
  private scroller: HTMLElement | null = null;
  private body: HTMLElement | null = null;
  private opening: ReturnType<typeof setTimeout> | undefined;

  /** `former` is the same list with other columns. */
  constructor(cache: PageCache, former?: GridState) {
    this.cache = cache;
    this.top = former?.top ?? 0;
    this.height.value = former?.height.peek() ?? 0;
    if (former) this.active.value = former.active.peek();
    const seen = Math.floor(this.top / rowHeight);
    cache.show(seen, seen + this.pageRows + 2);
  }

  get extent(): Extent {
    return { rows: this.cache.rowCount, height: this.height.value };
  }

  get scrollHeight(): number {
    return scrollHeight(this.extent);
  }

  get mostRendered(): number {
    return Math.ceil(this.height.value / rowHeight) + 1 + 2 * spareRows;
  }

  /** One after the last row that is rendered. */
  get end(): number {
    return Math.min(this.first.value + this.mostRendered, this.cache.rowCount);
  }

  get pageRows(): number {
    return Math.max(Math.floor(this.height.peek() / rowHeight) - 1, 1);
  }

  attach(scroller: HTMLElement | null, body: HTMLElement | null): void {
    this.scroller = scroller;
    this.body = body;
    this.offset = Number.NaN;
    if (scroller === null) this.openSoon(undefined);
  }

  /** Opens a resource, unless the click becomes a double click, which edits. */
  openSoon(open: (() => void) | undefined): void {
    clearTimeout(this.opening);
    this.opening = open && setTimeout(open, doubleClickMs);
  }

  focus(): void {
    this.scroller?.focus({ preventScroll: true });
  }

  /** After each rendering: puts the rows where they belong. */
  rendered(): void {
    this.renderedFirst = this.first.peek();
    this.place();
  }

  resize(height: number): void {
    this.height.value = Math.max(height, 0);
    this.setTop(this.top);
  }

  /** A movement of the scroll bar follows. */
  wheeled(): void {
    this.lastWheel = performance.now();
  }

  /** The person has moved the scroll bar, the wheel or a finger. */
  scrolled(): void {
    const to = this.scroller?.scrollTop ?? 0;
    if (to === this.scroll) return;
    const isWheel = performance.now() - this.lastWheel < wheelMs;
    this.top = topAfter(this.top, this.scroll, to, this.extent, isWheel);
    this.scroll = to;
    this.look();
  }

  /** The scroll bar of a long list is put right when the movement ends. */
  settled(): void {
    const wanted = scrollOf(clampTop(this.top, this.extent), this.extent);
    if (Math.abs((this.scroller?.scrollTop ?? wanted) - wanted) >= 1) this.setTop(this.top);
  }

  /** There are more or fewer rows. */
  grown(): void {
    this.setTop(this.top);
  }

  setTop(top: number): void {
    this.top = clampTop(top, this.extent);
    const wanted = scrollOf(this.top, this.extent);
    // The browser rounds it, and to ask for it would lay out the page.
    if (this.scroller && Math.abs(wanted - this.scroll) >= 1) {
      this.scroller.scrollTop = wanted;
      this.scroll = this.scroller.scrollTop;
    }
    this.look();
  }

  moveBy(rows: number): void {
    if (rows !== 0) this.setTop(this.top + rows * rowHeight);
  }

  /** The first row that a person sees whole. */
  get firstSeen(): number {
    return Math.ceil(this.top / rowHeight);
  }

  activate(row: number, column: number): void {
    const last = this.cache.rowCount - 1;
    const next = { row: Math.min(Math.max(row, -1), last), column };
    const isSameColumn = this.active.peek().column === column;
    this.active.value = next;
    if (next.row >= 0) this.setTop(topToShow(next.row, this.top, this.extent));
    if (!isSameColumn) this.showColumn(column);
  }

  private showColumn(column: number): void {
    const cell = this.scroller?.querySelector(`[role=columnheader]:nth-child(${column + 1})`);
    if (column > 0) cell?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  private look(): void {
    const seen = Math.floor(this.top / rowHeight);
    this.first.value = Math.max(seen - spareRows, 0);
    this.place();
    this.cache.show(this.first.peek(), Math.max(this.end, 1));
  }

  private place(): void {
    const offset = this.renderedFirst * rowHeight - this.top;
    if (this.body && offset !== this.offset) this.body.style.transform = `translateY(${offset}px)`;
    this.offset = offset;
  }
}
