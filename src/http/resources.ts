// Resources over HTTP: read, act, answer.

import { readDraft } from "../model/draft.ts";
import { Problem } from "../model/problem.ts";
import { represent } from "../model/resource.ts";
import { type Soon, then } from "../model/soon.ts";
import { hasNoBody, readBody, refuseTooLarge } from "./body.ts";
import type { Exchange } from "./exchange.ts";
import { jsonTypes, refuseUnacceptable, refuseUnlessJson } from "./media.ts";
import { refuseParameters } from "./query.ts";
import { answerIfModified, dated, noCache, prepare, stateOf } from "./representation.ts";

export const acceptPost = "application/json";

export function getResource(exchange: Exchange): Soon<Response | Problem> {
  const { request, house } = exchange;
  const refused = refuseParameters(exchange);
  if (refused !== undefined) return refused;
  return then(
    house.resources.find(exchange.param("collection"), exchange.param("id")),
    (resource) => {
      if (resource instanceof Problem) return resource;
      const unacceptable = refuseUnacceptable(request.headers, jsonTypes);
      if (unacceptable !== undefined) return unacceptable;
      return answerIfModified(exchange, prepare(exchange, resource));
    },
  );
}

export async function createResource(exchange: Exchange): Promise<Response | Problem> {
  const { request, house } = exchange;
  const name = exchange.param("collection");
  const refused =
    refuseParameters(exchange) ??
    (await house.resources.refuseCreate(exchange.token, name)) ??
    (hasNoBody(request.headers) ? emptyBody : undefined) ??
    refuseUnlessJson(request.headers, acceptPost) ??
    refuseTooLarge(exchange) ??
    refuseUnacceptable(request.headers, jsonTypes);
  if (refused !== undefined) return refused;
  const bytes = await readBody(exchange);
  if (bytes instanceof Problem) return bytes;
  const draft = bytes.byteLength === 0 ? emptyBody : readDraft(bytes);
  if (draft instanceof Problem) return draft;
  if (!("fields" in draft)) return invalidBody(draft);
  if (draft.id !== undefined) return idInPost;

  const resource = await house.resources.create(exchange.token, name, draft);
  if (resource instanceof Problem) return resource;

  const { headers } = stateOf(exchange, resource, noCache);
  const location = `${house.base}/${name}/${resource.id}`;
  headers.set("location", location);
  headers.set("content-location", location);
  return dated(new Response(represent(resource), { status: 201, headers }), resource.updatedAt);
}

export const emptyBody = new Problem("invalid-body", "The body is empty; send a JSON object.", {
  errors: [{ pointer: "", detail: "a JSON object is needed" }],
});

export const invalidBody = (errors: Problem["errors"]): Problem =>
  new Problem("invalid-body", "The body is not valid; `errors` names each fault.", {
    errors: errors ?? [],
  });

const idInPost = new Problem("invalid-body", "The server decides the id of what is POSTed.", {
  errors: [
    { pointer: "/id", detail: "leave the id out, or PUT to /{collection}/{id} to choose it" },
  ],
});
