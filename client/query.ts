// Lists: their parameters, and the request for them.

import type { ApiRequest, RequestOptions } from "./send.ts";
import type { ExpandPath, FieldPath, SortField, Where } from "./types.ts";

/** Which resources, and what of them. */
export interface Selection<T> extends RequestOptions {
  readonly where?: Where<T>;
  /** Words to search for. */
  readonly q?: string;
  readonly sort?: SortField<T> | readonly SortField<T>[];
  /** All, if it is left out. */
  readonly fields?: readonly FieldPath<T>[];
  readonly expand?: readonly ExpandPath<T>[];
}

export interface ListQuery<T> extends Selection<T> {
  /** From 1. */
  readonly page?: number;
  /** Up to 1000; 20 by default. */
  readonly limit?: number;
  /** `none` skips the count. */
  readonly total?: "none";
}

export interface AggregateQuery<T>
  extends Pick<Selection<T>, "where" | "q" | keyof RequestOptions> {
  /** Such as `count`, `sum(total)`, `avg(price)`. */
  readonly aggregate: readonly Figure<T>[];
  /** Such as `status`, `month(placedAt)`, `range(total,0,100)`. */
  readonly by?: readonly string[];
  readonly timezone?: string;
  readonly sort?: string | readonly string[];
  readonly limit?: number;
  readonly page?: number;
}

type Figure<T> = "count" | `${"sum" | "avg" | "min" | "max" | "distinct"}(${FieldPath<T>})`;

/** Members that are lists in a URL. */
const joined = ["sort", "fields", "expand", "aggregate", "by"] as const;
const single = ["q", "page", "limit", "total", "cursor", "since", "timezone"] as const;
const longestUrl = 4_000;

type Members = Readonly<Record<string, unknown>>;

/** An empty list asks for nothing. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.length === 0);

/** A GET, or a QUERY where the URL would be too long. */
export function listRequest(name: string, query: object, options: RequestOptions): ApiRequest {
  const members = query as Members;
  const params = new URLSearchParams();
  for (const key of joined)
    if (!isEmpty(members[key])) params.set(key, [members[key]].flat().join(","));
  for (const key of single) if (members[key] !== undefined) params.set(key, `${members[key]}`);
  if (members.where !== undefined) params.set("where", JSON.stringify(members.where));
  const text = params.size === 0 ? "" : `?${params}`;
  if (text.length <= longestUrl) return { method: "GET", path: `/${name}${text}`, ...options };
  const names = [...joined, ...single, "where"].filter((key) => !isEmpty(members[key]));
  const body = Object.fromEntries(names.map((key) => [key, members[key]]));
  return { method: "QUERY", path: `/${name}`, body, ...options };
}
