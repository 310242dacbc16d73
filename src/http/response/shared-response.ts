// Small responses that share most of their header fields with others, and that can be sent again.

import { fieldName } from "../../lib/field-lines.ts";
import {
  canBePlain,
  PlainHeaders,
  plainResponse,
  responseOf,
  SharedFields,
} from "../../lib/plain-response.ts";
import { RecentMap } from "../../lib/recent-map.ts";
import type { RequestContext, SharedResponse } from "../request/context.ts";
import { withDate } from "./response.ts";

export function sharedResponse(
  status: number,
  responseHeaders: Headers,
  body: SharedResponse["body"],
  updatedAt: number | undefined,
): SharedResponse {
  const etag = responseHeaders.get("etag");
  const lastModified = responseHeaders.get("last-modified");
  return { status, fields: share(responseHeaders), etag, lastModified, updatedAt, body };
}

/** Fields that differ from response to response. */
const ownFields = new Set(["etag", "last-modified", "x-request-id", "date", "content-length"]);

const maxShared = 64;
const known = new RecentMap<string, SharedFields>(maxShared);
let last: SharedFields | undefined;

/** One object for all responses with the same fields stays in the processor's cache. */
function share(headers: Headers): SharedFields {
  if (last?.areIn(headers, ownFields)) return last;
  const fields = new SharedFields(headers, ownFields);
  last = known.getOrAdd(fields.lines, () => fields);
  return last;
}

const names = {
  etag: fieldName("ETag"),
  lastModified: fieldName("Last-Modified"),
  requestId: fieldName("X-Request-Id"),
};

/** Only the request id and the date differ each time. */
export function sendShared(response: SharedResponse, context: RequestContext): Response {
  const { status, fields, etag, lastModified, updatedAt, body } = response;
  const own = new PlainHeaders(fields);
  if (etag !== null) own.add(names.etag, etag);
  if (lastModified !== null) own.add(names.lastModified, lastModified);
  own.add(names.requestId, context.requestId);
  const sent = canBePlain(context.request)
    ? plainResponse(status, own, body)
    : responseOf(body, { status, headers: [...own] });
  return withDate(sent, updatedAt, context.startTime);
}
