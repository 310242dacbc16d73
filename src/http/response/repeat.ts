// Sends a response again: only its request id and its date are new.

import { fieldName } from "../../lib/field-lines.ts";
import {
  canBePlain,
  PlainHeaders,
  plainResponse,
  responseOf,
  SharedFields,
} from "../../lib/plain-response.ts";
import { RecentMap } from "../../lib/recent-map.ts";
import type { RequestContext } from "../request/context.ts";
import { hasOldDate, withDate } from "./response.ts";

const maxSharedHeaders = 64;

/** A response that can be sent again. */
export interface Repeated {
  readonly status: number;
  readonly shared: SharedHeaders;
  readonly etag: string | null;
  readonly lastModified: string | null;
  readonly updatedAt: number | undefined;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

/** The header fields that many responses have. One object for all stays in the processor's cache. */
interface SharedHeaders {
  readonly headers: Headers;
  /** The same without ETag and Last-Modified. */
  readonly fields: SharedFields;
  /** The response whose ETag and Last-Modified the headers have now. */
  setFor: Repeated | undefined;
}

/** Fields that differ from response to response. */
const ownFields = new Set(["etag", "last-modified", "x-request-id", "date", "content-length"]);

/** Finds responses with the same header fields. */
export class HeaderSharing {
  readonly #known = new RecentMap<string, SharedHeaders>(maxSharedHeaders);

  share(headers: Headers): SharedHeaders {
    const fields = new SharedFields(headers, ownFields);
    return this.#known.getOrAdd(fields.lines, () => ({
      headers: new Headers(headers),
      fields,
      setFor: undefined,
    }));
  }
}

export function repeat(prepared: Repeated, context: RequestContext): Response {
  const { body, status, shared, updatedAt } = prepared;
  const { requestId, startTime } = context;
  if (canBePlain(context.request) && hasOldDate(updatedAt, startTime)) {
    const headers = new PlainHeaders(shared.fields);
    if (prepared.etag !== null) headers.add(names.etag, prepared.etag);
    if (prepared.lastModified !== null) headers.add(names.lastModified, prepared.lastModified);
    headers.add(names.requestId, requestId);
    return plainResponse(status, headers, body);
  }
  if (shared.setFor !== prepared) setValidators(shared, prepared);
  const { headers } = shared;
  // Before the headers are copied, which is faster than after it.
  headers.set("X-Request-Id", requestId);
  return withDate(responseOf(body, { status, headers }), updatedAt, startTime);
}

const names = {
  etag: fieldName("ETag"),
  lastModified: fieldName("Last-Modified"),
  requestId: fieldName("X-Request-Id"),
};

function setValidators(shared: SharedHeaders, prepared: Repeated): void {
  const { headers } = shared;
  if (prepared.etag === null) headers.delete("ETag");
  else headers.set("ETag", prepared.etag);
  if (prepared.lastModified === null) headers.delete("Last-Modified");
  else headers.set("Last-Modified", prepared.lastModified);
  shared.setFor = prepared;
}
