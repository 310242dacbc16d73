// Shows what others change, without moving what the person looks at.

import { useEffect } from "preact/hooks";
import { comebacks } from "../api/connection.ts";
import { changeCount } from "../state/changes.ts";
import { isWatched } from "../state/poll.ts";
import type { GridState } from "./grid-state.ts";

const lookMs = 4_000;

export function useLive(state: GridState): void {
  const reasons = `${changeCount.value} ${comebacks.value}`;
  // A change that was made here is read at once.
  useEffect(() => {
    if (state.cache.latest !== undefined) void look(state);
  }, [reasons]);
  useEffect(() => {
    const timer = setInterval(() => {
      if (isWatched() && state.cache.latest !== undefined) void look(state);
    }, lookMs);
    return () => clearInterval(timer);
  }, [state]);
}

/** The first row in view and the active row stay where they are, also when rows come or go before them. */
async function look(state: GridState): Promise<void> {
  if (state.editing.peek() !== undefined) return;
  const { cache } = state;
  const first = state.firstSeen;
  const { row, column } = state.active.peek();
  const [firstId, activeId] = [cache.rowAt(first)?.id, cache.rowAt(row)?.id];
  try {
    if (!(await cache.refresh())) return;
  } catch {
    // The cache says why the list is refused. The banner says that the server is away; a look follows when it is back.
    return;
  }
  if (state.firstSeen !== first) return;
  const moved = firstId === undefined ? undefined : cache.indexOf(firstId);
  if (moved !== undefined && first > 0) state.moveBy(moved - first);
  const active = activeId === undefined ? undefined : cache.indexOf(activeId);
  if (active !== undefined && state.active.peek().row === row)
    state.active.value = { row: active, column };
}
