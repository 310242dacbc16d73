// Finds the route of a request by its path.

import { isCollectionName } from "../model/id.ts";
import { Problem } from "../model/problem.ts";
import { decodeSegment } from "./request/request-target.ts";
import type { Route } from "./request/route.ts";
import { routes } from "./routes.ts";

/** The routes of one path. */
export interface Endpoint {
  /** By method. */
  readonly routes: Partial<Record<string, Route>>;
  /** The value of the Allow header. */
  readonly allow: string;
}

export interface RouteMatch {
  readonly endpoint: Endpoint;
  readonly params: Readonly<Record<string, string>>;
}

const endpoints = new Map(
  [...Map.groupBy(Object.values(routes), ({ path }) => path)].map(([path, some]) => [
    path,
    endpointOf(some),
  ]),
);

function endpointOf(routes: readonly Route[]): Endpoint {
  const methods = routes.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  // Without a prototype, so that a method called `constructor` finds nothing.
  const byMethod: Record<string, Route> = Object.create(null);
  for (const route of routes) byMethod[route.method] = route;
  return { routes: byMethod, allow: [...methods, "OPTIONS"].join(", ") };
}

/** Finds the endpoint of a path and decodes its parameters. */
export function findEndpoint(path: string): RouteMatch | Problem {
  const found = isServerPath(path) ? findServerEndpoint(path) : findDataEndpoint(path);
  if (found === undefined) return notFound;
  const match = path.includes("%") ? withDecodedParams(found) : found;
  if (match instanceof Problem) return match;
  // An invalid collection name is 404 for every caller, so a name is always safe in a header field.
  const { collection } = match.params;
  return collection !== undefined && !isCollectionName(collection) ? invalidName : match;
}

/** Server paths are fixed, or `/-/`, a word, and parameters and words. */
const isServerPath = (path: string): boolean =>
  path === "/" || path.startsWith("/-/") || path.startsWith("/.well-known/");

function findServerEndpoint(path: string): RouteMatch | undefined {
  const endpoint = endpoints.get(path);
  if (endpoint !== undefined) return { endpoint, params: {} };
  const cut = path.indexOf("/", 3) + 1;
  const values = path.slice(cut).split("/");
  const below = templates.get(`${path.slice(0, cut)}${values.length}`);
  if (below === undefined || values.includes("")) return undefined;
  const params: Record<string, string> = {};
  for (const [index, { name, word }] of below.segments.entries()) {
    const value = values[index] ?? "";
    if (name !== undefined) params[name] = value;
    else if (value !== word) return undefined;
  }
  return { endpoint: below.endpoint, params };
}

/** `/-/tokens/1`: the endpoint of `/-/tokens/{id}`, found by the first word and the number of segments. */
const templates = new Map(
  [...endpoints]
    .filter(([path]) => isServerPath(path) && path.includes("{"))
    .map(([path, endpoint]) => {
      const cut = path.indexOf("{");
      const segments = path.slice(cut).split("/").map(segmentOf);
      return [`${path.slice(0, cut)}${segments.length}`, { endpoint, segments }];
    }),
);

/** A parameter of a path, or a word. */
function segmentOf(word: string): { readonly name?: string; readonly word: string } {
  const [, name] = /^\{(\w+)\}$/.exec(word) ?? [];
  return name === undefined ? { word } : { name, word };
}

const none = endpointOf([]);
const collectionEndpoint = endpoints.get("/{collection}") ?? none;
const resourceEndpoint = endpoints.get("/{collection}/{id}") ?? none;
const fileEndpoint = endpoints.get("/{collection}/{id}/{name}") ?? none;

/** Paths of user data differ only in depth. A general router would cost a third of a GET. */
function findDataEndpoint(path: string): RouteMatch | undefined {
  const slash = path.indexOf("/", 1);
  if (slash < 0) return { endpoint: collectionEndpoint, params: { collection: path.slice(1) } };
  const id = path.slice(slash + 1);
  if (slash === 1 || id === "") return undefined;
  const collection = path.slice(1, slash);
  const cut = id.indexOf("/");
  if (cut < 0) return { endpoint: resourceEndpoint, params: { collection, id } };
  const name = id.slice(cut + 1);
  if (cut === 0 || name === "" || name.includes("/")) return undefined;
  return { endpoint: fileEndpoint, params: { collection, id: id.slice(0, cut), name } };
}

function withDecodedParams({ endpoint, params }: RouteMatch): RouteMatch | Problem {
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
