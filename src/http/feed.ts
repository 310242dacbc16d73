// What changed since a revision: for clients that keep a copy of a collection.

import type { Collection } from "../model/collection.ts";
import { Problem } from "../model/problem.ts";
import { type Resource, represent } from "../model/resource.ts";
import { type Soon, then } from "../model/soon.ts";
import type { Feed, Removal } from "../store/store.ts";
import type { Exchange } from "./exchange.ts";
import { jsonTypes, refuseUnacceptable } from "./media.ts";
import type { FeedQuery } from "./query.ts";
import { answerByState, answerIfModified, ownCache, stateOf } from "./representation.ts";

export function listChanges(exchange: Exchange, query: FeedQuery): Soon<Response | Problem> {
  const { request, house } = exchange;
  const name = exchange.param("collection");
  return then(house.resources.collection(name), (collection) => {
    if (collection instanceof Problem) return collection;
    const refused =
      refuseAhead(collection, query) ?? refuseUnacceptable(request.headers, jsonTypes);
    if (refused !== undefined) return refused;
    const state = stateOf(exchange, collection, ownCache);
    const settled = answerByState(exchange, state);
    if (settled !== undefined) return settled;
    return then(house.resources.since(name, query.since, query.limit), (feed) => {
      if (feed instanceof Problem) return feed;
      const { headers, etag, updatedAt } = stateOf(exchange, feed.collection, ownCache);
      const next = nextOf(feed, query);
      if (next < feed.collection.revision) {
        const address = `${house.base}${exchange.path}?since=${next}&limit=${query.limit}`;
        headers.set("link", `<${address}>; rel="next"`);
      }
      return answerIfModified(exchange, { body: feedBody(feed, query), headers, etag, updatedAt });
    });
  });
}

/** After a restored backup a copy may know more than we do: then only a fresh one is right. */
function refuseAhead({ revision }: Collection, { since }: FeedQuery): Problem | undefined {
  if (since <= revision) return undefined;
  const detail = `the collection is at revision ${revision}; make a new copy, from since=0`;
  return new Problem("invalid-parameter", "The copy is ahead of the collection.", {
    errors: [{ parameter: "since", detail }],
  });
}

/** A full answer may not be the end; a shorter one has all there was at that moment. */
function nextOf({ collection, entries }: Feed, { limit }: FeedQuery): number {
  return entries.length < limit ? collection.revision : (entries.at(-1)?.revision ?? 0);
}

function feedBody(feed: Feed, query: FeedQuery): string {
  const next = nextOf(feed, query);
  const isMore = next < feed.collection.revision;
  const changes = feed.entries.map(entryBody).join(",");
  return `{"changes":[${changes}],"since":${query.since},"next":${next},"more":${isMore}}`;
}

function entryBody(entry: Resource | Removal): string {
  if (!("kind" in entry)) return `{"revision":${entry.revision},"resource":${represent(entry)}}`;
  const removedAt = new Date(entry.removedAt).toISOString();
  return `{"revision":${entry.revision},"removed":"${entry.id}","removedAt":"${removedAt}"}`;
}
