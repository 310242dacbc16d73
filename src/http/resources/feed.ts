// Lists the changes of a collection after a position (?since=).

import { type ListTarget, rulesOf } from "../../domain/lists.ts";
import { feedForbidden } from "../../domain/problems.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import type { Feed, Removal } from "../../model/feed.ts";
import { type FeedPosition, writeFeedPosition } from "../../model/feed-position.ts";
import { Problem } from "../../model/problem.ts";
import type { Renderer } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import { checkAccept, jsonTypes } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { conditionalResponse, sendPage } from "../response/representation.ts";
import { responseHeadOf } from "../response/response.ts";
import { checkedRendererFactory } from "./fields-param.ts";
import type { FeedQuery } from "./list-request.ts";

export function listChanges(
  context: RequestContext,
  { access, collection, rules, owner }: ListTarget,
  query: FeedQuery,
): MaybePromise<Response | Problem> {
  const { request, services } = context;
  const rejected =
    (owner === undefined ? undefined : feedForbidden) ?? checkAccept(request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const rendererFor = checkedRendererFactory(query.fields, access.principal, rules);
  if (rendererFor instanceof Problem) return rendererFor;
  const conditional = conditionalResponse(context, responseHeadOf(context, collection, rules));
  if (conditional !== undefined) return conditional;
  const { since, limit } = query;
  return then(services.lists.since(access, since, limit), (feed) => {
    if (feed instanceof Problem) return feed;
    const shown = rulesOf(feed.collection, rules);
    const state = responseHeadOf(context, feed.collection, shown);
    const next = nextOf(feed, query);
    const isMore = next.revision < feed.collection.revision;
    if (isMore) {
      const fields = query.fields.map(({ field }) => encodeURIComponent(field)).join(",");
      const others = `&limit=${limit}${fields === "" ? "" : `&fields=${fields}`}`;
      const address = `${services.base}${context.path}?since=${writeFeedPosition(next)}${others}`;
      state.headers.set("Link", `<${address}>; rel="next"`);
    }
    const render = rendererFor(shown);
    const changes = feed.entries.map((entry) => entryBody(entry, context.collectionUrl, render));
    const positions = `"since":"${textOf(since)}","next":"${textOf(next)}","more":${isMore}`;
    const body = `{"changes":[${changes.join(",")}],${positions}}`;
    return sendPage(context, { body, ...state });
  });
}

const textOf = (position: FeedPosition | 0): string =>
  position === 0 ? "0" : writeFeedPosition(position);

/** A full or shortened page ends at its last entry; a shorter page ends at the current revision. */
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

function entryBody(entry: Resource | Removal, home: string, render: Renderer): string {
  if (!("kind" in entry)) {
    return `{"revision":${entry.revision},"resource":${render(entry, home)}}`;
  }
  const removedAt = new Date(entry.removedAt).toISOString();
  return `{"revision":${entry.revision},"removed":"${entry.id}","removedAt":"${removedAt}"}`;
}
