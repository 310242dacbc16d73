// Plain answers that several doors give.

import { hash } from "node:crypto";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { Problem } from "../model/problem.ts";
import type { RequestContext } from "./context.ts";
import { isNotModified } from "./headers/conditional.ts";
import { responseOf } from "./large-response.ts";
import { answerEncoded, notModified } from "./resources/representation.ts";

/** JSON that no cache keeps: what administrators and machines ask for, as of now. */
export function json(context: RequestContext, status: number, value: unknown): Response {
  const headers = negotiated(context, "application/json");
  headers.set("cache-control", "no-store");
  return responseOf(context, JSON.stringify(value), { status, headers });
}

export interface Page {
  readonly type: string;
  readonly body: string;
  readonly cacheControl: string;
  /** Fields of its own. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** Pages change with the program and its config, so not while it runs. */
const startedAt = Date.now();

/** A page that stays as it is while the program runs: its hash is its tag. */
export function answerPage(context: RequestContext, page: Page): MaybePromise<Response | Problem> {
  const headers = negotiated(context, page.type);
  const etag = `"${hash("sha256", page.body).slice(0, 32)}"`;
  headers.set("cache-control", page.cacheControl);
  headers.set("etag", etag);
  headers.set("last-modified", new Date(startedAt).toUTCString());
  for (const name in page.fields) headers.set(name, page.fields[name] ?? "");
  const state = { headers, etag, updatedAt: startedAt, isDateExact: true };
  return isNotModified(context.request.headers, state)
    ? notModified(context.request.headers, state, page.body.length)
    : answerEncoded(context, { ...state, body: page.body });
}

/** Another Accept might have been refused, and another Accept-Encoding answered in another coding. */
function negotiated(context: RequestContext, type: string): Headers {
  const headers = new Headers(context.services.commonHeaders);
  headers.set("content-type", type);
  headers.append("vary", "Accept, Accept-Encoding");
  return headers;
}
