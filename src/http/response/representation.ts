// Sends representations of resources and pages: 412 or 304 by its preconditions, or the body, encoded where wanted.

import { hash } from "node:crypto";
import type { Mask } from "../../domain/mask.ts";
import { overloaded, preconditionFailed } from "../../domain/problems.ts";
import type { ShownResource } from "../../domain/resources.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import {
  checkIfMatch,
  hasPreconditions,
  isNotModified,
  isPreconditionFailed,
  matchingTag,
  tagsOf,
  variantTag,
} from "../headers/conditional.ts";
import { type Coding, chooseCoding, encode } from "../headers/content-coding.ts";
import type { RequestContext, Services } from "../request/context.ts";
import {
  createResponse,
  negotiated,
  type ResponseHead,
  resourceHead,
  setCaching,
  smallResponseBytes,
  withDate,
} from "./response.ts";
import { sendShared, sharedResponse } from "./shared-response.ts";

export interface RenderedPage extends ResponseHead {
  readonly body: string;
}

type RenderedResources = WeakMap<Mask, WeakMap<Resource, RenderedPage>>;

/** The store returns the same object for the same state, so a rendered resource is cached by it. Its headers depend on settings. */
const renderedResources = new WeakMap<Services, RenderedResources>();

export function renderResource(
  context: RequestContext,
  { resource, mask }: ShownResource,
): RenderedPage {
  const byMask: RenderedResources = renderedResources.get(context.services) ?? new WeakMap();
  const known = byMask.get(mask) ?? new WeakMap<Resource, RenderedPage>();
  const cached = known.get(resource);
  if (cached !== undefined) return cached;
  const head = resourceHead(context, resource, mask);
  setCaching(head.headers, mask);
  const rendered = {
    body: mask.render(resource, context.collectionUrl),
    ...head,
    ...(mask.hasOthers && { isOtherTag: tagsOf(resource, mask) }),
  };
  known.set(resource, rendered);
  byMask.set(mask, known);
  renderedResources.set(context.services, byMask);
  return rendered;
}

export function sendPage(
  context: RequestContext,
  page: RenderedPage,
): MaybePromise<Response | Problem> {
  return conditionalResponse(context, page, page.body.length) ?? sendEncoded(context, page);
}

/** Responds with the body, encoded as Accept-Encoding prefers. */
export function sendEncoded(
  context: RequestContext,
  page: RenderedPage,
): MaybePromise<Response | Problem> {
  const coding = chooseCoding(context.request.headers, page.body.length);
  if (coding instanceof Problem) return coding;
  const { updatedAt, body, headers } = page;
  // While it is encoded, the body is there twice: as text and as bytes.
  const held = coding === undefined ? body.length : 2 * body.length;
  if (body.length > smallResponseBytes && !context.memory.take(held)) return overloaded;
  if (coding === undefined) return send(context, { status: 200, headers, body, updatedAt });
  return then(encodedBody(page, coding), ({ bytes, headers }) =>
    send(context, { status: 200, headers, body: bytes, updatedAt }),
  );
}

interface SentPage {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
  readonly updatedAt: number | undefined;
}

/** Responds, and notes what can be sent again. A large body is sent in slices, so it is not repeated. */
function send(context: RequestContext, { status, headers, body, updatedAt }: SentPage): Response {
  const { source } = context;
  const isSmall = body === null || body.length <= smallResponseBytes;
  if (source === undefined || !isSmall)
    return withDate(createResponse(context, body, { status, headers }), updatedAt);
  const shared = sharedResponse(status, headers, body, updatedAt);
  context.repeatable = { ...shared, ...source };
  return sendShared(shared, context);
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
  headers.set("Content-Encoding", coding);
  const etag = plain.get("etag");
  if (etag !== null) headers.set("ETag", variantTag(etag, coding));
  return headers;
}

/**
 * Evaluates the preconditions in the order of RFC 9110 §13.2.2: returns 412, 304 or undefined. `length`
 * is that of the body, if it is known.
 */
export function conditionalResponse(
  context: RequestContext,
  state: ResponseHead,
  length = 0,
): Response | Problem | undefined {
  const { headers } = context.request;
  if (!hasPreconditions(headers)) return undefined;
  const rejected = checkIfMatch(headers);
  if (rejected !== undefined) return rejected;
  if (isPreconditionFailed(headers, state)) return preconditionFailed;
  return isNotModified(headers, state) ? notModified(context, state, length) : undefined;
}

/** The client has these with the body (RFC 9110 §15.4.5), and they would have to be read for a 304. */
const fieldsOfContent = ["content-type", "link", "server-timing", "x-total-count"];

/** Creates a 304 with the ETag of the variant that the client has, or would get. */
export function notModified(
  context: RequestContext,
  state: ResponseHead,
  length: number,
): Response {
  const { headers: requestHeaders } = context.request;
  const { headers: asRead, etag, updatedAt } = state;
  const headers = new Headers(asRead);
  for (const name of fieldsOfContent) headers.delete(name);
  if (etag !== "")
    headers.set(
      "etag",
      matchingTag(requestHeaders, etag) ?? tagToSend(requestHeaders, etag, length),
    );
  return send(context, { status: 304, headers, body: null, updatedAt });
}

function tagToSend(requestHeaders: Headers, etag: string, length: number): string {
  const coding = chooseCoding(requestHeaders, length);
  return typeof coding === "string" ? variantTag(etag, coding) : etag;
}

export interface ResponsePage {
  readonly type: string;
  readonly body: string;
  readonly cacheControl: string;
  /** Further header fields. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** Pages depend on the program and its configuration, so they do not change while it runs. */
const startedAt = Date.now();

/** Responds with a page that does not change while the program runs; its hash is its ETag. */
export function pageResponse(
  context: RequestContext,
  page: ResponsePage,
): MaybePromise<Response | Problem> {
  const headers = negotiated(context, page.type);
  const etag = `"${hash("sha256", page.body).slice(0, 32)}"`;
  headers.set("Cache-Control", page.cacheControl);
  headers.set("ETag", etag);
  headers.set("Last-Modified", new Date(startedAt).toUTCString());
  for (const name in page.fields) headers.set(name, page.fields[name] ?? "");
  const state = { headers, etag, updatedAt: startedAt, isDateExact: true };
  return sendPage(context, { ...state, body: page.body });
}
