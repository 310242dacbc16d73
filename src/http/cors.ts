// Responds to OPTIONS and sets the CORS headers (Fetch standard).

import type { Reply, ReplyFields } from "../lib/reply.ts";
import {
  createTypes,
  linesTypes,
  patchTypes,
  postTypes,
  queryTypes,
} from "./headers/media-type.ts";
import { limitField, partialType } from "./headers/upload-fields.ts";
import type { RequestContext, Services } from "./request/context.ts";
import { emptyReply } from "./response/response.ts";

/**
 * The request headers that the server reads, and those that common clients add: one that is missing
 * fails the preflight. `*` does not cover Authorization, so all are listed.
 */
const allowedHeaders = [
  "Authorization",
  "Content-Type",
  "Content-Encoding",
  "Content-Disposition",
  "Content-Digest",
  "Content-Language",
  "Accept",
  "Accept-Language",
  "If-Match",
  "If-None-Match",
  "If-Modified-Since",
  "If-Unmodified-Since",
  "If-Range",
  "Range",
  "Idempotency-Key",
  "Prefer",
  "Want-Content-Digest",
  "Want-Repr-Digest",
  "Cache-Control",
  "Pragma",
  "Expires",
  "Last-Event-ID",
  "User-Agent",
  "X-Requested-With",
  "X-Request-Id",
  "X-Correlation-Id",
  "X-Client-Version",
  "traceparent",
  "tracestate",
  "baggage",
  "sentry-trace",
  "b3",
  "X-B3-TraceId",
  "X-B3-SpanId",
  "X-B3-ParentSpanId",
  "X-B3-Sampled",
  "Upload-Offset",
  "Upload-Complete",
  "Upload-Length",
  "Repr-Digest",
  "Upload-Draft-Interop-Version",
].join(", ");

const preflightMaxAgeS = "7200";

/**
 * The CORS headers of every response, errors included. Tokens are never in cookies, so no request has
 * credentials in the sense of CORS, and `*` means every origin and every header.
 */
export const corsHeaders = (origins: Services["corsOrigins"]): Record<string, string> => ({
  "access-control-expose-headers": "*",
  ...(origins === "*" ? { "access-control-allow-origin": "*" } : { vary: "Origin" }),
});

/** With an allow-list, returns the request's origin if it is on the list. */
export function allowOrigin(context: RequestContext, fields: ReplyFields): void {
  const { corsOrigins } = context.services;
  if (corsOrigins === "*") return;
  const origin = context.request.headers.get("origin");
  if (origin !== null && corsOrigins.has(origin)) fields.set("Access-Control-Allow-Origin", origin);
}

const isOfLines = ({ path }: RequestContext): boolean => path.startsWith("/-/lines/");

/** Where an upload can begin, its media type is listed even if the address takes no PATCH itself. */
function setPatchTypes(context: RequestContext, fields: ReplyFields, allow: string): void {
  const { collection } = context.params;
  const isUpload = collection === undefined && context.path.startsWith("/-/uploads/");
  const begins = collection !== undefined && /POST|PUT/.test(allow) && !isOfLines(context);
  const types = [
    ...(allow.includes("PATCH") && !isUpload ? [patchTypes.types] : []),
    ...(begins || isUpload ? [partialType] : []),
  ];
  if (types.length > 0) fields.set("Accept-Patch", types.join(", "));
  if (begins || isUpload) fields.set("Upload-Limit", limitField(context.services.maxUploadBytes));
}

/** Responds to a CORS preflight, which has no token, and to a plain OPTIONS. The whole server allows no methods. */
export function options(context: RequestContext, allow: string | undefined): Reply {
  const reply = emptyReply(context);
  if (allow !== undefined) describe(context, reply.fields, allow);
  return reply;
}

/** Adds what can be done at an address. */
function describe(context: RequestContext, fields: ReplyFields, allow: string): void {
  fields.set("Allow", allow);
  const isCollection = context.params.collection !== undefined;
  const { types } = isOfLines(context) ? linesTypes : isCollection ? createTypes : postTypes;
  if (allow.includes("POST")) fields.set("Accept-Post", types);
  setPatchTypes(context, fields, allow);
  if (allow.includes("QUERY")) fields.set("Accept-Query", queryTypes.types);
  if (context.request.headers.has("access-control-request-method")) {
    fields.set("Access-Control-Allow-Methods", allow);
    fields.set("Access-Control-Allow-Headers", allowedHeaders);
    fields.set("Access-Control-Max-Age", preflightMaxAgeS);
  }
}
