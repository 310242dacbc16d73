// Evaluates the preconditions of a read: 412, 304, or neither.

import { preconditionFailed } from "../../domain/problems.ts";
import type { Problem } from "../../model/problem.ts";
import {
  checkIfMatch,
  hasPreconditions,
  isNotModified,
  isPreconditionFailed,
  matchingTag,
  variantTag,
} from "../headers/conditional.ts";
import { chooseCoding } from "../headers/content-coding.ts";
import type { RequestContext } from "../request/context.ts";
import { type ResponseHead, withDate } from "./response-head.ts";

/**
 * Evaluates the preconditions in the order of RFC 9110 §13.2.2: returns 412, 304 or undefined. `length`
 * is that of the body, if it is known.
 */
export function conditionalResponse(
  { request: { headers } }: RequestContext,
  state: ResponseHead,
  length = 0,
): Response | Problem | undefined {
  if (!hasPreconditions(headers)) return undefined;
  const rejected = checkIfMatch(headers);
  if (rejected !== undefined) return rejected;
  if (isPreconditionFailed(headers, state)) return preconditionFailed;
  return isNotModified(headers, state) ? notModified(headers, state, length) : undefined;
}

/** Creates a 304 with the ETag of the variant that the client has, or would get. */
export function notModified(
  requestHeaders: Headers,
  state: ResponseHead,
  length: number,
): Response {
  const { headers: asRead, etag, updatedAt } = state;
  const headers = new Headers(asRead);
  headers.delete("content-type");
  if (etag !== "")
    headers.set(
      "etag",
      matchingTag(requestHeaders, etag) ?? tagToSend(requestHeaders, etag, length),
    );
  return withDate(new Response(null, { status: 304, headers }), updatedAt);
}

function tagToSend(requestHeaders: Headers, etag: string, length: number): string {
  const coding = chooseCoding(requestHeaders, length);
  return typeof coding === "string" ? variantTag(etag, coding) : etag;
}
