// Every route, and who may pass it.

import { TrieRouter } from "hono/router/trie-router";
import { isCollectionName } from "../model/id.ts";
import { Problem } from "../model/problem.ts";
import type { Soon } from "../model/soon.ts";
import type { Exchange } from "./exchange.ts";
import type { Who } from "./guard.ts";
import { apiCatalog, health, home, openapi, problemIndex, problemPage, ready } from "./pages.ts";
import { createResource, getResource, listResources } from "./resources.ts";
import { decodeSegment } from "./target.ts";
import { createToken, getToken, listTokens, revokeToken } from "./tokens.ts";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

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
  "/.well-known/api-catalog": { GET: door("anyone", apiCatalog) },

  // Last, because the first route that fits is taken.
  "/:collection": { GET: door("read", listResources), POST: door("create", createResource) },
  "/:collection/:id": { GET: door("read", getResource) },
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

/** Hono's router alone: a match costs half a microsecond, Hono's context around it five (docs/decisions). */
const router = new TrieRouter<Place>();
for (const [path, doors] of Object.entries(routes)) {
  const methods = Object.keys(doors).flatMap((method) =>
    method === "GET" ? ["GET", "HEAD"] : [method],
  );
  router.add("ALL", path, {
    // Without a prototype, so that a method called `constructor` finds nothing.
    doors: Object.assign(Object.create(null), doors),
    allow: [...methods, "OPTIONS"].join(", "),
  });
}

/** The place at a path, with its parameters decoded. */
export function findPlace(path: string): Match | Problem {
  const [[match] = []] = router.match("ALL", path);
  if (match === undefined) return nowhere;
  const [place, sent] = match as [Place, Record<string, string>];
  const params = path.includes("%") ? decode(sent) : sent;
  if (params instanceof Problem) return params;
  // What cannot be a name is no place, whoever asks; so a name can stand in a header field.
  if (params.collection !== undefined && !isCollectionName(params.collection)) return noName;
  return { place, params };
}

function decode(params: Match["params"]): Match["params"] | Problem {
  const decoded: Record<string, string> = {};
  for (const name in params) {
    const value = decodeSegment(params[name] ?? "");
    if (value instanceof Problem) return value;
    decoded[name] = value;
  }
  return decoded;
}

const nowhere = new Problem("not-found", "There is nothing at this address.");
const noName = new Problem(
  "not-found",
  "There is nothing at this address. A collection's name is 1 to 63 of a-z, 0-9, _ and -, and starts with a letter or digit.",
);
