// Renders resources and lists as responses, and caches bodies and headers of unchanged states.

import { overloaded, preconditionFailed } from "../../domain/problems.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { Problem } from "../../model/problem.ts";
import { renderFields, viewVersion } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import type { RequestContext } from "../context.ts";
import {
  checkIfMatch,
  contentTag,
  entityTag,
  httpDate,
  isNotModified,
  isPreconditionFailed,
  matchingTag,
  type Validators,
  variantTag,
} from "../headers/conditional.ts";
import { type Coding, chooseCoding, encode } from "../headers/content-coding.ts";
import { createResponse, smallResponseBytes } from "../large-response.ts";

/** The validators of a state and its response headers. */
export interface ResponseHead extends Validators {
  readonly headers: Headers;
}

export interface RenderedPage extends ResponseHead {
  readonly body: string;
}

/** The store returns the same object for the same state, so a rendered resource is cached by it. */
const renderedResources = new WeakMap<Resource, RenderedPage & { readonly rules: Rules }>();

export function renderResource(
  context: RequestContext,
  resource: Resource,
  rules: Rules,
): RenderedPage {
  const cached = renderedResources.get(resource);
  if (cached?.rules === rules) return cached;
  const state = responseHeadOf(context, resource, rules, viewVersion(rules));
  const rendered = { body: renderFields(rules, resource, collectionUrl(context)), ...state, rules };
  renderedResources.set(resource, rendered);
  return rendered;
}

/** Returns the URL of the collection in the path. */
export const collectionUrl = ({ services, params }: RequestContext): string =>
  `${services.base}/${params.collection}`;

/** Responses may differ by token, so shared caches must not store them. */
const privateCache = "private, no-cache";

/** Shared caches may store what is public, for as long as the collection allows. */
export function cacheOf(rules: Rules): string {
  const { access, cache } = definitionOf(rules);
  if (access.read !== "public") return privateCache;
  return cache.maxAge === 0 ? "public, no-cache" : `public, max-age=${cache.maxAge}`;
}

/** Sets Cache-Control, and Vary when the response depends on the caller. */
export function setCaching(headers: Headers, rules: Rules): void {
  headers.set("cache-control", cacheOf(rules));
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

export function answerPage(
  context: RequestContext,
  page: RenderedPage,
): MaybePromise<Response | Problem> {
  return answerConditionally(context, page, page.body.length) ?? answerEncoded(context, page);
}

/** Responds with the body, encoded as Accept-Encoding prefers. */
export function answerEncoded(
  context: RequestContext,
  page: RenderedPage,
): MaybePromise<Response | Problem> {
  const coding = chooseCoding(context.request.headers, page.body.length);
  if (coding instanceof Problem) return coding;
  const { updatedAt, body } = page;
  if (body.length > smallResponseBytes && !context.memory.take(body.length)) return overloaded;
  if (coding === undefined) return withDate(responseWith(context, page.headers, body), updatedAt);
  return then(encodedBody(page, coding), ({ bytes, headers }) =>
    withDate(responseWith(context, headers, bytes), updatedAt),
  );
}

/**
 * Creates a response with its own copy of cached headers. The Response of @hono/node-server keeps the
 * object it is given, so a change would reach later responses.
 */
function responseWith(
  context: RequestContext,
  cachedHeaders: Headers,
  body: string | Uint8Array<ArrayBuffer>,
): Response {
  const response = createResponse(context, body, { headers: cachedHeaders });
  const isShared = response.headers === cachedHeaders;
  return isShared ? new Response(body, { headers: new Headers(cachedHeaders) }) : response;
}

interface EncodedBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Headers;
}

/** Encoded bodies are cached with their rendered page. */
const encodedBodies = new WeakMap<RenderedPage, Map<Coding, EncodedBody>>();

function encodedBody(page: RenderedPage, coding: Coding): MaybePromise<EncodedBody> {
  const forms = encodedBodies.get(page) ?? new Map<Coding, EncodedBody>();
  const cached = forms.get(coding);
  if (cached !== undefined) return cached;
  encodedBodies.set(page, forms);
  return then(encode(page.body, coding), (bytes) => {
    const rendered = { bytes, headers: encodedHeaders(page.headers, coding) };
    forms.set(coding, rendered);
    return rendered;
  });
}

/** An encoded body has other bytes, so it needs another ETag. */
export function encodedHeaders(plain: Headers, coding: Coding): Headers {
  const headers = new Headers(plain);
  headers.set("content-encoding", coding);
  const etag = plain.get("etag");
  if (etag !== null) headers.set("etag", variantTag(etag, coding));
  return headers;
}

/**
 * Evaluates the preconditions in the order of RFC 9110 §13.2.2: returns 412, 304 or undefined. `length`
 * is that of the body, if it is known.
 */
export function answerConditionally(
  { request: { headers } }: RequestContext,
  state: ResponseHead,
  length = 0,
): Response | Problem | undefined {
  const rejected = checkIfMatch(headers);
  if (rejected !== undefined) return rejected;
  if (isPreconditionFailed(headers, state)) return preconditionFailed;
  return isNotModified(headers, state) ? notModified(headers, state, length) : undefined;
}

/** Creates a 304 with the ETag of the variant that the client has, or would get. */
export function notModified(
  requestHeaders: Headers,
  state: ResponseHead,
  length: number,
): Response {
  const { headers: asRead, etag, updatedAt } = state;
  const headers = new Headers(asRead);
  headers.delete("content-type");
  if (etag !== "")
    headers.set(
      "etag",
      matchingTag(requestHeaders, etag) ?? tagToSend(requestHeaders, etag, length),
    );
  return withDate(new Response(null, { status: 304, headers }), updatedAt);
}

function tagToSend(requestHeaders: Headers, etag: string, length: number): string {
  const coding = chooseCoding(requestHeaders, length);
  return typeof coding === "string" ? variantTag(etag, coding) : etag;
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
