// Resources over HTTP: read, act, answer.

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
  idInPost,
  readBody,
  readFields,
  readText,
  refuseBody,
  refuseTooLarge,
} from "../body/content.ts";
import { createMany } from "../body/ndjson.ts";
import { readDraftBody } from "../body/read-body.ts";
import { answerCreated, isFromBrowser } from "../browser.ts";
import type { RequestContext } from "../context.ts";
import { readCondition } from "../headers/conditional.ts";
import { onceOf, readKey, replayedField } from "../headers/idempotency-key.ts";
import {
  isLines,
  jsonTypes,
  readPatchKind,
  refuseUnacceptable,
  takenByPut,
} from "../headers/media-type.ts";
import { readPreference } from "../headers/prefer.ts";
import { responseOf } from "../large-response.ts";
import { refuseCreation } from "../rate-limit.ts";
import { refuseParameters } from "../search-params.ts";
import { readShownFields, type Show, showingBy } from "./fields-param.ts";
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
      const unacceptable = refuseUnacceptable(request.headers, jsonTypes);
      if (unacceptable !== undefined) return unacceptable;
      const whole = renderResource(context, shown.resource, shown.rules);
      if (fields.length === 0) return answerPage(context, whole);
      const show = showingBy(fields, shown.rules);
      if (show instanceof Problem) return show;
      const body = show(shown.rules, shown.resource, collectionUrl(context));
      return answerPage(context, { ...whole, body });
    },
  );
}

export async function createResource(context: RequestContext): Promise<Response | Problem> {
  const { request, services, caller } = context;
  if (isLines(request.headers)) return createMany(context);
  const name = context.param("collection");
  const key = readKey(request.headers);
  if (key instanceof Problem) return key;
  const fields = readShownFields(context.query);
  if (fields instanceof Problem) return fields;
  const rules = await services.resources.target(caller, name);
  if (rules instanceof Problem) return rules;
  const show = showingBy(fields, rules);
  if (show instanceof Problem) return show;
  const tooMany = refuseCreation(context, rules);
  if (tooMany !== undefined) return tooMany;
  const incoming = await readDraftBody(context, rules, requireKey(rules, key));
  if (incoming instanceof Problem) return incoming;
  const { draft, fingerprint } = incoming;
  if (draft.id !== undefined) return idInPost;
  if (incoming.isHoneypotFilled)
    return answerWritten(context, pretended(context, draft, rules), show);

  const once = key === undefined ? undefined : onceOf(context, key, fingerprint);
  const written = await services.resources.create(caller, name, draft, once, incoming.parts);
  return written instanceof Problem ? written : answerWritten(context, written, show);
}

/** What a machine that fell into the honeypot is told: all is as if it were stored. */
function pretended(
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

/** Creates or replaces; the client names the whole URL. */
export async function putResource(context: RequestContext): Promise<Response | Problem> {
  const { request, services, caller } = context;
  const name = context.param("collection");
  const condition = readCondition(request.headers);
  const fields = readShownFields(context.query);
  if (fields instanceof Problem) return fields;
  const rules = await services.resources.target(caller, name);
  if (rules instanceof Problem) return rules;
  const show = showingBy(fields, rules);
  if (show instanceof Problem) return show;
  if (condition instanceof Problem) return condition;
  const refused =
    refuseCreation(context, rules) ??
    (request.headers.has("content-range") ? partialPut : undefined) ??
    refuseBody(context, takenByPut) ??
    requirePrecondition(rules, condition);
  if (refused !== undefined) return refused;
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
  const show = showingBy(fields, rules);
  if (show instanceof Problem) return show;
  const kind = readPatchKind(request.headers);
  if (kind instanceof Problem) return kind;
  if (condition instanceof Problem) return condition;
  const refused =
    refuseTooLarge(context) ??
    refuseUnacceptable(request.headers, jsonTypes) ??
    requirePrecondition(rules, condition);
  if (refused !== undefined) return refused;
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
    refuseParameters(context) ?? (await services.resources.existing(caller, "delete", name, id));
  if (rules instanceof Problem) return rules;
  if (condition instanceof Problem) return condition;
  const refused = requirePrecondition(rules, condition);
  if (refused !== undefined) return refused;

  const problem = await services.resources.remove(caller, name, id, condition);
  if (problem !== undefined) return problem;

  const headers = new Headers(services.commonHeaders);
  headers.set("cache-control", noCache);
  return new Response(null, { status: 204, headers });
}

/** The resource as it is now; when the client prefers so or may not read it, only that it was written. */
function answerWritten(context: RequestContext, written: Written, show: Show): Response {
  const { request, caller, query } = context;
  const { resource, rules, isNew, isReplay } = written;
  if (isNew && isFromBrowser(context)) return answerCreated(context, written);
  const { headers } = responseHeadOf(context, resource, noCache, viewVersion(rules));
  const address = `${collectionUrl(context)}/${resource.id}`;
  if (isNew) headers.set("location", address);
  if (isReplay) headers.set(replayedField, "true");
  // What was stored is not what was sent, byte for byte, so a PUT gets no validator (RFC 9110 §9.3.4).
  if (request.method === "PUT") dropValidators(headers);
  const wanted = readPreference(request.headers);
  const isReadable = mayRead(caller, context.param("collection"), rules, resource);
  const isMinimal = wanted === "minimal" || !isReadable;
  if (wanted !== undefined && isMinimal === (wanted === "minimal"))
    headers.set("preference-applied", `return=${wanted}`);
  const status = isNew ? 201 : isMinimal ? 204 : 200;
  if (isMinimal) headers.delete("content-type");
  // With `fields` the body is what a GET with the same parameter answers.
  else headers.set("content-location", query === "" ? address : `${address}?${query}`);
  // Otherwise Node would send the nothing in chunks; with a 204 it may not be sent at all.
  if (isMinimal && isNew) headers.set("content-length", "0");
  const body = isMinimal ? null : show(rules, resource, collectionUrl(context));
  return withDate(responseOf(context, body, { status, headers }), resource.updatedAt);
}

function dropValidators(headers: Headers): void {
  headers.delete("etag");
  headers.delete("last-modified");
}

const partialPut = new Problem(
  "malformed-request",
  "A part of a resource cannot be PUT (RFC 9110 §14.5); PATCH it.",
);
