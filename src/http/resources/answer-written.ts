// Responds to a write with the resource; without a body when the client prefers that or may not read it.

import type { Written } from "../../domain/write/operation.ts";
import { replayedHeader } from "../headers/idempotency-key.ts";
import { isForm, prefersHtml } from "../headers/media-type.ts";
import { readPreference } from "../headers/prefer.ts";
import type { RequestContext } from "../request/context.ts";
import { answerCreated } from "../response/browser.ts";
import { createResponse, noCache, resourceHead, withDate } from "../response/response.ts";
import type { RendererFactory } from "./fields-param.ts";

export async function answerWritten(
  context: RequestContext,
  written: Written,
  rendererFor: RendererFactory,
  query = context.query,
): Promise<Response> {
  const { request } = context;
  const { resource, access, isNew, isReplay } = written;
  const isPost = request.method === "POST";
  if (isPost && isNew && isForm(request.headers) && prefersHtml(request.headers))
    return answerCreated(context, written);
  const mask = await access.mask(resource);
  const { headers, updatedAt } = resourceHead(context, resource, mask ?? access.writtenMask);
  headers.set("Cache-Control", noCache);
  const address = `${context.collectionUrl}/${resource.id}`;
  if (isNew) headers.set("Location", address);
  if (isReplay) headers.set(replayedHeader, "true");
  // The stored bytes differ from the sent ones, so a PUT gets no validator (RFC 9110 §9.3.4).
  if (request.method === "PUT") dropValidators(headers);
  const preference = readPreference(request.headers);
  const isMinimal = preference === "minimal" || mask === undefined;
  if (preference !== undefined && isMinimal === (preference === "minimal"))
    headers.set("Preference-Applied", `return=${preference}`);
  const status = isNew ? 201 : isMinimal ? 204 : 200;
  if (isMinimal) headers.delete("content-type");
  // With `fields`, the body equals that of a GET with the same parameter.
  else headers.set("Content-Location", query === "" ? address : `${address}?${query}`);
  // Without it Node would send an empty chunked body; a 204 must not have it.
  if (isMinimal && isNew) headers.set("Content-Length", "0");
  const body = isMinimal ? null : rendererFor(mask)(resource, context.collectionUrl);
  return withDate(createResponse(context, body, { status, headers }), updatedAt);
}

function dropValidators(headers: Headers): void {
  headers.delete("etag");
  headers.delete("last-modified");
}
