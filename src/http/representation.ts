// How a resource or a list is shown: its body and header fields, made once for as long as it stays the same.

import { preconditionFailed } from "../domain/refusals.ts";
import type { Rules } from "../model/collection.ts";
import { definitionOf } from "../model/definition.ts";
import type { Problem } from "../model/problem.ts";
import type { Resource } from "../model/resource.ts";
import { sealOf, viewOf } from "../model/view.ts";
import { entityTag, httpDate, isAnotherState, isNotModified } from "./conditions.ts";
import type { Exchange } from "./exchange.ts";

/** A state as a conditional request is judged by it, and its header fields. */
export interface State {
  readonly headers: Headers;
  readonly etag: string;
  readonly updatedAt: number;
}

export interface Prepared extends State {
  readonly body: string;
}

/** The store hands out the same objects for the same state, so a hot resource is prepared once. */
const prepared = new WeakMap<Resource, Prepared & { readonly rules: Rules }>();

export function prepare(exchange: Exchange, resource: Resource, rules: Rules): Prepared {
  const known = prepared.get(resource);
  if (known?.rules === rules) return known;
  const { headers, etag, updatedAt } = stateOf(exchange, resource, cacheOf(rules), sealOf(rules));
  const made = { body: viewOf(rules, resource, homeOf(exchange)), headers, etag, updatedAt, rules };
  prepared.set(resource, made);
  return made;
}

/** The address of the collection in the path. */
export const homeOf = ({ house, params }: Exchange): string => `${house.base}/${params.collection}`;

/** What one token sees may differ from what another sees, so only its own cache keeps it. */
const ownCache = "private, no-cache";

/** What everyone may read, any cache may keep for as long as the collection says. */
export function cacheOf(rules: Rules): string {
  const { access, cache } = definitionOf(rules);
  if (access.read !== "public") return ownCache;
  return cache.maxAge === 0 ? "public, no-cache" : `public, max-age=${cache.maxAge}`;
}

/** An answer to a write that had freshness would become a cached GET (RFC 9110 §9.3.3). */
export const noCache = "no-store";

export function stateOf(
  { house }: Exchange,
  { revision, updatedAt }: { readonly revision: number; readonly updatedAt: number },
  cacheControl: string,
  seal = 0,
): State {
  const headers = new Headers(house.jsonHeaders);
  const etag = entityTag(revision, updatedAt, seal);
  headers.set("cache-control", cacheControl);
  headers.set("etag", etag);
  headers.set("last-modified", httpDate(updatedAt));
  return { headers, etag, updatedAt };
}

export function answerIfModified(exchange: Exchange, page: Prepared): Response | Problem {
  return (
    answerByState(exchange, page) ??
    dated(new Response(page.body, { headers: page.headers }), page.updatedAt)
  );
}

/** What is to say before the body is looked at, in the order of RFC 9110 §13.2.2: 412, 304 or nothing. */
export function answerByState(
  { request: { headers } }: Exchange,
  state: State,
): Response | Problem | undefined {
  const { etag, updatedAt } = state;
  if (isAnotherState(headers, etag, updatedAt)) return preconditionFailed;
  return isNotModified(headers, etag, updatedAt) ? notModified(state) : undefined;
}

function notModified({ headers: asRead, updatedAt }: State): Response {
  const headers = new Headers(asRead);
  headers.delete("content-type");
  return dated(new Response(null, { status: 304, headers }), updatedAt);
}

/** Bun's own Date ticks up to a second late, and Last-Modified may not be later (RFC 9110 §8.8.2.1). */
export function dated(response: Response, updatedAt: number): Response {
  const now = Date.now();
  if (now - updatedAt < 2000) response.headers.set("date", httpDate(now));
  return response;
}
