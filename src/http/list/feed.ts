// What changed since a revision: for clients that keep a copy of a collection.

import { rulesOf, type Target } from "../../domain/lists.ts";
import type { Collection, Rules } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { type Soon, then } from "../../model/soon.ts";
import { viewOf } from "../../model/view.ts";
import type { Feed, Removal } from "../../store/store.ts";
import { jsonTypes, refuseUnacceptable } from "../body/media.ts";
import type { Exchange } from "../exchange.ts";
import { answerByState, answerIfModified, homeOf, stateOf } from "../representation.ts";
import type { FeedQuery } from "./list-query.ts";

export function listChanges(
  exchange: Exchange,
  { collection, rules }: Target,
  query: FeedQuery,
): Soon<Response | Problem> {
  const { request, house, caller } = exchange;
  const refused = refuseAhead(collection, query) ?? refuseUnacceptable(request.headers, jsonTypes);
  if (refused !== undefined) return refused;
  const settled = answerByState(exchange, stateOf(exchange, collection, rules));
  if (settled !== undefined) return settled;
  const { since, limit } = query;
  return then(house.resources.since(caller, collection.name, since, limit), (feed) => {
    if (feed instanceof Problem) return feed;
    const shown = rulesOf(feed.collection, rules);
    const { headers, etag, updatedAt } = stateOf(exchange, feed.collection, shown);
    const next = nextOf(feed, query);
    if (next < feed.collection.revision) {
      const address = `${house.base}${exchange.path}?since=${next}&limit=${limit}`;
      headers.set("link", `<${address}>; rel="next"`);
    }
    const body = feedBody(feed, query, shown, homeOf(exchange));
    return answerIfModified(exchange, { body, headers, etag, updatedAt });
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

function feedBody(feed: Feed, query: FeedQuery, rules: Rules, home: string): string {
  const next = nextOf(feed, query);
  const isMore = next < feed.collection.revision;
  const changes = feed.entries.map((entry) => entryBody(entry, rules, home)).join(",");
  return `{"changes":[${changes}],"since":${query.since},"next":${next},"more":${isMore}}`;
}

function entryBody(entry: Resource | Removal, rules: Rules, home: string): string {
  if (!("kind" in entry)) {
    return `{"revision":${entry.revision},"resource":${viewOf(rules, entry, home)}}`;
  }
  const removedAt = new Date(entry.removedAt).toISOString();
  return `{"revision":${entry.revision},"removed":"${entry.id}","removedAt":"${removedAt}"}`;
}
