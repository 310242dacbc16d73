// Sends representations of resources and pages: 412 or 304 by its preconditions, or the body, encoded where wanted.

import { hash } from "node:crypto";
import type { CollectionAccess } from "../../domain/collection-access.ts";
import type { Mask } from "../../domain/mask.ts";
import { overloaded, preconditionFailed } from "../../domain/problems.ts";
import type { ShownResource } from "../../domain/resources.ts";
import type { Dependence } from "../../domain/view.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import {
  type Repeat,
  type Reply,
  type ReplyFields,
  replyOf,
  type Validators,
} from "../../lib/reply.ts";
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
  createReply,
  negotiated,
  resourceHead,
  setCaching,
  smallResponseBytes,
} from "./response.ts";
import { shareFields } from "./share-fields.ts";

/** For whom and how long what is shown of collections may be repeated. */
export type CollectionRepeat = Repeat<CollectionAccess, Dependence>;

/** A whole page, as it may be kept. */
export type Page = Reply & { readonly body: string };

type RenderedResources = WeakMap<Mask, WeakMap<Resource, Page>>;

/** The store returns the same object for the same state, so a rendered resource is cached by it. Its headers depend on settings. */
const renderedResources = new WeakMap<Services, RenderedResources>();

export function renderResource(context: RequestContext, { resource, mask }: ShownResource): Page {
  const byMask: RenderedResources = renderedResources.get(context.services) ?? new WeakMap();
  const known = byMask.get(mask) ?? new WeakMap<Resource, Page>();
  const cached = known.get(resource);
  if (cached !== undefined) return cached;
  const { status, fields, validators } = resourceHead(context, resource, mask);
  setCaching(fields, mask);
  const others = mask.hasOthers && { isOtherTag: tagsOf(resource, mask) };
  const body = mask.render(resource, context.collectionUrl);
  const rendered = replyOf(status, fields, body, validators && { ...validators, ...others });
  known.set(resource, rendered);
  byMask.set(mask, known);
  renderedResources.set(context.services, byMask);
  return rendered;
}

/** Responds to a read with 412, 304 or a page. `repeat` says who may be told the same. */
export function sendPage(
  context: RequestContext,
  page: Page,
  repeat?: Repeat,
): MaybePromise<Reply | Problem> {
  return (
    conditionalReply(context, page, page.body.length, repeat) ?? sendEncoded(context, page, repeat)
  );
}

/** Responds with the body, encoded as Accept-Encoding prefers. */
export function sendEncoded(
  context: RequestContext,
  page: Page,
  repeat?: Repeat,
): MaybePromise<Reply | Problem> {
  const { body } = page;
  const coding = chooseCoding(context.request.headers, body.length);
  if (coding instanceof Problem) return coding;
  // While it is encoded, the body is there twice: as text and as bytes.
  const held = coding === undefined ? body.length : 2 * body.length;
  if (body.length > smallResponseBytes && !context.memory.take(held)) return overloaded;
  if (coding === undefined) return send(context, page, body, repeat);
  return then(encodedBody(page, coding), ({ bytes, fields }) =>
    send(context, { ...page, fields }, bytes, repeat),
  );
}

/** Makes a reply with fields of its own. A large body is sent in slices, so it is not repeated. */
function send(
  context: RequestContext,
  { status, fields, validators }: Reply,
  body: string | Uint8Array<ArrayBuffer> | null,
  repeat: Repeat | undefined,
): Reply {
  const isSmall = body === null || body.length <= smallResponseBytes;
  return repeat !== undefined && isSmall
    ? replyOf(status, shareFields(fields), body, validators, repeat)
    : createReply(context, status, fields.copy(), body, validators);
}

interface EncodedBody {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fields: ReplyFields;
}

/** Encoded bodies are cached with their page. */
const encodedBodies = new WeakMap<Page, Map<Coding, EncodedBody>>();

function encodedBody(page: Page, coding: Coding): MaybePromise<EncodedBody> {
  const forms = encodedBodies.get(page) ?? new Map<Coding, EncodedBody>();
  const cached = forms.get(coding);
  if (cached !== undefined) return cached;
  encodedBodies.set(page, forms);
  return then(encode(page.body, coding), (bytes) => {
    const rendered = { bytes, fields: encodedFields(page.fields, coding) };
    forms.set(coding, rendered);
    return rendered;
  });
}

/** An encoded body has other bytes, so it needs another ETag. */
export function encodedFields(plain: ReplyFields, coding: Coding): ReplyFields {
  const fields = plain.copy();
  fields.set("Content-Encoding", coding);
  const etag = plain.get("etag");
  if (etag !== null) fields.set("ETag", variantTag(etag, coding));
  return fields;
}

/**
 * Evaluates the preconditions in the order of RFC 9110 §13.2.2: returns 412, 304 or undefined. `length`
 * is that of the body, if it is known.
 */
export function conditionalReply(
  context: RequestContext,
  page: Reply,
  length = 0,
  repeat?: Repeat,
): Reply | Problem | undefined {
  const { headers } = context.request;
  const { validators } = page;
  if (validators === undefined || !hasPreconditions(headers)) return undefined;
  const rejected = checkIfMatch(headers);
  if (rejected !== undefined) return rejected;
  if (isPreconditionFailed(headers, validators)) return preconditionFailed;
  if (!isNotModified(headers, validators)) return undefined;
  const fields = unchangedFields(page, validators, headers, length);
  return send(context, replyOf(304, fields, null, validators), null, repeat);
}

/** The client has these with the body (RFC 9110 §15.4.5), and they would have to be read for a 304. */
const fieldsOfContent = ["content-type", "link", "server-timing", "x-total-count"];

/** Returns the fields of a 304, with the ETag of the variant that the client has, or would get. */
function unchangedFields(
  page: Reply,
  { etag }: Validators,
  requestHeaders: Headers,
  length: number,
): ReplyFields {
  const fields = page.fields.copy();
  for (const name of fieldsOfContent) fields.delete(name);
  if (etag !== "")
    fields.set(
      "etag",
      matchingTag(requestHeaders, etag) ?? tagToSend(requestHeaders, etag, length),
    );
  return fields;
}

function tagToSend(requestHeaders: Headers, etag: string, length: number): string {
  const coding = chooseCoding(requestHeaders, length);
  return typeof coding === "string" ? variantTag(etag, coding) : etag;
}

export interface FixedPage {
  readonly type: string;
  readonly body: string;
  readonly cacheControl: string;
  /** Further header fields. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Pages depend on the program and its configuration, so they do not change while it runs. */
const startedAt = Date.now();

/** Responds with a page that does not change while the program runs; its hash is its ETag. */
export function pageReply(
  context: RequestContext,
  { type, body, cacheControl, more = {} }: FixedPage,
): MaybePromise<Reply | Problem> {
  const fields = negotiated(context, type);
  const etag = `"${hash("sha256", body).slice(0, 32)}"`;
  fields.set("Cache-Control", cacheControl);
  fields.set("ETag", etag);
  fields.set("Last-Modified", new Date(startedAt).toUTCString());
  for (const name in more) fields.set(name, more[name] ?? "");
  const validators = { etag, updatedAt: startedAt, isDateExact: true };
  return sendPage(context, replyOf(200, fields, body, validators));
}
