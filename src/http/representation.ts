// How a resource or a list is shown: its body and header fields, made once for as long as it stays the same.

import { type Resource, represent } from "../model/resource.ts";
import { entityTag, isNotModified } from "./conditions.ts";
import type { Exchange } from "./exchange.ts";

export interface Prepared {
  readonly body: string;
  readonly headers: Headers;
  readonly etag: string;
  readonly updatedAt: number;
}

/** What one token sees may differ from what another sees, so only its own cache keeps it. */
const cacheControl = "private, no-cache";

/** The store hands out the same object for the same state, so a hot resource is prepared once. */
const prepared = new WeakMap<Resource, Prepared>();

export function prepare(exchange: Exchange, resource: Resource): Prepared {
  const known = prepared.get(resource);
  if (known !== undefined) return known;
  const { revision, updatedAt } = resource;
  const made = { body: represent(resource), ...validators(exchange, revision, updatedAt) };
  prepared.set(resource, made);
  return made;
}

/** The header fields of a state, and what a conditional request is judged by. */
export function validators(
  exchange: Exchange,
  revision: number,
  updatedAt: number,
): Omit<Prepared, "body"> {
  const headers = new Headers(exchange.house.commonHeaders);
  const etag = entityTag(revision, updatedAt);
  headers.set("content-type", "application/json");
  headers.set("cache-control", cacheControl);
  headers.set("etag", etag);
  headers.set("last-modified", new Date(updatedAt).toUTCString());
  headers.append("vary", "Accept");
  return { headers, etag, updatedAt };
}

export function answerIfModified(exchange: Exchange, { body, ...state }: Prepared): Response {
  const { headers, updatedAt } = state;
  return isUnmodified(exchange, state)
    ? notModified(state)
    : dated(new Response(body, { headers }), updatedAt);
}

type State = Omit<Prepared, "body">;

export const isUnmodified = (exchange: Exchange, { etag, updatedAt }: State): boolean =>
  isNotModified(exchange.request.headers, etag, updatedAt);

export function notModified({ headers: asRead, updatedAt }: State): Response {
  const headers = new Headers(asRead);
  headers.delete("content-type");
  return dated(new Response(null, { status: 304, headers }), updatedAt);
}

/** Bun's own Date ticks up to a second late, and Last-Modified may not be later (RFC 9110 §8.8.2.1). */
export function dated(response: Response, updatedAt: number): Response {
  const now = Date.now();
  if (now - updatedAt < 2000) response.headers.set("date", new Date(now).toUTCString());
  return response;
}
