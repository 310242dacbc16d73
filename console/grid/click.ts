// What a click on a cell does: it opens the resource, or edits the cell where the pencil is.

import type { Column, Row } from "./columns.ts";
import { lockOf } from "./edit.ts";
import type { GridState } from "./grid-state.ts";

interface Clicked {
  readonly state: GridState;
  readonly columns: readonly Column[];
  /** Why nothing can be edited, if so. */
  readonly locked: string | undefined;
  readonly onOpen: (row: Row, path?: string) => void;
}

const isEditable = ({ columns, locked }: Clicked, row: Row, at: number): boolean => {
  const column = columns[at - 1];
  return locked === undefined && column !== undefined && lockOf(row, column) === undefined;
};

/** A link does what links do, and someone who marks text wants to copy it. */
export function clickCell(grid: Clicked, event: MouseEvent, index: number, at: number): void {
  const { state } = grid;
  const { row: editedRow, column: editedColumn } = state.editing.peek() ?? {};
  if (editedRow === index && editedColumn === at) return;
  const row = state.cache.rowAt(index);
  const isLink = event.target instanceof Element && event.target.closest("a") !== null;
  if (!isLink) state.focus();
  state.activate(index, at);
  const isMarking = getSelection()?.isCollapsed === false;
  if (row === undefined || isLink || isMarking || event.ctrlKey || event.metaKey) return;
  const isTouch = event instanceof PointerEvent && event.pointerType === "touch";
  if (isTouch || !isEditable(grid, row, at)) grid.onOpen(row);
  else if (isOnPencil(event)) startEdit(grid, index, at);
  else state.openSoon(() => grid.onOpen(row));
}

const pencilWidth = 28;

/** The pencil is at the side that the text leaves free. */
function isOnPencil(event: MouseEvent): boolean {
  const cell = event.currentTarget as HTMLElement;
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
