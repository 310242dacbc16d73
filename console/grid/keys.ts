// What the keys do while the grid has the focus.

import type { GridState } from "./grid-state.ts";

export interface GridKeys {
  readonly columns: number;
  readonly onOpen: (row: number) => void;
  readonly onSelect: (row: number, isRange: boolean) => void;
  readonly onSelectAll: () => void;
  readonly onEdit: (row: number, column: number) => void;
  readonly onSort: (column: number, isAdded: boolean) => void;
  readonly onWiden: (column: number, step: number) => void;
  readonly onFollow: (row: number, column: number) => void;
}

const widthStep = 16;

/** Returns whether the key meant something. */
export function pressKey(event: KeyboardEvent, state: GridState, keys: GridKeys): boolean {
  const { row, column } = state.active.peek();
  const isHeader = row < 0;
  const isCommand = event.ctrlKey || event.metaKey;
  const last = state.cache.rowCount - 1;
  if (event.altKey) return false;
  if (isHeader && isCommand && /^Arrow(Left|Right)$/.test(event.key)) {
    keys.onWiden(column, event.key === "ArrowRight" ? widthStep : -widthStep);
    return true;
  }
  const moves: Readonly<Record<string, () => readonly [number, number]>> = {
    ArrowDown: () => [row + 1, column],
    ArrowUp: () => [row - 1, column],
    ArrowRight: () => [row, Math.min(column + 1, keys.columns)],
    ArrowLeft: () => [row, Math.max(column - 1, 0)],
    PageDown: () => [Math.max(row, 0) + state.pageRows, column],
    PageUp: () => [Math.max(row - state.pageRows, 0), column],
    Home: () => (isCommand ? [0, column] : [row, 0]),
    End: () => (isCommand ? [last, column] : [row, keys.columns]),
  };
  const move = moves[event.key];
  if (move !== undefined) {
    state.activate(...move());
    return true;
  }
  if (isCommand && event.key === "a") keys.onSelectAll();
  else if (isCommand && event.key === "Enter") keys.onFollow(row, column);
  else if (isCommand) return false;
  else if (event.key === " " && !isHeader) keys.onSelect(row, event.shiftKey);
  else if (isHeader && (event.key === " " || event.key === "Enter"))
    column === 0 ? keys.onSelectAll() : keys.onSort(column, event.shiftKey);
  else if (event.key === "Enter") keys.onOpen(row);
  else if ((event.key === "e" || event.key === "F2") && !isHeader) keys.onEdit(row, column);
  else return false;
  return true;
}
