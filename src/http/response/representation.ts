// Renders a resource, and sends rendered pages, encoded where wanted. Rendered and encoded bodies are cached.

import { overloaded } from "../../domain/problems.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import type { Rules } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import { renderFields, viewVersion } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import { variantTag } from "../headers/conditional.ts";
import { type Coding, chooseCoding, encode } from "../headers/content-coding.ts";
import type { RequestContext } from "../request/context.ts";
import { conditionalResponse } from "./conditional-response.ts";
import { createResponse, smallResponseBytes } from "./large-response.ts";
import { type ResponseHead, responseHeadOf, withDate } from "./response-head.ts";

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
  const rendered = { body: renderFields(rules, resource, context.collectionUrl), ...state, rules };
  renderedResources.set(resource, rendered);
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
