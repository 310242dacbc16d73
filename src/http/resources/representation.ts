// How a resource or a list is shown: its body and header fields, made once for as long as it stays the same.

import { overloaded, preconditionFailed } from "../../domain/problems.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import type { Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import { Problem } from "../../model/problem.ts";
import { renderFields, viewVersion } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import type { RequestContext } from "../context.ts";
import {
  contentTag,
  entityTag,
  httpDate,
  isNotModified,
  isPreconditionFailed,
  matchingTag,
  refuseIfMatch,
  type Validators,
  variantTag,
} from "../headers/conditional.ts";
import { type Coding, chooseCoding, encode } from "../headers/content-coding.ts";
import { responseOf, smallAnswerBytes } from "../large-response.ts";

/** A state as a conditional request is judged by it, and its header fields. */
export interface ResponseHead extends Validators {
  readonly headers: Headers;
}

export interface RenderedPage extends ResponseHead {
  readonly body: string;
}

/** The store hands out the same objects for the same state, so a hot resource is prepared once. */
const renderedResources = new WeakMap<Resource, RenderedPage & { readonly rules: Rules }>();

export function renderResource(
  context: RequestContext,
  resource: Resource,
  rules: Rules,
): RenderedPage {
  const known = renderedResources.get(resource);
  if (known?.rules === rules) return known;
  const state = responseHeadOf(context, resource, rules, viewVersion(rules));
  const made = { body: renderFields(rules, resource, collectionUrl(context)), ...state, rules };
  renderedResources.set(resource, made);
  return made;
}

/** The address of the collection in the path. */
export const collectionUrl = ({ services, params }: RequestContext): string =>
  `${services.base}/${params.collection}`;

/** What one token sees may differ from what another sees, so only its own cache keeps it. */
const ownCache = "private, no-cache";

/** What everyone may read, any cache may keep for as long as the collection says. */
export function cacheOf(rules: Rules): string {
  const { access, cache } = definitionOf(rules);
  if (access.read !== "public") return ownCache;
  return cache.maxAge === 0 ? "public, no-cache" : `public, max-age=${cache.maxAge}`;
}

/** Says to caches who may keep an answer to a read, and whether it depends on who asks. */
export function setCaching(headers: Headers, rules: Rules): void {
  headers.set("cache-control", cacheOf(rules));
  if (definitionOf(rules).access.read === "owner") headers.append("vary", "Authorization");
}

/** An answer to a write that had freshness would become a cached GET (RFC 9110 §9.3.3). */
export const noCache = "no-store";

/** The state of what has a revision. */
export function responseHeadOf(
  { services }: RequestContext,
  { revision, updatedAt, sharesDate }: Pick<Resource, "revision" | "updatedAt" | "sharesDate">,
  caching: Rules | typeof noCache,
  seal = 0,
): ResponseHead {
  const headers = new Headers(services.jsonHeaders);
  const etag = entityTag(revision, updatedAt, seal);
  if (caching === noCache) headers.set("cache-control", noCache);
  else setCaching(headers, caching);
  headers.set("etag", etag);
  headers.set("last-modified", httpDate(updatedAt));
  return { headers, etag, updatedAt, isDateExact: sharesDate !== true };
}

/**
 * The state of what a caller sees a part of: what is shown makes its tag, and it has no date, because
 * the dates of the rest are not for this caller. Without a body the tag is not known.
 */
export function shownResponseHead(
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

/** The answer as it is, or coded as the client wishes. */
export function answerEncoded(
  context: RequestContext,
  page: RenderedPage,
): MaybePromise<Response | Problem> {
  const coding = chooseCoding(context.request.headers, page.body.length);
  if (coding instanceof Problem) return coding;
  const { updatedAt, body } = page;
  if (body.length > smallAnswerBytes && !context.memory.take(body.length)) return overloaded;
  if (coding === undefined) return withDate(responseWith(context, page.headers, body), updatedAt);
  return then(codedAs(page, coding), ({ bytes, headers }) =>
    withDate(responseWith(context, headers, bytes), updatedAt),
  );
}

/**
 * A response with its own copy of header fields that are kept. The Response that @hono/node-server
 * puts in the place of Node's own keeps the object it is given, so a change would reach later answers.
 */
function responseWith(
  context: RequestContext,
  kept: Headers,
  body: string | Uint8Array<ArrayBuffer>,
): Response {
  const response = responseOf(context, body, { headers: kept });
  const isShared = response.headers === kept;
  return isShared ? new Response(body, { headers: new Headers(kept) }) : response;
}

interface Coded {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly headers: Headers;
}

/** What is kept prepared is kept coded, too. */
const coded = new WeakMap<RenderedPage, Map<Coding, Coded>>();

function codedAs(page: RenderedPage, coding: Coding): MaybePromise<Coded> {
  const forms = coded.get(page) ?? new Map<Coding, Coded>();
  const known = forms.get(coding);
  if (known !== undefined) return known;
  coded.set(page, forms);
  return then(encode(page.body, coding), (bytes) => {
    const made = { bytes, headers: codedHeaders(page.headers, coding) };
    forms.set(coding, made);
    return made;
  });
}

/** Other bytes, so another tag. */
export function codedHeaders(plain: Headers, coding: Coding): Headers {
  const headers = new Headers(plain);
  headers.set("content-encoding", coding);
  const etag = plain.get("etag");
  if (etag !== null) headers.set("etag", variantTag(etag, coding));
  return headers;
}

/**
 * What is to say before the body is looked at, in the order of RFC 9110 §13.2.2: 412, 304 or nothing.
 * The length is that of the body, where it is known.
 */
export function answerConditionally(
  { request: { headers } }: RequestContext,
  state: ResponseHead,
  length = 0,
): Response | Problem | undefined {
  const refused = refuseIfMatch(headers);
  if (refused !== undefined) return refused;
  if (isPreconditionFailed(headers, state)) return preconditionFailed;
  return isNotModified(headers, state) ? notModified(headers, state, length) : undefined;
}

/** It names what the client has, in the form in which it has it, or would get it. */
export function notModified(asked: Headers, state: ResponseHead, length: number): Response {
  const { headers: asRead, etag, updatedAt } = state;
  const headers = new Headers(asRead);
  headers.delete("content-type");
  if (etag !== "") headers.set("etag", matchingTag(asked, etag) ?? tagToSend(asked, etag, length));
  return withDate(new Response(null, { status: 304, headers }), updatedAt);
}

function tagToSend(asked: Headers, etag: string, length: number): string {
  const coding = chooseCoding(asked, length);
  return typeof coding === "string" ? variantTag(etag, coding) : etag;
}

/**
 * Last-Modified may not be later than Date (RFC 9110 §8.8.2.1). Bun's own Date ticks up to a second
 * late; and a time that another node wrote, or a clock that was set back since, may be ahead of ours.
 */
export function withDate(response: Response, updatedAt: number | undefined): Response {
  const now = Date.now();
  if (updatedAt === undefined || now - updatedAt >= 2000) return response;
  const date = httpDate(now);
  response.headers.set("date", date);
  if (updatedAt > now) response.headers.set("last-modified", date);
  return response;
}
