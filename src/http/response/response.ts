// Makes responses: headers with validators and caching, and bodies that are sent in slices when they are large.

import type { Mask } from "../../domain/mask.ts";
import { type MemoryBudget, Reservation } from "../../lib/memory-budget.ts";
import {
  canBePlain,
  PlainHeaders,
  PlainResponse,
  plainResponse,
  responseOf,
  sharedFields,
} from "../../lib/plain-response.ts";
import { nextTurn } from "../../lib/turns.ts";
import type { Collection, Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import type { Resource } from "../../model/resource.ts";
import {
  collectionTag,
  contentTag,
  etagOf,
  httpDate,
  type Validators,
} from "../headers/conditional.ts";
import type { RequestContext } from "../request/context.ts";

/** The validators of a state and its response headers. */
export interface ResponseHead extends Validators {
  readonly headers: Headers;
}

/** Responses may differ by token, so shared caches must not store them. */
export const privateCache = "private, no-cache";

/** The rules of a collection, and who is shown it. */
export interface Audience {
  readonly rules: Rules | undefined;
  /** Whether shared caches may store the response. */
  readonly isOpen: boolean;
  /** Whether others are shown something else. */
  readonly isByCaller: boolean;
}

const publicCache = (maxAge: number): string =>
  maxAge === 0 ? "public, no-cache" : `public, max-age=${maxAge}`;

/**
 * Sets Cache-Control, and Vary when the response depends on the caller. Shared caches may store what is
 * public in every collection that is shown, for as long as all of them allow.
 */
export function setCaching(headers: Headers, ...shown: readonly Audience[]): void {
  const isOpen = shown.every((one) => one.isOpen);
  const maxAge = Math.min(
    ...shown.map(({ rules }) => (rules ? definitionOf(rules).cache.maxAge : 0)),
  );
  headers.set("Cache-Control", isOpen ? publicCache(maxAge) : privateCache);
  if (shown.some((one) => one.isByCaller)) headers.append("Vary", "Authorization");
}

/** A fresh response to a write could be reused for a later GET (RFC 9110 §9.3.3). */
export const noCache = "no-store";

/** Returns the head of a collection from its revision, for a caller who sees all of it. */
export function collectionHead(
  context: RequestContext,
  collection: Collection,
  audience: Audience,
): ResponseHead {
  const head = headWith(context, collection, collectionTag(collection));
  setCaching(head.headers, audience);
  return head;
}

/** Returns the head of a resource as it is shown, without caching. Without a mask it has no validator. */
export function resourceHead(
  context: RequestContext,
  resource: Resource,
  mask: Mask | undefined,
): ResponseHead {
  const etag = mask ? etagOf(resource, mask) : "";
  return mask?.showsUpdates ? headWith(context, resource, etag) : headWithout(context, etag);
}

type Dated = Pick<Resource, "updatedAt" | "sharesDate">;

function headWith(
  { services }: RequestContext,
  { updatedAt, sharesDate }: Dated,
  etag: string,
): ResponseHead {
  const headers = new Headers(services.jsonHeaders);
  headers.set("ETag", etag);
  headers.set("Last-Modified", httpDate(updatedAt));
  return { headers, etag, updatedAt, isDateExact: sharesDate !== true };
}

/** Without Last-Modified, which would show changes of what is hidden. */
function headWithout({ services }: RequestContext, etag: string): ResponseHead {
  const headers = new Headers(services.jsonHeaders);
  if (etag !== "") headers.set("ETag", etag);
  return { headers, etag, updatedAt: undefined, isDateExact: false };
}

/**
 * Returns the head for a caller who sees a part of a collection, or several collections: the ETag is a
 * hash of the body, and there is no Last-Modified, because none of their times is that of the response.
 */
export function contentHead(
  context: RequestContext,
  shown: readonly Audience[],
  body: string | undefined,
): ResponseHead {
  const head = headWithout(context, body === undefined ? "" : contentTag(body));
  setCaching(head.headers, ...shown);
  return head;
}

/**
 * Last-Modified must not be later than Date (RFC 9110 §8.8.2.1). Bun's Date can be a second late, and
 * the clock of another node can be ahead of ours.
 */
export function withDate(
  response: Response,
  updatedAt: number | undefined,
  now = Date.now(),
): Response {
  if (updatedAt === undefined || hasOldDate(updatedAt, now)) return response;
  // Its server adds an exact one.
  if (response instanceof PlainResponse && updatedAt <= now) return response;
  const date = httpDate(now);
  response.headers.set("Date", date);
  if (updatedAt > now) response.headers.set("Last-Modified", date);
  return response;
}

/** Whether any Date that is added now is later. */
const hasOldDate = (updatedAt: number | undefined, now: number): boolean =>
  updatedAt === undefined || now - updatedAt >= 2000;

/** The response depends on Accept and Accept-Encoding. */
export function negotiated(context: RequestContext, type: string): Headers {
  const headers = new Headers(context.services.commonHeaders);
  headers.set("Content-Type", type);
  headers.append("Vary", "Accept, Accept-Encoding");
  return headers;
}

/** Responds with JSON that must not be cached. */
export function json(context: RequestContext, status: number, value: unknown): Response {
  const headers = negotiated(context, "application/json");
  headers.set("Cache-Control", "no-store");
  return createResponse(context, JSON.stringify(value), { status, headers });
}

/** Responses up to this size are sent as they are and are not counted. */
export const smallResponseBytes = 65_536;

const sliceBytes = 262_144;

interface ResponseInit {
  readonly status?: number;
  readonly headers: Headers;
}

/** Copies the headers of a large response, because its length is added to them. */
export function createResponse(
  context: RequestContext,
  body: string | Uint8Array<ArrayBuffer> | null,
  init: ResponseInit,
): Response {
  if (body === null || body.length <= smallResponseBytes) return responseOf(body, init);
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  const headers = new Headers(init.headers);
  headers.set("Content-Length", String(bytes.byteLength));
  return new Response(slicesOf(context, bytes), { ...init, headers });
}

/** Creates a response whose headers can be changed: they are its own copy of those of JSON. */
export function createJsonResponse(
  context: RequestContext,
  status: number,
  body: string | null,
): Response {
  const { services, request } = context;
  if (canBePlain(request) && (body === null || body.length <= smallResponseBytes))
    return plainResponse(status, new PlainHeaders(sharedFields(services.jsonHeaders)), body);
  return createResponse(context, body, { status, headers: services.jsonHeaders });
}

function slicesOf(context: RequestContext, bytes: Uint8Array): ReadableStream<Uint8Array> {
  const release = countWhileSent(context, bytes.byteLength);
  let position = 0;
  return new ReadableStream(
    {
      pull(controller): Promise<void> | undefined {
        controller.enqueue(bytes.subarray(position, position + sliceBytes));
        position += sliceBytes;
        // Other requests get a turn.
        if (position < bytes.byteLength) return nextTurn();
        controller.close();
        release();
        return undefined;
      },
      cancel: release,
    },
    { highWaterMark: 0 },
  );
}

/**
 * Counts the bytes of a response even when the budget is used up. The returned function releases
 * them; so does an abort, because then a runtime may never read the body.
 */
function countWhileSent({ services, request }: RequestContext, bytes: number): () => void {
  return releaseOnAbort(request, addForced(services.memory, bytes));
}

function addForced(memory: MemoryBudget, bytes: number): () => void {
  let isHeld = true;
  memory.add(bytes);
  return () => {
    if (isHeld) memory.release(bytes);
    isHeld = false;
  };
}

/** Reserves memory for a streamed response; returns undefined when the budget is used up. */
export function reserveWhileSent(
  { services, request }: RequestContext,
  bytes: number,
): (() => void) | undefined {
  const memory = new Reservation(services.memory);
  if (!memory.take(bytes)) return undefined;
  return releaseOnAbort(request, () => memory.release());
}

export function releaseOnAbort({ signal }: Request, release: () => void): () => void {
  if (signal.aborted) release();
  else signal.addEventListener("abort", release, { once: true });
  return release;
}
