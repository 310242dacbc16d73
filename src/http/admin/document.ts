// Renders documents of administrators with an ETag from their bytes, and reads the preconditions on them.

import { type Reply, ReplyFields, replyOf } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import {
  contentTag,
  isNotModified,
  isPreconditionFailed,
  readCondition,
} from "../headers/conditional.ts";
import type { RequestContext } from "../request/context.ts";
import type { Page } from "../response/representation.ts";

/** It has no Last-Modified, so that a condition by date is ignored. */
export function renderDocument(
  { services }: RequestContext,
  body: string,
  cacheControl: string,
): Page {
  const etag = contentTag(body);
  const fields = new ReplyFields(services.jsonFields);
  fields.set("Cache-Control", cacheControl);
  fields.set("ETag", etag);
  return replyOf(200, fields, body, { etag, updatedAt: undefined, isDateExact: false });
}

/** The response to a PUT may have an ETag only when the bytes are stored as they were sent (§9.3.4). */
export function setTagIfUnchanged({ fields }: Reply, sent: string, stored: Page): void {
  const etag = stored.fields.get("ETag");
  if (stored.body === sent && etag !== null) fields.set("ETag", etag);
  else fields.delete("ETag");
}

/** Whether a document may be replaced, as it is now; undefined when it does not exist. */
export type ReplaceCondition = (current: Partial<Page> | undefined) => boolean;

/** Reads the preconditions of a write; undefined without any. */
export function readDocumentCondition({
  request: { headers },
}: RequestContext): ReplaceCondition | Problem | undefined {
  const condition = readCondition(headers);
  if (condition === undefined || condition instanceof Problem) return condition;
  return ({ validators } = {}) =>
    validators === undefined
      ? !headers.has("if-match")
      : !isPreconditionFailed(headers, validators) && !isNotModified(headers, validators);
}
