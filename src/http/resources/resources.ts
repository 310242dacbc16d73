// Handles GET, POST, PUT, PATCH and DELETE of single resources.

import { isOwned } from "../../domain/access.ts";
import type { Written } from "../../domain/outcomes.ts";
import { requireKey, requirePrecondition } from "../../domain/problems.ts";
import { mayRead } from "../../domain/without-read.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import type { Rules } from "../../model/collection.ts";
import type { Draft } from "../../model/draft.ts";
import { newId } from "../../model/id.ts";
import { Problem } from "../../model/problem.ts";
import { viewVersion } from "../../model/render.ts";
import {
  checkContentLength,
  checkJsonBody,
  idInPost,
  readBody,
  readFields,
  readText,
} from "../body/content.ts";
import { createMany } from "../body/ndjson.ts";
import { readDraftBody } from "../body/read-body.ts";
import { answerCreated, isFromBrowser } from "../browser.ts";
import type { RequestContext } from "../context.ts";
import { readCondition } from "../headers/conditional.ts";
import { idempotencyKeyOf, readKey, replayedHeader } from "../headers/idempotency-key.ts";
import {
  checkAccept,
  isNdjson,
  jsonTypes,
  putTypes,
  readPatchKind,
} from "../headers/media-type.ts";
import { readPreference } from "../headers/prefer.ts";
import { createResponse } from "../large-response.ts";
import { limitCreation } from "../rate-limit.ts";
import { rejectParameters } from "../search-params.ts";
import { checkedRendererFor, type RenderResource, readShownFields } from "./fields-param.ts";
import {
  answerPage,
  collectionUrl,
  noCache,
  renderResource,
  responseHeadOf,
  withDate,
} from "./representation.ts";

export function getResource(context: RequestContext): MaybePromise<Response | Problem> {
  const { request, services, caller } = context;
  const fields = readShownFields(context.query);
  if (fields instanceof Problem) return fields;
  return then(
    services.resources.find(caller, context.param("collection"), context.param("id")),
    (shown) => {
      if (shown instanceof Problem) return shown;
      const unacceptable = checkAccept(request.headers, jsonTypes);
      if (unacceptable !== undefined) return unacceptable;
      const whole = renderResource(context, shown.resource, shown.rules);
      if (fields.length === 0) return answerPage(context, whole);
      const show = checkedRendererFor(fields, shown.rules);
      if (show instanceof Problem) return show;
      const body = show(shown.rules, shown.resource, collectionUrl(context));
      return answerPage(context, { ...whole, body });
    },
  );
}

export async function createResource(context: RequestContext): Promise<Response | Problem> {
  const { request, services, caller } = context;
  if (isNdjson(request.headers)) return createMany(context);
  const name = context.param("collection");
  const key = readKey(request.headers);
  if (key instanceof Problem) return key;
  const fields = readShownFields(context.query);
  if (fields instanceof Problem) return fields;
  const rules = await services.resources.target(caller, name);
  if (rules instanceof Problem) return rules;
  const show = checkedRendererFor(fields, rules);
  if (show instanceof Problem) return show;
  const tooMany = limitCreation(context, rules);
  if (tooMany !== undefined) return tooMany;
  const received = await readDraftBody(context, rules, requireKey(rules, key));
  if (received instanceof Problem) return received;
  const { draft, fingerprint } = received;
  if (draft.id !== undefined) return idInPost;
  if (received.isHoneypotFilled)
    return answerWritten(context, honeypotResult(context, draft, rules), show);

  const once = key === undefined ? undefined : idempotencyKeyOf(context, key, fingerprint);
  const written = await services.resources.create(caller, name, draft, once, received.parts);
  return written instanceof Problem ? written : answerWritten(context, written, show);
}

/** Returns a result as if the draft were stored, for a bot that filled in the honeypot. */
function honeypotResult(
  { services, requestId, caller }: RequestContext,
  draft: Draft,
  rules?: Rules,
): Written {
  services.logRefusal(requestId, 201, "The honeypot is filled in; nothing was stored.");
  const at = Date.now();
  const times = { createdAt: at, updatedAt: at };
  const owner = isOwned(rules) && caller !== undefined ? { owner: caller.id } : {};
  const resource = { id: newId(), revision: 1, ...times, fields: draft.fields, ...owner };
  return { resource, rules, isNew: true, isReplay: false };
}

