// Builds JSON and page responses that several handlers share.

import { hash } from "node:crypto";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Problem } from "../../model/problem.ts";
import { isNotModified } from "../headers/conditional.ts";
import type { RequestContext } from "../request/context.ts";
import { notModified } from "./conditional-response.ts";
import { createResponse } from "./large-response.ts";
import { sendEncoded } from "./representation.ts";

/** Responds with JSON that must not be cached. */
export function json(context: RequestContext, status: number, value: unknown): Response {
  const headers = negotiated(context, "application/json");
  headers.set("cache-control", "no-store");
  return createResponse(context, JSON.stringify(value), { status, headers });
}

export interface Page {
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
  page: Page,
): MaybePromise<Response | Problem> {
  const headers = negotiated(context, page.type);
  const etag = `"${hash("sha256", page.body).slice(0, 32)}"`;
  headers.set("cache-control", page.cacheControl);
  headers.set("etag", etag);
  headers.set("last-modified", new Date(startedAt).toUTCString());
  for (const name in page.fields) headers.set(name, page.fields[name] ?? "");
  const state = { headers, etag, updatedAt: startedAt, isDateExact: true };
  return isNotModified(context.request.headers, state)
    ? notModified(context.request.headers, state, page.body.length)
    : sendEncoded(context, { ...state, body: page.body });
}

/** The response depends on Accept and Accept-Encoding. */
function negotiated(context: RequestContext, type: string): Headers {
  const headers = new Headers(context.services.commonHeaders);
  headers.set("content-type", type);
  headers.append("vary", "Accept, Accept-Encoding");
  return headers;
}
