// Every route, and who may pass it.

import { isCollectionName } from "../model/id.ts";
import { Problem } from "../model/problem.ts";
import type { Soon } from "../model/soon.ts";
import { listActions, runAction } from "./actions.ts";
import { runBatch } from "./batch.ts";
import { deleteCollection, getCollection, listCollections, putCollection } from "./collections.ts";
import { getFile } from "./download.ts";
import type { Exchange } from "./exchange.ts";
import type { Who } from "./guard.ts";
import { listResources, queryResources } from "./list/list.ts";
import {
  apiCatalog,
  createdPage,
  health,
  home,
  openapi,
  problemIndex,
  problemPage,
  ready,
} from "./pages.ts";
import {
  createResource,
  deleteResource,
  getResource,
  patchResource,
  putResource,
} from "./resources.ts";
import { decodeSegment } from "./target.ts";
import { createToken, getToken, listTokens, revokeToken } from "./tokens.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "QUERY";

export interface Door {
  readonly who: Who;
  readonly run: (exchange: Exchange) => Soon<Response | Problem>;
}

const door = (who: Who, run: Door["run"]): Door => ({ who, run });

export const routes: Readonly<Record<string, Partial<Record<Method, Door>>>> = {
  "/": { GET: door("anyone", home) },

  "/-/tokens": { GET: door("admin", listTokens), POST: door("admin", createToken) },
  "/-/tokens/:id": { GET: door("admin", getToken), DELETE: door("admin", revokeToken) },

  "/-/health": { GET: door("anyone", health) },
  "/-/ready": { GET: door("anyone", ready) },
  "/-/openapi.json": { GET: door("anyone", openapi) },
  "/-/problems": { GET: door("anyone", problemIndex) },
  "/-/problems/:kind": { GET: door("anyone", problemPage) },
  "/-/created": { GET: door("anyone", createdPage) },
  "/.well-known/api-catalog": { GET: door("anyone", apiCatalog) },

  "/:collection": {
    GET: door("read", listResources),
    POST: door("create", createResource),
    QUERY: door("read", queryResources),
  },
  "/:collection/:id": {
    GET: door("read", getResource),
    PUT: door("put", putResource),
    PATCH: door("update", patchResource),
    DELETE: door("delete", deleteResource),
  },
  "/:collection/:id/:part": { GET: door("read", getFile) },

  "/-/batch": { POST: door("token", runBatch) },
  "/-/actions": { GET: door("token", listActions) },
  "/-/actions/:name": { POST: door("action", runAction) },
  "/-/collections": { GET: door("admin", listCollections) },
  "/-/collections/:name": {
    GET: door("admin", getCollection),
    PUT: door("admin", putCollection),
    DELETE: door("admin", deleteCollection),
  },
};

export interface Place {
  readonly doors: Partial<Record<string, Door>>;
  /** The Allow field: what the doors take, and what every place answers. */
  readonly allow: string;
}

export interface Match {
  readonly place: Place;
  readonly params: Readonly<Record<string, string>>;
}

const places = new Map(Object.entries(routes).map(([path, doors]) => [path, placeOf(doors)]));

function placeOf(doors: Place["doors"]): Place {
  const methods = Object.keys(doors).flatMap((method) =>
    method === "GET" ? ["GET", "HEAD"] : [method],
  );
  // Without a prototype, so that a method called `constructor` finds nothing.
  const known = Object.assign(Object.create(null), doors);
  return { doors: known, allow: [...methods, "OPTIONS"].join(", ") };
}

/** The place at a path, with its parameters decoded. */
export function findPlace(path: string): Match | Problem {
  const found = isOurs(path) ? findOurs(path) : findUsers(path);
  if (found === undefined) return nowhere;
  const match = path.includes("%") ? decoded(found) : found;
  if (match instanceof Problem) return match;
  // What cannot be a name is no place, whoever asks; so a name can stand in a header field.
  const { collection } = match.params;
  return collection !== undefined && !isCollectionName(collection) ? noName : match;
}

/** Everything that is not user data: known words, with at most one parameter at the end. */
const isOurs = (path: string): boolean =>
  path === "/" || path.startsWith("/-/") || path.startsWith("/.well-known/");

function findOurs(path: string): Match | undefined {
  const place = places.get(path);
  if (place !== undefined) return { place, params: {} };
  const cut = path.lastIndexOf("/") + 1;
  const [pattern, name = ""] = parameters.get(path.slice(0, cut)) ?? [];
  const below = cut < path.length ? places.get(pattern ?? "") : undefined;
  return below && { place: below, params: { [name]: path.slice(cut) } };
}

/** `/-/tokens/` → the pattern `/-/tokens/:id` and the name `id`. */
const parameters = new Map(
  Object.keys(routes)
    .filter((path) => isOurs(path) && path.includes(":"))
    .map((path) => [path.slice(0, path.indexOf(":")), [path, path.slice(path.indexOf(":") + 1)]]),
);

const collectionPlace = placeOf(routes["/:collection"] ?? {});
const resourcePlace = placeOf(routes["/:collection/:id"] ?? {});
const filePlace = placeOf(routes["/:collection/:id/:part"] ?? {});

/** User data is known by its depth alone: a few cuts, where a general router costs a third of a GET. */
function findUsers(path: string): Match | undefined {
  const slash = path.indexOf("/", 1);
  if (slash < 0) return { place: collectionPlace, params: { collection: path.slice(1) } };
  const id = path.slice(slash + 1);
  if (slash === 1 || id === "") return undefined;
  const collection = path.slice(1, slash);
  const cut = id.indexOf("/");
  if (cut < 0) return { place: resourcePlace, params: { collection, id } };
  const part = id.slice(cut + 1);
  if (cut === 0 || part === "" || part.includes("/")) return undefined;
  return { place: filePlace, params: { collection, id: id.slice(0, cut), part } };
}

function decoded({ place, params }: Match): Match | Problem {
  const plain: Record<string, string> = {};
  for (const name in params) {
    const value = decodeSegment(params[name] ?? "");
    if (value instanceof Problem) return value;
    plain[name] = value;
  }
  return { place, params: plain };
}

const nowhere = new Problem("not-found", "There is nothing at this address.");
const noName = new Problem(
  "not-found",
  "There is nothing at this address. A collection's name is 1 to 63 of a-z, 0-9, _ and -, and starts with a letter or digit.",
);
