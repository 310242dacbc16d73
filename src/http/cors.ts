// Cross-origin requests (Fetch standard) and OPTIONS.

import { takenByCreate, takenByPatch, takenByPost, takenByQuery } from "./body/media.ts";
import type { Exchange, House } from "./exchange.ts";

const exposed =
  "ETag, Location, Link, Content-Location, Content-Encoding, Content-Disposition, Content-Range, Accept-Ranges, Retry-After, WWW-Authenticate, Allow, Accept, Accept-Encoding, Accept-Patch, Accept-Post, Accept-Query, Preference-Applied, Idempotency-Replayed, X-Total-Count, X-Request-Id";

/** `*` does not cover Authorization, so it is named. */
const allowedHeaders =
  "Authorization, Content-Type, If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since, Idempotency-Key, Prefer, Range, If-Range, Content-Disposition, Content-Digest, X-Request-Id";

const preflightMaxAgeS = "7200";

/** The fields of every answer, errors included. Tokens travel in a header, never in cookies, so `*` is safe. */
export function corsHeaders(origins: House["corsOrigins"]): Record<string, string> {
  return origins === "*"
    ? { "access-control-allow-origin": "*", "access-control-expose-headers": exposed }
    : { "access-control-expose-headers": exposed, vary: "Origin" };
}

/** An allow-list answers the origin that asked, compared exactly. */
export function allowOrigin(exchange: Exchange, headers: Headers): void {
  const { corsOrigins } = exchange.house;
  if (corsOrigins === "*") return;
  const origin = exchange.request.headers.get("origin");
  if (origin !== null && corsOrigins.has(origin))
    headers.set("access-control-allow-origin", origin);
}

/** Both the preflight, which carries no token, and the plain question what may be done here. */
export function options(exchange: Exchange, allow: string): Response {
  const headers = new Headers(exchange.house.commonHeaders);
  headers.set("allow", allow);
  headers.set("cache-control", "no-store");
  const isCollection = exchange.params.collection !== undefined;
  const { types } = isCollection ? takenByCreate : takenByPost;
  if (allow.includes("POST")) headers.set("accept-post", types);
  if (allow.includes("PATCH")) headers.set("accept-patch", takenByPatch.types);
  if (allow.includes("QUERY")) headers.set("accept-query", takenByQuery.types);
  if (exchange.request.headers.has("access-control-request-method")) {
    headers.set("access-control-allow-methods", allow);
    headers.set("access-control-allow-headers", allowedHeaders);
    headers.set("access-control-max-age", preflightMaxAgeS);
  }
  return new Response(null, { status: 204, headers });
}
