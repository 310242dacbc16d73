// Lists every route with its permission and handler, and finds the route of a path.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import { isCollectionName } from "../model/id.ts";
import { Problem } from "../model/problem.ts";
import { listActions, runAction } from "./actions/actions.ts";
import {
  deleteCollection,
  getCollection,
  listCollections,
  putCollection,
} from "./admin/collections.ts";
import {
  apiCatalog,
  createdPage,
  health,
  home,
  openapi,
  problemIndex,
  problemPage,
  ready,
} from "./admin/pages.ts";
import { createToken, getToken, listTokens, revokeToken } from "./admin/tokens.ts";
import type { Permission } from "./authorize.ts";
import type { RequestContext } from "./context.ts";
import { decodeSegment } from "./request-target.ts";
import { runBatch } from "./resources/batch.ts";
import { getFile } from "./resources/download.ts";
import { listResources, queryResources } from "./resources/list.ts";
import {
  createResource,
  deleteResource,
  getResource,
  patchResource,
  putResource,
} from "./resources/resources.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "QUERY";

export interface Route {
  readonly permission: Permission;
  readonly handler: (context: RequestContext) => MaybePromise<Response | Problem>;
}

const route = (permission: Permission, run: Route["handler"]): Route => ({
  permission: permission,
  handler: run,
});

export const routes: Readonly<Record<string, Partial<Record<Method, Route>>>> = {
  "/": { GET: route("anyone", home) },

  "/-/tokens": { GET: route("admin", listTokens), POST: route("admin", createToken) },
  "/-/tokens/:id": { GET: route("admin", getToken), DELETE: route("admin", revokeToken) },

  "/-/health": { GET: route("anyone", health) },
  "/-/ready": { GET: route("anyone", ready) },
  "/-/openapi.json": { GET: route("anyone", openapi) },
  "/-/problems": { GET: route("anyone", problemIndex) },
  "/-/problems/:kind": { GET: route("anyone", problemPage) },
  "/-/created": { GET: route("anyone", createdPage) },
  "/.well-known/api-catalog": { GET: route("anyone", apiCatalog) },

  "/:collection": {
    GET: route("read", listResources),
    POST: route("create", createResource),
    QUERY: route("read", queryResources),
  },
  "/:collection/:id": {
    GET: route("read", getResource),
    PUT: route("put", putResource),
    PATCH: route("update", patchResource),
    DELETE: route("delete", deleteResource),
  },
  "/:collection/:id/:part": { GET: route("read", getFile) },

  "/-/batch": { POST: route("token", runBatch) },
  "/-/actions": { GET: route("token", listActions) },
  "/-/actions/:name": { POST: route("action", runAction) },
  "/-/collections": { GET: route("admin", listCollections) },
  "/-/collections/:name": {
    GET: route("admin", getCollection),
    PUT: route("admin", putCollection),
    DELETE: route("admin", deleteCollection),
  },
};

export interface Endpoint {
  readonly routes: Partial<Record<string, Route>>;
  /** The value of the Allow header. */
  readonly allow: string;
}

export interface Match {
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
}

const endpoints = new Map(
  Object.entries(routes).map(([path, routes]) => [path, endpointOf(routes)]),
);

function endpointOf(routes: Endpoint["routes"]): Endpoint {
  const methods = Object.keys(routes).flatMap((method) =>
    method === "GET" ? ["GET", "HEAD"] : [method],
  );
  // Without a prototype, so that a method called `constructor` finds nothing.
  const handlers = Object.assign(Object.create(null), routes);
  return { routes: handlers, allow: [...methods, "OPTIONS"].join(", ") };
}

/** Finds the endpoint of a path and decodes its parameters. */
export function findEndpoint(path: string): Match | Problem {
  const found = isServerPath(path) ? findServerEndpoint(path) : findDataEndpoint(path);
  if (found === undefined) return notFound;
  const match = path.includes("%") ? withDecodedParams(found) : found;
  if (match instanceof Problem) return match;
  // An invalid collection name is 404 for every caller, so a name is always safe in a header field.
  const { collection } = match.params;
  return collection !== undefined && !isCollectionName(collection) ? invalidName : match;
}

/** Server paths have fixed segments, with at most one parameter at the end. */
const isServerPath = (path: string): boolean =>
  path === "/" || path.startsWith("/-/") || path.startsWith("/.well-known/");

function findServerEndpoint(path: string): Match | undefined {
  const endpoint = endpoints.get(path);
  if (endpoint !== undefined) return { endpoint, params: {} };
  const cut = path.lastIndexOf("/") + 1;
  const [pattern, name = ""] = parameters.get(path.slice(0, cut)) ?? [];
  const below = cut < path.length ? endpoints.get(pattern ?? "") : undefined;
  return below && { endpoint: below, params: { [name]: path.slice(cut) } };
}

/** `/-/tokens/` → the pattern `/-/tokens/:id` and the name `id`. */
const parameters = new Map(
  Object.keys(routes)
    .filter((path) => isServerPath(path) && path.includes(":"))
    .map((path) => [path.slice(0, path.indexOf(":")), [path, path.slice(path.indexOf(":") + 1)]]),
);

const collectionEndpoint = endpointOf(routes["/:collection"] ?? {});
const resourceEndpoint = endpointOf(routes["/:collection/:id"] ?? {});
const fileEndpoint = endpointOf(routes["/:collection/:id/:part"] ?? {});

/** Paths of user data differ only in depth. A general router would cost a third of a GET. */
function findDataEndpoint(path: string): Match | undefined {
  const slash = path.indexOf("/", 1);
  if (slash < 0) return { endpoint: collectionEndpoint, params: { collection: path.slice(1) } };
  const id = path.slice(slash + 1);
  if (slash === 1 || id === "") return undefined;
  const collection = path.slice(1, slash);
  const cut = id.indexOf("/");
  if (cut < 0) return { endpoint: resourceEndpoint, params: { collection, id } };
  const part = id.slice(cut + 1);
  if (cut === 0 || part === "" || part.includes("/")) return undefined;
  return { endpoint: fileEndpoint, params: { collection, id: id.slice(0, cut), part } };
}

function withDecodedParams({ endpoint, params }: Match): Match | Problem {
  const plain: Record<string, string> = {};
  for (const name in params) {
    const value = decodeSegment(params[name] ?? "");
    if (value instanceof Problem) return value;
    plain[name] = value;
  }
  return { endpoint, params: plain };
}

const notFound = new Problem("not-found", "There is nothing at this address.");
const invalidName = new Problem(
  "not-found",
  "There is nothing at this address. A collection name has 1 to 63 characters of a-z, 0-9, _ and -, and starts with a letter or digit.",
);
