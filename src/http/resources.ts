// Resources over HTTP: read, act, answer.

import type { Collection } from "../model/collection.ts";
import { readDraft } from "../model/draft.ts";
import { pageCount, type Window } from "../model/page.ts";
import { Problem } from "../model/problem.ts";
import { type Resource, represent } from "../model/resource.ts";
import { type Soon, then } from "../model/soon.ts";
import type { Slice } from "../store/store.ts";
import { hasNoBody, readBody, refuseTooLarge } from "./body.ts";
import { entityTag, isNotModified } from "./conditions.ts";
import type { Exchange } from "./exchange.ts";
import { refuseUnacceptable, refuseUnlessJson } from "./media.ts";
import { readParameters, readWindow } from "./query.ts";

export const jsonTypes = ["application/json"] as const;
export const acceptPost = "application/json";

/** What one token sees may differ from what another sees, so only its own cache keeps it. */
const cacheControl = "private, no-cache";

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
      const { body, headers } = prepare(exchange, resource);
      const response = isNotModified(request.headers, headers.get("etag") ?? "", resource.updatedAt)
        ? notModified(headers)
        : new Response(body, { headers });
      return dated(response, resource.updatedAt);
    },
  );
}

export function listResources(exchange: Exchange): Soon<Response | Problem> {
  const { request, house } = exchange;
  const window = readWindow(exchange.query);
  if (window instanceof Problem) return window;
  const name = exchange.param("collection");
  return then(house.resources.collection(name), (collection) => {
    if (collection instanceof Problem) return collection;
    const refused = refuseUnacceptable(request.headers, jsonTypes);
    if (refused !== undefined) return refused;
    // The revision alone decides, so a 304 reads no rows.
    const etag = entityTag(collection.revision, collection.updatedAt);
    if (isNotModified(request.headers, etag, collection.updatedAt)) {
      const headers = listHeaders(exchange, collection, window);
      return dated(notModified(headers), collection.updatedAt);
    }
    return then(house.resources.list(name, window), (slice) => {
      if (slice instanceof Problem) return slice;
      const headers = listHeaders(exchange, slice.collection, window);
      return dated(new Response(listBody(slice, window), { headers }), slice.collection.updatedAt);
    });
  });
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

  const { body, headers: asRead } = prepare(exchange, resource);
  const headers = new Headers(asRead);
  const location = `${house.base}/${name}/${resource.id}`;
  headers.set("location", location);
  headers.set("content-location", location);
  // A POST's answer given freshness would become a cached GET (RFC 9110 §9.3.3).
  headers.set("cache-control", "no-store");
  return dated(new Response(body, { status: 201, headers }), resource.updatedAt);
}

interface Prepared {
  readonly body: string;
  readonly headers: Headers;
}

/** The store hands out the same object for the same state, so a hot resource is prepared once. */
const prepared = new WeakMap<Resource, Prepared>();

function prepare(exchange: Exchange, resource: Resource): Prepared {
  const known = prepared.get(resource);
  if (known !== undefined) return known;
  const headers = new Headers(exchange.house.commonHeaders);
  headers.set("content-type", "application/json");
  headers.set("cache-control", cacheControl);
  headers.set("etag", entityTag(resource.revision, resource.updatedAt));
  headers.set("last-modified", new Date(resource.updatedAt).toUTCString());
  headers.append("vary", "Accept");
  const made = { body: represent(resource), headers };
  prepared.set(resource, made);
  return made;
}

/** Bun's own Date ticks up to a second late, and Last-Modified may not be later (RFC 9110 §8.8.2.1). */
function dated(response: Response, updatedAt: number): Response {
  const now = Date.now();
  if (now - updatedAt < 2000) response.headers.set("date", new Date(now).toUTCString());
  return response;
}

function notModified(asRead: Headers): Response {
  const headers = new Headers(asRead);
  headers.delete("content-type");
  return new Response(null, { status: 304, headers });
}

function listBody(slice: Slice, window: Window): string {
  const { total } = slice.collection;
  let data = "";
  for (const resource of slice.resources) {
    data += data === "" ? represent(resource) : `,${represent(resource)}`;
  }
  const { page, limit } = window;
  return `{"data":[${data}],"page":${page},"limit":${limit},"total":${total},"pages":${pageCount(total, limit)}}`;
}

function listHeaders(exchange: Exchange, collection: Collection, window: Window): Headers {
  const headers = new Headers(exchange.house.commonHeaders);
  headers.set("content-type", "application/json");
  headers.set("cache-control", cacheControl);
  headers.set("etag", entityTag(collection.revision, collection.updatedAt));
  headers.set("last-modified", new Date(collection.updatedAt).toUTCString());
  headers.append("vary", "Accept");
  headers.set("link", links(exchange, collection.total, window));
  headers.set("x-total-count", `${collection.total}`);
  return headers;
}

/** RFC 8288; every other parameter stays as it was asked. */
function links(exchange: Exchange, total: number, window: Window): string {
  const { page, limit, order } = window;
  const last = Math.max(1, pageCount(total, limit));
  const sort = order === "created" ? "" : "&sort=-createdAt";
  const address = `${exchange.house.base}${exchange.path}`;
  const link = (rel: string, target: number) =>
    `<${address}?page=${target}&limit=${limit}${sort}>; rel="${rel}"`;
  const found = [link("first", 1)];
  if (page > 1) found.push(link("prev", Math.min(page - 1, last)));
  if (page < last) found.push(link("next", page + 1));
  found.push(link("last", last));
  return found.join(", ");
}

/** Most addresses take no parameters; an unknown one is a mistake that must not pass silently. */
export function refuseParameters(exchange: Exchange): Problem | undefined {
  if (exchange.query === "") return undefined;
  const parameters = readParameters(exchange.query, []);
  return parameters instanceof Problem ? parameters : undefined;
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
