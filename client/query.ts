// Lists: their parameters, and the request for them.

import type { Members } from "./object.ts";
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

/** An empty list asks for nothing. */
const isEmpty = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.length === 0);

/** A URL has commas between names, so that it cannot have such a name. Functions may have commas. */
const hasComma = (names: unknown): boolean =>
  Array.isArray(names) && names.some((name) => /^(?!\w+\().*,/.test(name));

/** The path of a GET. */
export function pathWith(name: string, query: object): string {
  const members = query as Members;
  const params = new URLSearchParams();
  for (const key of joined)
    if (!isEmpty(members[key])) params.set(key, [members[key]].flat().join(","));
  for (const key of single) if (members[key] !== undefined) params.set(key, `${members[key]}`);
  if (members.where !== undefined) params.set("where", JSON.stringify(members.where));
  return `/${name}${params.size === 0 ? "" : `?${params}`}`;
}

/** A GET, or a QUERY where a URL would be too long or cannot say it. */
export function listRequest(name: string, query: object, options: RequestOptions): ApiRequest {
  const members = query as Members;
  const path = pathWith(name, members);
  const isInUrl = path.length <= longestUrl && !joined.some((key) => hasComma(members[key]));
  if (isInUrl) return { method: "GET", path, ...options };
  const names = [...joined, ...single, "where"].filter((key) => !isEmpty(members[key]));
  const body = Object.fromEntries(names.map((key) => [key, members[key]]));
  return { method: "QUERY", path: `/${name}`, body, ...options };
}

/** An expanded answer has another ETag than its resource, so that the one of the resource is asked for. */
export function fieldsWithTag(
  fields: readonly string[] | undefined,
  expand: readonly string[] | undefined,
): readonly string[] | undefined {
  if (fields === undefined && expand === undefined) return undefined;
  return [...(fields && !hasComma(fields) ? fields : ["*"]), "_etag"];
}
