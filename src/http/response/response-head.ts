// Makes the headers of responses about a state: validators, Cache-Control, Vary and Date.

import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import type { Resource } from "../../model/resource.ts";
import { contentTag, entityTag, httpDate, type Validators } from "../headers/conditional.ts";
import type { RequestContext } from "../request/context.ts";

/** The validators of a state and its response headers. */
export interface ResponseHead extends Validators {
  readonly headers: Headers;
}

/** Responses may differ by token, so shared caches must not store them. */
const privateCache = "private, no-cache";

/** Shared caches may store what is public, for as long as the collection allows. */
export function cacheControlOf(rules: Rules): string {
  const { access, cache } = definitionOf(rules);
  if (access.read !== "public") return privateCache;
  return cache.maxAge === 0 ? "public, no-cache" : `public, max-age=${cache.maxAge}`;
}

/** Sets Cache-Control, and Vary when the response depends on the caller. */
export function setCaching(headers: Headers, rules: Rules): void {
  headers.set("cache-control", cacheControlOf(rules));
  if (definitionOf(rules).access.read === "owner") headers.append("vary", "Authorization");
}

/** A fresh response to a write could be reused for a later GET (RFC 9110 §9.3.3). */
export const noCache = "no-store";

/** Returns the head of a resource or collection from its revision. */
export function responseHeadOf(
  { services }: RequestContext,
  { revision, updatedAt, sharesDate }: Pick<Resource, "revision" | "updatedAt" | "sharesDate">,
  caching: Rules | typeof noCache,
  viewVersion = 0,
): ResponseHead {
  const headers = new Headers(services.jsonHeaders);
  const etag = entityTag(revision, updatedAt, viewVersion);
  if (caching === noCache) headers.set("cache-control", noCache);
  else setCaching(headers, caching);
  headers.set("etag", etag);
  headers.set("last-modified", httpDate(updatedAt));
  return { headers, etag, updatedAt, isDateExact: sharesDate !== true };
}

/**
 * Returns the head for a caller who sees a part of a collection: the ETag is a hash of the body, and
 * there is no Last-Modified, because it would reveal changes of hidden resources.
 */
export function partialResponseHead(
  { services }: RequestContext,
  rules: Rules,
  body: string | undefined,
): ResponseHead {
  const headers = new Headers(services.jsonHeaders);
  const etag = body === undefined ? "" : contentTag(body);
  setCaching(headers, rules);
  if (etag !== "") headers.set("etag", etag);
  return { headers, etag, updatedAt: undefined, isDateExact: false };
}

/**
 * Last-Modified must not be later than Date (RFC 9110 §8.8.2.1). Bun's Date can be a second late, and
 * the clock of another node can be ahead of ours.
 */
export function withDate(response: Response, updatedAt: number | undefined): Response {
  const now = Date.now();
  if (updatedAt === undefined || now - updatedAt >= 2000) return response;
  const date = httpDate(now);
  response.headers.set("date", date);
  if (updatedAt > now) response.headers.set("last-modified", date);
  return response;
}
