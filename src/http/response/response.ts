// Makes replies: fields with validators and caching, and bodies that are sent in slices when they are large.

import type { Mask } from "../../domain/mask.ts";
import { type MemoryBudget, Reservation } from "../../lib/memory-budget.ts";
import {
  isWrittenHere,
  type Reply,
  type ReplyBody,
  ReplyFields,
  replyOf,
  type Validators,
} from "../../lib/reply.ts";
import { nextTurn } from "../../lib/turns.ts";
import type { Collection, Rules } from "../../model/collection.ts";
import { definitionOf } from "../../model/definition.ts";
import type { Resource } from "../../model/resource.ts";
import { collectionTag, contentTag, etagOf, httpDate } from "../headers/conditional.ts";
import type { RequestContext } from "../request/context.ts";

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
export function setCaching(fields: ReplyFields, ...shown: readonly Audience[]): void {
  const isOpen = shown.every((one) => one.isOpen);
  const maxAge = Math.min(
    ...shown.map(({ rules }) => (rules ? definitionOf(rules).cache.maxAge : 0)),
  );
  fields.set("Cache-Control", isOpen ? publicCache(maxAge) : privateCache);
  if (shown.some((one) => one.isByCaller)) fields.append("Vary", "Authorization");
}

/** A fresh response to a write could be reused for a later GET (RFC 9110 §9.3.3). */
export const noCache = "no-store";

/** Returns the reply of a collection, without its body, from its revision, for a caller who sees all of it. */
export function collectionHead(
  context: RequestContext,
  collection: Collection,
  audience: Audience,
): Reply {
  const head = headWith(context, collection, collectionTag(collection));
  setCaching(head.fields, audience);
  return head;
}

/** Returns the reply of a resource as it is shown, without body and caching. Without a mask it has no validator. */
export function resourceHead(
  context: RequestContext,
  resource: Resource,
  mask: Mask | undefined,
): Reply {
  const etag = mask ? etagOf(resource, mask) : "";
  return mask?.showsUpdates ? headWith(context, resource, etag) : headWithout(context, etag);
}

type Dated = Pick<Resource, "updatedAt" | "sharesDate">;

function headWith(
  { services }: RequestContext,
  { updatedAt, sharesDate }: Dated,
  etag: string,
): Reply {
  const fields = new ReplyFields(services.jsonFields);
  fields.set("ETag", etag);
  fields.set("Last-Modified", httpDate(updatedAt));
  return replyOf(200, fields, null, { etag, updatedAt, isDateExact: sharesDate !== true });
}

/** Without Last-Modified, which would show changes of what is hidden. */
function headWithout({ services }: RequestContext, etag: string): Reply {
  const fields = new ReplyFields(services.jsonFields);
  if (etag !== "") fields.set("ETag", etag);
  return replyOf(200, fields, null, { etag, updatedAt: undefined, isDateExact: false });
}

/**
 * Returns the reply, without its body, for a caller who sees a part of a collection, or several collections:
 * the ETag is a hash of the body, and there is no Last-Modified, because none of their times is that of the reply.
 */
export function contentHead(
  context: RequestContext,
  shown: readonly Audience[],
  body: string | undefined,
): Reply {
  const head = headWithout(context, body === undefined ? "" : contentTag(body));
  setCaching(head.fields, ...shown);
  return head;
}

/**
 * Last-Modified must not be later than Date (RFC 9110 §8.8.2.1). Bun's Date can be a second late, and
 * the clock of another node can be ahead of ours.
 */
export function setDate({ fields, validators }: Reply, request: Request): void {
  const updatedAt = validators?.updatedAt;
  if (updatedAt === undefined) return;
  const now = Date.now();
  // Any Date that is added now is later.
  if (now - updatedAt >= 2000) return;
  // Our server adds an exact one.
  if (updatedAt <= now && isWrittenHere(request)) return;
  const date = httpDate(now);
  fields.set("Date", date);
  if (updatedAt > now) fields.set("Last-Modified", date);
}

/** The response depends on Accept and Accept-Encoding. */
export function negotiated(context: RequestContext, type: string): ReplyFields {
  const fields = new ReplyFields(context.services.commonFields);
  fields.set("Content-Type", type);
  fields.append("Vary", "Accept, Accept-Encoding");
  return fields;
}

/** Responds with JSON that must not be cached. */
export function json(context: RequestContext, status: number, value: unknown): Reply {
  const fields = new ReplyFields(context.services.jsonFields);
  fields.set("Cache-Control", noCache);
  return createReply(context, status, fields, JSON.stringify(value));
}

/** Responds without a body and without anything to cache. */
export function emptyReply({ services }: RequestContext, status = 204): Reply {
  const fields = new ReplyFields(services.commonFields);
  fields.set("Cache-Control", noCache);
  return replyOf(status, fields);
}

/** Responses up to this size are sent as they are and are not counted. */
export const smallResponseBytes = 65_536;

const sliceBytes = 262_144;

/** Sends a large body in slices, with its length. */
export function createReply(
  context: RequestContext,
  status: number,
  fields: ReplyFields,
  body: string | Uint8Array<ArrayBuffer> | null,
  validators?: Validators,
): Reply {
  return replyOf(status, fields, inSlices(context, fields, body), validators);
}

function inSlices(
  context: RequestContext,
  fields: ReplyFields,
  body: string | Uint8Array<ArrayBuffer> | null,
): ReplyBody {
  if (body === null || body.length <= smallResponseBytes) return body;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  fields.set("Content-Length", String(bytes.byteLength));
  return slicesOf(context, bytes);
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
