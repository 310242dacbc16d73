// Reads a page of a list for the grid, and the request that it is.

import { type ApiRequest, send } from "../api/client.ts";
import { queryText } from "../api/query.ts";
import type { Page } from "../api/types.ts";
import type { Column, Row } from "./columns.ts";
import { type ListPage, pageSize, type Summary } from "./page-cache.ts";
import { queryParams, type View } from "./view.ts";

const mostExpanded = 16;

/** What is asked for beside the conditions. `references` are paths whose titles are shown. */
export function listPath(
  collection: string,
  view: View,
  references: readonly string[],
  page: number,
): string {
  const params = queryParams(view);
  params.set("fields", [...(view.fields ?? ["*"]), "_etag"].join(","));
  if (references.length > 0) params.set("expand", references.slice(0, mostExpanded).join(","));
  params.set("page", String(page + 1));
  params.set("limit", String(pageSize));
  return `/${collection}?${queryText(params)}`;
}

export const referencesIn = (columns: readonly Column[]): readonly string[] =>
  columns.filter(({ refersTo }) => refersTo !== undefined).map(({ path }) => path);

export async function fetchPage(
  path: string,
  signal: AbortSignal,
  etag?: string,
): Promise<ListPage | undefined> {
  const headers = etag === undefined ? {} : { "If-None-Match": etag };
  const response = await send({ method: "GET", path, headers }, signal);
  if (response.status === 304) return undefined;
  const { data, total, totalAtLeast } = (await response.json()) as Page<Row>;
  return {
    rows: data,
    etag: response.headers.get("etag") ?? undefined,
    total: total ?? undefined,
    totalAtLeast: totalAtLeast ?? 0,
    scan: readScan(response.headers.get("server-timing")),
  };
}

/** `scan;desc="20015 resources checked";dur=81.3` */
function readScan(header: string | null): Summary["scan"] {
  const [, count, milliseconds] = /scan;desc="(\d+)[^"]*";dur=([\d.]+)/.exec(header ?? "") ?? [];
  if (count === undefined) return undefined;
  return { count: Number(count), milliseconds: Number(milliseconds) };
}

/** The whole list with the shown columns, for a file. CSV cannot expand references. */
export function exportRequest(
  collection: string,
  view: View,
  columns: readonly Column[],
  type: string,
): ApiRequest {
  const params = queryParams(view);
  params.set("fields", columns.map(({ path }) => path).join(","));
  const path = `/${collection}?${queryText(params)}`;
  return { method: "GET", path, headers: { Accept: type } };
}
