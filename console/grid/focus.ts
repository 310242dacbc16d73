// Gives the focus to the table when someone arrives, and when a resource is closed.

import { useEffect, useRef } from "preact/hooks";
import type { GridState } from "./grid-state.ts";

/** The active row follows the open resource. When that is closed, the focus goes back to its row. */
export function useReturn(state: GridState, isOpen: boolean, id: string | undefined): void {
  const wasOpen = useRef(false);
  useEffect(() => {
    const row = id === undefined ? undefined : state.cache.indexOf(id);
    if (row !== undefined) state.activate(row, state.active.peek().column);
    const isFree = document.activeElement === document.body;
    if (wasOpen.current && !isOpen && isFree) state.focus();
    wasOpen.current = isOpen;
  }, [isOpen, id]);
}

/** Someone who has chosen the collection goes on in its table. */
export function useArrival(state: GridState, isPanelOpen: boolean): void {
  const isThere = state.cache.latest !== undefined;
  useEffect(() => {
    const isElsewhere = document.getElementById("main")?.contains(document.activeElement) === false;
    const isFree = document.querySelector("dialog[open]") === null;
    if (isThere && isElsewhere && isFree && !isPanelOpen) state.focus();
  }, [isThere]);
}
