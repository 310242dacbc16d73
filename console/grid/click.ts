// What a click on a cell does: it opens the resource, or edits the cell where the pencil is.

import type { Column, Row } from "./columns.ts";
import { lockOf } from "./edit.ts";
import type { GridState, Position } from "./grid-state.ts";
import type { Selection } from "./selection.ts";

interface Clicked {
  readonly state: GridState;
  readonly columns: readonly Column[];
  readonly selection: Selection;
  /** Why nothing can be edited, if so. */
  readonly locked: string | undefined;
  readonly onOpen: (row: Row, path?: string) => void;
}

const isEditable = ({ columns, locked }: Clicked, row: Row, at: number): boolean => {
  const column = columns[at - 1];
  return locked === undefined && column !== undefined && lockOf(row, column) === undefined;
};

/** Where an event happened; undefined for the headers, and for the cell that is edited. */
export function placeIn({ target }: Event, { editing }: GridState): Position | undefined {
  const cell = target instanceof Element ? target.closest("[role=gridcell]") : null;
  const row = Number(cell?.parentElement?.getAttribute("aria-rowindex")) - 2;
  const column = Number(cell?.getAttribute("aria-colindex")) - 1;
  const edited = editing.peek();
  const isEdited = edited?.row === row && edited.column === column;
  return cell === null || isEdited ? undefined : { row, column };
}

/** The rows have one listener for all of their cells. */
export function clickGrid(
  grid: Clicked,
  event: MouseEvent,
  onSelect: (index: number, isRange: boolean) => void,
): void {
  const place = placeIn(event, grid.state);
  if (place === undefined) return;
  if (place.column > 0) clickCell(grid, event, place);
  else {
    grid.state.focus();
    grid.state.activate(place.row, 0);
    onSelect(place.row, event.shiftKey);
    tick(grid, event, place.row);
  }
}

/** The browser has ticked the box already, and a range may leave it as it was. */
function tick({ state, selection }: Clicked, event: MouseEvent, index: number): void {
  const box = cellOf(event).querySelector("input");
  const row = state.cache.rowAt(index);
  if (box) box.checked = row !== undefined && selection.has(row.id);
}

const cellOf = ({ target }: Event): Element =>
  (target as Element).closest("[role=gridcell]") as Element;

/** A link does what links do, and someone who marks text wants to copy it. */
function clickCell(grid: Clicked, event: MouseEvent, { row: index, column }: Position): void {
  const { state } = grid;
  const row = state.cache.rowAt(index);
  const isLink = (event.target as Element).closest("a[href]") !== null;
  if (!isLink) state.focus();
  state.activate(index, column);
  const isMarking = getSelection()?.isCollapsed === false;
  if (row === undefined || isLink || isMarking || event.ctrlKey || event.metaKey) return;
  const isTouch = event instanceof PointerEvent && event.pointerType === "touch";
  if (isTouch || !isEditable(grid, row, column)) grid.onOpen(row);
  else if (isOnPencil(event)) startEdit(grid, index, column);
  else state.openSoon(() => grid.onOpen(row));
}

const pencilWidth = 28;

/** The pencil is at the side that the text leaves free. */
function isOnPencil(event: MouseEvent): boolean {
  const cell = cellOf(event);
  const { left, right } = cell.getBoundingClientRect();
  const isAtStart = cell.classList.contains("number");
  const isLeft = isAtStart !== (getComputedStyle(cell).direction === "rtl");
  return isLeft ? event.clientX < left + pencilWidth : event.clientX > right - pencilWidth;
}

export function startEdit(grid: Clicked, index: number, at: number): void {
  const { state, columns, onOpen } = grid;
  const row = state.cache.rowAt(index);
  state.openSoon(undefined);
  if (row === undefined) return;
  if (!isEditable(grid, row, at)) {
    onOpen(row, columns[at - 1]?.path);
    return;
  }
  state.activate(index, at);
  state.editing.value = { row: index, column: at };
}
