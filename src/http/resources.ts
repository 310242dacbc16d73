// Resources over HTTP: read, act, answer.

import { isOwned } from "../domain/access.ts";
import type { Written } from "../domain/outcomes.ts";
import { refuseKeyless, refuseUnconditional } from "../domain/refusals.ts";
import { mayRead } from "../domain/without-read.ts";
import type { Rules } from "../model/collection.ts";
import type { Draft } from "../model/draft.ts";
import { newId } from "../model/id.ts";
import { Problem } from "../model/problem.ts";
import { type Soon, then } from "../model/soon.ts";
import { sealOf } from "../model/view.ts";
import {
  idInPost,
  readBody,
  readFields,
  readText,
  refuseBody,
  refuseTooLarge,
} from "./body/body.ts";
import { readIncoming } from "./body/incoming.ts";
import { isLines, jsonTypes, readPatchKind, refuseUnacceptable, takenByPut } from "./body/media.ts";
import { createMany } from "./body/ndjson.ts";
import { answerCreated, isFromBrowser } from "./browser.ts";
import { readCondition } from "./conditions.ts";
import type { Exchange } from "./exchange.ts";
import { responseOf } from "./large-answer.ts";
import { onceOf, readKey, replayedField } from "./once.ts";
import { readPreference } from "./prefer.ts";
import { refuseParameters } from "./query.ts";
import { refuseCreation } from "./rate.ts";
import { answerIfModified, dated, homeOf, noCache, prepare, stateOf } from "./representation.ts";
import { readShownFields, type Show, showingBy } from "./shown-fields.ts";

export function getResource(exchange: Exchange): Soon<Response | Problem> {
  const { request, house, caller } = exchange;
  const fields = readShownFields(exchange.query);
  if (fields instanceof Problem) return fields;
  return then(
    house.resources.find(caller, exchange.param("collection"), exchange.param("id")),
    (shown) => {
      if (shown instanceof Problem) return shown;
      const unacceptable = refuseUnacceptable(request.headers, jsonTypes);
      if (unacceptable !== undefined) return unacceptable;
      const whole = prepare(exchange, shown.resource, shown.rules);
      if (fields.length === 0) return answerIfModified(exchange, whole);
      const show = showingBy(fields, shown.rules);
      if (show instanceof Problem) return show;
      const body = show(shown.rules, shown.resource, homeOf(exchange));
      return answerIfModified(exchange, { ...whole, body });
    },
  );
}

export async function createResource(exchange: Exchange): Promise<Response | Problem> {
  const { request, house, caller } = exchange;
  if (isLines(request.headers)) return createMany(exchange);
  const name = exchange.param("collection");
  const key = readKey(request.headers);
  if (key instanceof Problem) return key;
  const fields = readShownFields(exchange.query);
  if (fields instanceof Problem) return fields;
  const rules = await house.resources.target(caller, name);
  if (rules instanceof Problem) return rules;
  const show = showingBy(fields, rules);
  if (show instanceof Problem) return show;
  const tooMany = refuseCreation(exchange, rules);
  if (tooMany !== undefined) return tooMany;
  const incoming = await readIncoming(exchange, rules, refuseKeyless(rules, key));
  if (incoming instanceof Problem) return incoming;
  const { draft, fingerprint } = incoming;
  if (draft.id !== undefined) return idInPost;
  if (incoming.isTrapped) return answerWritten(exchange, pretended(exchange, draft, rules), show);

  const once = key === undefined ? undefined : onceOf(exchange, key, fingerprint);
  const written = await house.resources.create(caller, name, draft, once, incoming.parts);
  return written instanceof Problem ? written : answerWritten(exchange, written, show);
}

/** What a machine that fell into the honeypot is told: all is as if it were stored. */
function pretended({ house, requestId, caller }: Exchange, draft: Draft, rules?: Rules): Written {
  house.logRefusal(requestId, 201, "The honeypot is filled in; nothing was stored.");
  const at = Date.now();
  const times = { createdAt: at, updatedAt: at };
  const owner = isOwned(rules) && caller !== undefined ? { owner: caller.id } : {};
  const resource = { id: newId(), revision: 1, ...times, fields: draft.fields, ...owner };
  return { resource, rules, isNew: true, isReplay: false };
}

