// What changed since a position: for clients that keep a copy of a collection.

import { rulesOf, type Target } from "../../domain/lists.ts";
import { othersHidden } from "../../domain/refusals.ts";
import type { Rules } from "../../model/collection.ts";
import { type FeedPosition, writeFeedPosition } from "../../model/feed-position.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { type Soon, then } from "../../model/soon.ts";
import type { Feed, Removal } from "../../store/store.ts";
import { jsonTypes, refuseUnacceptable } from "../body/media.ts";
import type { Exchange } from "../exchange.ts";
import { answerByState, answerIfModified, homeOf, stateOf } from "../representation.ts";
import { type Show, showingBy } from "../shown-fields.ts";
import type { FeedQuery } from "./list-query.ts";

export function listChanges(
  exchange: Exchange,
  { collection, rules, owner }: Target,
  query: FeedQuery,
): Soon<Response | Problem> {
  const { request, house, caller } = exchange;
  const refused =
    (owner === undefined ? undefined : othersHidden) ??
    refuseUnacceptable(request.headers, jsonTypes);
  if (refused !== undefined) return refused;
  const show = showingBy(query.fields, rules);
  if (show instanceof Problem) return show;
  const settled = answerByState(exchange, stateOf(exchange, collection, rules));
  if (settled !== undefined) return settled;
  const { since, limit } = query;
  return then(house.lists.since(caller, collection.name, since, limit), (feed) => {
    if (feed instanceof Problem) return feed;
    const shown = rulesOf(feed.collection, rules);
    const state = stateOf(exchange, feed.collection, shown);
    const next = nextOf(feed, query);
    const isMore = next.revision < feed.collection.revision;
    if (isMore) {
      const fields = query.fields.map(({ field }) => encodeURIComponent(field)).join(",");
      const others = `&limit=${limit}${fields === "" ? "" : `&fields=${fields}`}`;
      const address = `${house.base}${exchange.path}?since=${writeFeedPosition(next)}${others}`;
      state.headers.set("link", `<${address}>; rel="next"`);
    }
    const changes = feed.entries.map((entry) => entryBody(entry, shown, homeOf(exchange), show));
    const place = `"since":"${textOf(since)}","next":"${textOf(next)}","more":${isMore}`;
    const body = `{"changes":[${changes.join(",")}],${place}}`;
    return answerIfModified(exchange, { body, ...state });
  });
}

const textOf = (position: FeedPosition | 0): string =>
  position === 0 ? "0" : writeFeedPosition(position);

/** A full answer, or one that was cut, may not be the end; a shorter one has all there was at that moment. */
function nextOf(
  { collection, epoch, entries, isCut = false }: Feed,
  { since, limit }: FeedQuery,
): FeedPosition {
  const last = entries.at(-1);
  const revision =
    last && (isCut || entries.length === limit) ? last.revision : collection.revision;
  if (last?.revision === revision) return { epoch, revision, time: timeOf(last) };
  const isSame = since !== 0 && since.revision === revision;
  return isSame ? { ...since, epoch } : { epoch, revision, time: 0 };
}

const timeOf = (entry: Resource | Removal): number =>
  "kind" in entry ? entry.removedAt : entry.updatedAt;

function entryBody(entry: Resource | Removal, rules: Rules, home: string, show: Show): string {
  if (!("kind" in entry)) {
    return `{"revision":${entry.revision},"resource":${show(rules, entry, home)}}`;
  }
  const removedAt = new Date(entry.removedAt).toISOString();
  return `{"revision":${entry.revision},"removed":"${entry.id}","removedAt":"${removedAt}"}`;
}