/** Creates or replaces a resource at the URL that the client chose. */
export async function putResource(context: RequestContext): Promise<Response | Problem> {
  const { request, services, caller } = context;
  const name = context.param("collection");
  const condition = readCondition(request.headers);
  const fields = readShownFields(context.query);
  if (fields instanceof Problem) return fields;
  const rules = await services.resources.target(caller, name);
  if (rules instanceof Problem) return rules;
  const show = checkedRendererFor(fields, rules);
  if (show instanceof Problem) return show;
  if (condition instanceof Problem) return condition;
  const rejected =
    limitCreation(context, rules) ??
    (request.headers.has("content-range") ? partialPut : undefined) ??
    checkJsonBody(context, putTypes) ??
    requirePrecondition(rules, condition);
  if (rejected !== undefined) return rejected;
  const bytes = await readBody(context);
  if (bytes instanceof Problem) return bytes;
  const draft = readFields(bytes);
  if (draft instanceof Problem) return draft;

  const written = await services.resources.put(caller, name, context.param("id"), draft, condition);
  return written instanceof Problem ? written : answerWritten(context, written, show);
}

export async function patchResource(context: RequestContext): Promise<Response | Problem> {
  const { request, services, caller } = context;
  const name = context.param("collection");
  const id = context.param("id");
  const condition = readCondition(request.headers);
  const fields = readShownFields(context.query);
  if (fields instanceof Problem) return fields;
  const rules = await services.resources.existing(caller, "update", name, id);
  if (rules instanceof Problem) return rules;
  const show = checkedRendererFor(fields, rules);
  if (show instanceof Problem) return show;
  const kind = readPatchKind(request.headers);
  if (kind instanceof Problem) return kind;
  if (condition instanceof Problem) return condition;
  const rejected =
    checkContentLength(context) ??
    checkAccept(request.headers, jsonTypes) ??
    requirePrecondition(rules, condition);
  if (rejected !== undefined) return rejected;
  const patch = readText(await readBody(context));
  if (patch instanceof Problem) return patch;

  const written = await services.resources.patch(caller, name, id, kind, patch, condition);
  return written instanceof Problem ? written : answerWritten(context, written, show);
}

export async function deleteResource(context: RequestContext): Promise<Response | Problem> {
  const { request, services, caller } = context;
  const name = context.param("collection");
  const id = context.param("id");
  const condition = readCondition(request.headers);
  const rules =
    rejectParameters(context) ?? (await services.resources.existing(caller, "delete", name, id));
  if (rules instanceof Problem) return rules;
  if (condition instanceof Problem) return condition;
  const rejected = requirePrecondition(rules, condition);
  if (rejected !== undefined) return rejected;

  const problem = await services.resources.remove(caller, name, id, condition);
  if (problem !== undefined) return problem;

  const headers = new Headers(services.commonHeaders);
  headers.set("cache-control", noCache);
  return new Response(null, { status: 204, headers });
}

/** Responds with the resource; without a body when the client prefers that or may not read it. */
function answerWritten(context: RequestContext, written: Written, show: RenderResource): Response {
  const { request, caller, query } = context;
  const { resource, rules, isNew, isReplay } = written;
  if (isNew && isFromBrowser(context)) return answerCreated(context, written);
  const { headers } = responseHeadOf(context, resource, noCache, viewVersion(rules));
  const address = `${collectionUrl(context)}/${resource.id}`;
  if (isNew) headers.set("location", address);
  if (isReplay) headers.set(replayedHeader, "true");
  // The stored bytes differ from the sent ones, so a PUT gets no validator (RFC 9110 §9.3.4).
  if (request.method === "PUT") dropValidators(headers);
  const preference = readPreference(request.headers);
  const isReadable = mayRead(caller, context.param("collection"), rules, resource);
  const isMinimal = preference === "minimal" || !isReadable;
  if (preference !== undefined && isMinimal === (preference === "minimal"))
    headers.set("preference-applied", `return=${preference}`);
  const status = isNew ? 201 : isMinimal ? 204 : 200;
  if (isMinimal) headers.delete("content-type");
  // With `fields`, the body equals that of a GET with the same parameter.
  else headers.set("content-location", query === "" ? address : `${address}?${query}`);
  // Without it Node would send an empty chunked body; a 204 must not have it.
  if (isMinimal && isNew) headers.set("content-length", "0");
  const body = isMinimal ? null : show(rules, resource, collectionUrl(context));
  return withDate(createResponse(context, body, { status, headers }), resource.updatedAt);
}

function dropValidators(headers: Headers): void {
  headers.delete("etag");
  headers.delete("last-modified");
}

const partialPut = new Problem(
  "malformed-request",
  "PUT with Content-Range is not supported (RFC 9110 §14.5). Use PATCH to change a part of a resource.",
);
