// What `meta` of an admin framework can say to the server.

import type { AnyResource, ListQuery } from "../index.ts";
import type { Members } from "../object.ts";

export interface Options
  extends Pick<ListQuery<AnyResource>, "expand" | "fields" | "total" | "headers" | "signal"> {
  /** The state that a change is made from, or `*` for whatever is there. */
  readonly etag?: string;
}

const known = ["expand", "fields", "total", "headers", "etag"];

/** `meta` may have anything. */
export function optionsOf(meta: Members = {}, signal?: AbortSignal): Options {
  const given = Object.entries(meta).filter(([name]) => known.includes(name));
  return { ...Object.fromEntries(given), ...(signal && { signal }) };
}
