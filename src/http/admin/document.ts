// Renders documents of administrators with an ETag from their bytes, and reads the preconditions on them.

import { Problem } from "../../model/problem.ts";
import {
  contentTag,
  isNotModified,
  isPreconditionFailed,
  readCondition,
} from "../headers/conditional.ts";
import type { RequestContext } from "../request/context.ts";
import type { RenderedPage } from "../response/representation.ts";

/** It has no Last-Modified, so that a condition by date is ignored. */
export function renderDocument(
  { services }: RequestContext,
  body: string,
  cacheControl: string,
): RenderedPage {
  const etag = contentTag(body);
  const headers = new Headers(services.jsonHeaders);
  headers.set("Cache-Control", cacheControl);
  headers.set("ETag", etag);
  return { body, headers, etag, updatedAt: undefined, isDateExact: false };
}

/** The response to a PUT may have an ETag only when the bytes are stored as they were sent (§9.3.4). */
export function setTagIfUnchanged(headers: Headers, sent: string, stored: RenderedPage): void {
  if (stored.body === sent) headers.set("ETag", stored.etag);
  else headers.delete("ETag");
}

/** Whether a document may be replaced, as it is now; undefined when it does not exist. */
export type ReplaceCondition = (current: RenderedPage | undefined) => boolean;

/** Reads the preconditions of a write; undefined without any. */
export function readDocumentCondition({
  request: { headers },
}: RequestContext): ReplaceCondition | Problem | undefined {
  const condition = readCondition(headers);
  if (condition === undefined || condition instanceof Problem) return condition;
  return (current) =>
    current === undefined
      ? !headers.has("if-match")
      : !isPreconditionFailed(headers, current) && !isNotModified(headers, current);
}
