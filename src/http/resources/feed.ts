// Lists the changes of a collection after a position (?since=).

import type { FeedPage, FeedRequest } from "../../domain/feeds.ts";
import { type ListTarget, rulesOf } from "../../domain/lists.ts";
import { masksOf } from "../../domain/mask.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import type { Reply } from "../../lib/reply.ts";
import type { Removal } from "../../model/feed.ts";
import { Problem } from "../../model/problem.ts";
import type { Renderer } from "../../model/render.ts";
import type { Resource } from "../../model/resource.ts";
import { checkAccept, jsonTypes } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { conditionalReply, sendPage } from "../response/representation.ts";
import { collectionHead, contentHead } from "../response/response.ts";
import { checkedRendererFactory } from "./fields-param.ts";

export function listChanges(
  context: RequestContext,
  target: ListTarget,
  feedRequest: FeedRequest,
): MaybePromise<Reply | Problem> {
  const { request, services } = context;
  const { access, collection } = target;
  const rejected = checkAccept(request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const { fields } = feedRequest.listRequest;
  const rendererFor = checkedRendererFactory(fields, access.principal, access);
  if (rendererFor instanceof Problem) return rendererFor;
  const conditional =
    access.view("read").isWhole &&
    conditionalReply(context, collectionHead(context, collection, access));
  if (conditional) return conditional;
  const { signal } = context.readOptions;
  return then(services.feeds.since(target, { ...feedRequest, signal }), (page) => {
    if (page instanceof Problem) return page;
    const rules = rulesOf(page.collection, target.rules);
    const { whole, forAdmin } = masksOf(rules, undefined, access.principal);
    const shown = access.isAdmin ? forAdmin : whole;
    const state = page.isWhole
      ? collectionHead(context, page.collection, shown)
      : contentHead(context, [shown], undefined);
    if (page.isMore) state.fields.set("Link", `<${nextAddress(context, page)}>; rel="next"`);
    const { maskOf = () => whole } = page;
    const render: Renderer = (resource, url) => rendererFor(maskOf(resource))(resource, url);
    const changes = page.entries.map((entry) => entryBody(entry, context, page, render));
    const since = JSON.stringify(parameterOf(context, "since"));
    const positions = `"since":${since},"next":"${page.next}","more":${page.isMore}`;
    return sendPage(context, { ...state, body: `{"changes":[${changes.join(",")}],${positions}}` });
  });
}

const parameterOf = ({ searchParams }: RequestContext, wanted: string): string =>
  searchParams.find(([name]) => name === wanted)?.[1] ?? "";

/** Returns the address of the next page, with all other parameters unchanged. */
function nextAddress({ services, path, searchParams }: RequestContext, { next }: FeedPage): string {
  const others = searchParams
    .filter(([name]) => name !== "since")
    .map(([name, value]) => `&${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return `${services.base}${path}?since=${next}${others.join("")}`;
}

function entryBody(
  entry: Resource | Removal,
  { collectionUrl }: RequestContext,
  { isWhole }: FeedPage,
  render: Renderer,
): string {
  const revision = isWhole ? `"revision":${entry.revision},` : "";
  if (!("kind" in entry)) return `{${revision}"resource":${render(entry, collectionUrl)}}`;
  const removedAt = new Date(entry.removedAt).toISOString();
  return `{${revision}"removed":"${entry.id}","removedAt":"${removedAt}"}`;
}
