// Reads the ids and ETags of all that match, before they are changed: what comes later is not touched.

import { get } from "../api/client.ts";
import { queryText } from "../api/query.ts";
import { batchProgress, type Target } from "./batch.ts";
import { queryParams, type View } from "./view.ts";

const pageSize = 1_000;

interface CursorPage {
  readonly data: readonly Target[];
  readonly next: string | null;
}

/** Undefined when someone has cancelled it. `total` is for the progress. */
export async function readMatches(
  collection: string,
  view: View,
  except: ReadonlySet<string>,
  total: number | undefined,
): Promise<readonly Target[] | undefined> {
  const abort = new AbortController();
  const cancel = (): void => abort.abort();
  const found: Target[] = [];
  try {
    for (let cursor: string | null = ""; cursor !== null; ) {
      batchProgress.value = { verb: "Reading", done: found.length, total, cancel };
      const page: CursorPage = await get(matchesPath(collection, view, cursor), abort.signal);
      for (const target of page.data) if (!except.has(target.id)) found.push(target);
      cursor = page.next;
    }
    return found;
  } catch (error) {
    if (abort.signal.aborted) return undefined;
    throw error;
  } finally {
    batchProgress.value = undefined;
  }
}

/** In the order of creation, which nobody changes meanwhile. */
function matchesPath(collection: string, view: View, cursor: string): string {
  const params = queryParams({ ...view, sort: [{ path: "createdAt", isDescending: false }] });
  params.set("fields", "_etag");
  params.set("limit", String(pageSize));
  params.set("total", "none");
  params.set("cursor", cursor);
  return `/${collection}?${queryText(params)}`;
}