/** Creates or replaces; the client names the whole URL. */
export async function putResource(exchange: Exchange): Promise<Response | Problem> {
  const { request, house, caller } = exchange;
  const name = exchange.param("collection");
  const condition = readCondition(request.headers);
  const fields = readShownFields(exchange.query);
  if (fields instanceof Problem) return fields;
  const rules = await house.resources.target(caller, name);
  if (rules instanceof Problem) return rules;
  const show = showingBy(fields, rules);
  if (show instanceof Problem) return show;
  if (condition instanceof Problem) return condition;
  const refused =
    refuseCreation(exchange, rules) ??
    (request.headers.has("content-range") ? partialPut : undefined) ??
    refuseBody(exchange, takenByPut) ??
    refuseUnconditional(rules, condition);
  if (refused !== undefined) return refused;
  const bytes = await readBody(exchange);
  if (bytes instanceof Problem) return bytes;
  const draft = readFields(bytes);
  if (draft instanceof Problem) return draft;

  const written = await house.resources.put(caller, name, exchange.param("id"), draft, condition);
  return written instanceof Problem ? written : answerWritten(exchange, written, show);
}

export async function patchResource(exchange: Exchange): Promise<Response | Problem> {
  const { request, house, caller } = exchange;
  const name = exchange.param("collection");
  const id = exchange.param("id");
  const condition = readCondition(request.headers);
  const fields = readShownFields(exchange.query);
  if (fields instanceof Problem) return fields;
  const rules = await house.resources.existing(caller, "update", name, id);
  if (rules instanceof Problem) return rules;
  const show = showingBy(fields, rules);
  if (show instanceof Problem) return show;
  const kind = readPatchKind(request.headers);
  if (kind instanceof Problem) return kind;
  if (condition instanceof Problem) return condition;
  const refused =
    refuseTooLarge(exchange) ??
    refuseUnacceptable(request.headers, jsonTypes) ??
    refuseUnconditional(rules, condition);
  if (refused !== undefined) return refused;
  const patch = readText(await readBody(exchange));
  if (patch instanceof Problem) return patch;

  const written = await house.resources.patch(caller, name, id, kind, patch, condition);
  return written instanceof Problem ? written : answerWritten(exchange, written, show);
}

export async function deleteResource(exchange: Exchange): Promise<Response | Problem> {
  const { request, house, caller } = exchange;
  const name = exchange.param("collection");
  const id = exchange.param("id");
  const condition = readCondition(request.headers);
  const rules =
    refuseParameters(exchange) ?? (await house.resources.existing(caller, "delete", name, id));
  if (rules instanceof Problem) return rules;
  if (condition instanceof Problem) return condition;
  const refused = refuseUnconditional(rules, condition);
  if (refused !== undefined) return refused;

  const problem = await house.resources.remove(caller, name, id, condition);
  if (problem !== undefined) return problem;

  const headers = new Headers(house.commonHeaders);
  headers.set("cache-control", noCache);
  return new Response(null, { status: 204, headers });
}

/** The resource as it is now; when the client prefers so or may not read it, only that it was written. */
function answerWritten(exchange: Exchange, written: Written, show: Show): Response {
  const { request, caller, query } = exchange;
  const { resource, rules, isNew, isReplay } = written;
  if (isNew && isFromBrowser(exchange)) return answerCreated(exchange, written);
  const { headers } = stateOf(exchange, resource, noCache, sealOf(rules));
  const address = `${homeOf(exchange)}/${resource.id}`;
  if (isNew) headers.set("location", address);
  if (isReplay) headers.set(replayedField, "true");
  // What was stored is not what was sent, byte for byte, so a PUT gets no validator (RFC 9110 §9.3.4).
  if (request.method === "PUT") dropValidators(headers);
  const wanted = readPreference(request.headers);
  const isReadable = mayRead(caller, exchange.param("collection"), rules, resource);
  const isMinimal = wanted === "minimal" || !isReadable;
  if (wanted !== undefined && isMinimal === (wanted === "minimal"))
    headers.set("preference-applied", `return=${wanted}`);
  const status = isNew ? 201 : isMinimal ? 204 : 200;
  if (isMinimal) headers.delete("content-type");
  // With `fields` the body is what a GET with the same parameter answers.
  else headers.set("content-location", query === "" ? address : `${address}?${query}`);
  // Otherwise Node would send the nothing in chunks; with a 204 it may not be sent at all.
  if (isMinimal && isNew) headers.set("content-length", "0");
  const body = isMinimal ? null : show(rules, resource, homeOf(exchange));
  return dated(responseOf(exchange, body, { status, headers }), resource.updatedAt);
}

function dropValidators(headers: Headers): void {
  headers.delete("etag");
  headers.delete("last-modified");
}

const partialPut = new Problem(
  "malformed-request",
  "A part of a resource cannot be PUT (RFC 9110 §14.5); PATCH it.",
);
