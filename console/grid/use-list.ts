// The list that a view shows. While another one loads, the former stays, so that nothing flickers.

import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Column } from "./columns.ts";
import { GridState } from "./grid-state.ts";
import { fetchPage, listPath, referencesIn } from "./list.ts";
import { type LoadPage, nothingKnown, PageCache } from "./page-cache.ts";
import { queryParams, type View } from "./view.ts";

export interface ShownList {
  readonly state: GridState;
  readonly columns: readonly Column[];
  readonly view: View;
  /** The conditions and the order, without the columns. */
  readonly query: string;
  /** Whether another one is on its way. */
  readonly isLoading: boolean;
}

export function useList(collection: string, view: View, columns: readonly Column[]): ShownList {
  const references = referencesIn(columns);
  const pathOf = (page: number): string => listPath(collection, view, references, page);
  const query = queryParams(view).toString();
  const shown = useRef<ShownList | undefined>(undefined);
  const wanted = useMemo(() => {
    const load: LoadPage = (page, abort, etag) => fetchPage(pathOf(page), abort, etag);
    const cache = new PageCache(load, signal(0), signal(nothingKnown));
    const former = shown.current?.query === query ? shown.current.state : undefined;
    return new GridState(cache, former);
  }, [pathOf(0)]);
  useEffect(() => () => wanted.cache.close(), [wanted]);
  const { latest, problem } = wanted.cache;
  const isReady = latest !== undefined || problem !== undefined || shown.current === undefined;
  const former = shown.current;
  // With other columns the active cell stays, and someone in the headers is not sent to the first row.
  const active = former?.state.active.peek();
  const isKept = former?.query === query || (active !== undefined && active.row < 0);
  if (isReady && active && former?.state !== wanted && isKept) wanted.active.value = active;
  if (isReady)
    shown.current = { state: wanted, columns, view, query, isLoading: latest === undefined };
  const list = shown.current ?? { state: wanted, columns, view, query, isLoading: true };
  return isReady ? list : { ...list, isLoading: true };
}
