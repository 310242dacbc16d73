// Responds to a write with the resource; without a body when the client prefers that or may not read it.

import type { Mask } from "../../domain/mask.ts";
import type { Written } from "../../domain/write/operation.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { etagOf, httpDate } from "../headers/conditional.ts";
import { replayedHeader } from "../headers/idempotency-key.ts";
import { isForm, prefersHtml } from "../headers/media-type.ts";
import { readPreference } from "../headers/prefer.ts";
import type { RequestContext } from "../request/context.ts";
import { readSearchParams } from "../request/request-target.ts";
import { answerCreated } from "../response/browser.ts";
import { createJsonResponse, noCache, withDate } from "../response/response.ts";
import type { RendererFactory } from "./fields-param.ts";

export function answerWritten(
  context: RequestContext,
  written: Written,
  rendererFor: RendererFactory,
  query = fieldsIn(context.query),
): MaybePromise<Response> {
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
): Response {
  const { request, collectionUrl } = context;
  const preference = readPreference(request.headers);
  const isMinimal = preference === "minimal" || mask === undefined;
  const body = isMinimal ? null : rendererFor(mask)(resource, collectionUrl);
  const response = createJsonResponse(context, isNew ? 201 : isMinimal ? 204 : 200, body);
  const { headers } = response;
  const seen = mask ?? access.writtenMask;
  const updatedAt = seen?.showsUpdates ? resource.updatedAt : undefined;
  // The stored bytes differ from the sent ones, so a PUT gets no validator (RFC 9110 §9.3.4).
  if (request.method !== "PUT") {
    if (seen !== undefined) headers.set("ETag", etagOf(resource, seen));
    if (updatedAt !== undefined) headers.set("Last-Modified", httpDate(updatedAt));
  }
  headers.set("Cache-Control", noCache);
  const address = `${collectionUrl}/${resource.id}`;
  if (isNew) headers.set("Location", address);
  if (isReplay) headers.set(replayedHeader, "true");
  if (preference !== undefined && isMinimal === (preference === "minimal"))
    headers.set("Preference-Applied", `return=${preference}`);
  if (isMinimal) headers.delete("content-type");
  // With `fields`, the body equals that of a GET with the same parameter.
  else headers.set("Content-Location", query === "" ? address : `${address}?${query}`);
  // Without it Node would send an empty chunked body; a 204 must not have it.
  if (isMinimal && isNew) headers.set("Content-Length", "0");
  return withDate(response, updatedAt);
}
