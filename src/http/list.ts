// A collection over HTTP: pages of it, with links to their neighbours.

import type { Collection } from "../model/collection.ts";
import { pageCount, type Window } from "../model/page.ts";
import { Problem } from "../model/problem.ts";
import { represent } from "../model/resource.ts";
import { type Soon, then } from "../model/soon.ts";
import type { Slice } from "../store/store.ts";
import type { Exchange } from "./exchange.ts";
import { listChanges } from "./feed.ts";
import { jsonTypes, refuseUnacceptable } from "./media.ts";
import { readListQuery } from "./query.ts";
import {
  answerByState,
  answerIfModified,
  ownCache,
  type Prepared,
  type State,
  stateOf,
} from "./representation.ts";

export function listResources(exchange: Exchange): Soon<Response | Problem> {
  const { request, house, query } = exchange;
  const window = readListQuery(query);
  if (window instanceof Problem) return window;
  if ("since" in window) return listChanges(exchange, window);
  const name = exchange.param("collection");
  return then(house.resources.collection(name), (collection) => {
    if (collection instanceof Problem) return collection;
    const refused = refuseUnacceptable(request.headers, jsonTypes);
    if (refused !== undefined) return refused;
    const known = hotPages.get(collection)?.get(query);
    if (known !== undefined) return answerIfModified(exchange, known);
    // The revision alone decides, so a 304 reads no rows.
    const state = listState(exchange, collection, window);
    const settled = answerByState(exchange, state);
    if (settled !== undefined) return settled;
    return then(house.resources.list(name, window), (slice) => {
      if (slice instanceof Problem) return slice;
      const page = {
        body: listBody(slice, window),
        ...listState(exchange, slice.collection, window),
      };
      keepHot(slice.collection, query, page);
      return answerIfModified(exchange, page);
    });
  });
}

/** Enough for the first pages of a screen that everybody looks at; a walk through all is not hot. */
const maxHotPages = 16;
const maxHotPageChars = 65_536;

/** The store hands out the same collection as long as nothing in it has changed: the pages go with it. */
const hotPages = new WeakMap<Collection, Map<string, Prepared>>();

function keepHot(collection: Collection, query: string, page: Prepared): void {
  if (page.body.length > maxHotPageChars) return;
  const pages = hotPages.get(collection) ?? new Map<string, Prepared>();
  if (pages.size < maxHotPages) pages.set(query, page);
  hotPages.set(collection, pages);
}

function listBody({ collection, resources }: Slice, { page, limit }: Window): string {
  const { total } = collection;
  const data = resources.map(represent).join(",");
  return `{"data":[${data}],"page":${page},"limit":${limit},"total":${total},"pages":${pageCount(total, limit)}}`;
}

function listState(exchange: Exchange, collection: Collection, window: Window): State {
  const state = stateOf(exchange, collection, ownCache);
  state.headers.set("link", links(exchange, collection.total, window));
  state.headers.set("x-total-count", `${collection.total}`);
  return state;
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
