// Maps the position of a scroll bar to rows. A browser ends an element at some 33 million pixels, so a
// long list has a shorter scroll bar, and small movements still move by pixels of rows.

import { isNarrow } from "./narrow.ts";

/** Fingers need more than pointers. */
export const rowHeight = isNarrow ? 44 : 34;
const tallest = 8_000_000;

export interface Extent {
  readonly rows: number;
  /** The height of the part that shows rows. */
  readonly height: number;
}

export const scrollHeight = ({ rows, height }: Extent): number =>
  Math.max(Math.min(rows * rowHeight, tallest), height);

/** The largest position, in pixels of rows. */
export const lastTop = ({ rows, height }: Extent): number => Math.max(rows * rowHeight - height, 0);

const lastScroll = (extent: Extent): number => scrollHeight(extent) - extent.height;

export const clampTop = (top: number, extent: Extent): number =>
  Math.min(Math.max(top, 0), lastTop(extent));

/** Where the scroll bar stands for a position in pixels of rows. */
export function scrollOf(top: number, extent: Extent): number {
  const last = lastTop(extent);
  return last === 0 ? 0 : (clampTop(top, extent) / last) * lastScroll(extent);
}

/** The position after the scroll bar went from one place to another. A wheel moves by pixels of rows, however far. */
export function topAfter(
  top: number,
  from: number,
  to: number,
  extent: Extent,
  isWheel = false,
): number {
  const end = lastScroll(extent);
  if (to <= 0) return 0;
  if (to >= end - 1) return lastTop(extent);
  const isSmall = isWheel || Math.abs(to - from) < extent.height;
  return clampTop(isSmall ? top + to - from : (to / end) * lastTop(extent), extent);
}

/** The position at which a row is wholly shown, with the least movement. */
export function topToShow(row: number, top: number, extent: Extent): number {
  const above = row * rowHeight;
  if (above < top) return above;
  const below = above + rowHeight - extent.height;
  return clampTop(below > top ? below : top, extent);
}
