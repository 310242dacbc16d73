// Responds to a write with the resource; without a body when the client prefers that or may not read it.

import type { Mask } from "../../domain/mask.ts";
import type { Written } from "../../domain/write/operation.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { type Reply, ReplyFields } from "../../lib/reply.ts";
import { etagOf, httpDate } from "../headers/conditional.ts";
import { replayedHeader } from "../headers/idempotency-key.ts";
import { isForm, prefersHtml } from "../headers/media-type.ts";
import { readPreference } from "../headers/prefer.ts";
import type { RequestContext } from "../request/context.ts";
import { readSearchParams } from "../request/request-target.ts";
import { answerCreated } from "../response/browser.ts";
import { createReply, noCache } from "../response/response.ts";
import type { RendererFactory } from "./fields-param.ts";

export function answerWritten(
  context: RequestContext,
  written: Written,
  rendererFor: RendererFactory,
  query = fieldsIn(context.query),
): MaybePromise<Reply> {
  const { method, headers } = context.request;
  const { resource, access, isNew } = written;
  if (method === "POST" && isNew && isForm(headers) && prefersHtml(headers))
    return answerCreated(context, written);
  return then(access.mask(resource), (mask) => answer(context, written, mask, rendererFor, query));
}

/** Returns what a GET of the resource takes of the parameters of a write, as they were sent. */
const fieldsIn = (query: string): string =>
  query === ""
    ? query
    : query
        .split("&")
        .filter((pair) => readSearchParams(pair)[0]?.[0] === "fields")
        .join("&");

/** `mask` is undefined when the caller may not read the resource. */
function answer(
  context: RequestContext,
  { resource, access, isNew, isReplay }: Written,
  mask: Mask | undefined,
  rendererFor: RendererFactory,
  query: string,
): Reply {
  const { request, collectionUrl } = context;
  const preference = readPreference(request.headers);
  const isMinimal = preference === "minimal" || mask === undefined;
  const body = isMinimal ? null : rendererFor(mask)(resource, collectionUrl);
  const fields = new ReplyFields(context.services.jsonFields);
  const seen = mask ?? access.writtenMask;
  const updatedAt = seen?.showsUpdates ? resource.updatedAt : undefined;
  // The stored bytes differ from the sent ones, so a PUT gets no validator (RFC 9110 §9.3.4).
  if (request.method !== "PUT") {
    if (seen !== undefined) fields.set("ETag", etagOf(resource, seen));
    if (updatedAt !== undefined) fields.set("Last-Modified", httpDate(updatedAt));
  }
  fields.set("Cache-Control", noCache);
  const address = `${collectionUrl}/${resource.id}`;
  if (isNew) fields.set("Location", address);
  if (isReplay) fields.set(replayedHeader, "true");
  if (preference !== undefined && isMinimal === (preference === "minimal"))
    fields.set("Preference-Applied", `return=${preference}`);
  if (isMinimal) fields.delete("content-type");
  // With `fields`, the body equals that of a GET with the same parameter.
  else fields.set("Content-Location", query === "" ? address : `${address}?${query}`);
  const status = isNew ? 201 : isMinimal ? 204 : 200;
  return createReply(context, status, fields, body, { etag: "", updatedAt, isDateExact: false });
}
