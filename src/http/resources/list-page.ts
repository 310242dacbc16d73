// Makes the body and the header fields of a page of a list.

import type { ListResult } from "../../domain/lists.ts";
import type { Reply, ReplyFields } from "../../lib/reply.ts";
import { pageCount } from "../../model/query/list-request.ts";
import { withText } from "../../model/render.ts";
import { expandedMember } from "../../model/resource.ts";
import type { RequestContext } from "../request/context.ts";
import { type PageLink, pageLinks } from "../request/page-parameters.ts";
import type { SearchParams } from "../request/request-target.ts";
import { exportHead } from "./export.ts";
import { rendererFactory } from "./fields-param.ts";
import type { ListType } from "./list-writer.ts";
import type { TimedPage } from "./read-list.ts";

/** `expanded` has a text for each resource. */
export function listBody(listed: ListResult, home: string, expanded?: readonly string[]): string {
  const { listRequest, resources, maskOf, total, totalAtLeast, hasMore: isMore, next } = listed;
  const { page, limit, fields, cursor } = listRequest;
  const rendererFor = rendererFactory(fields.map(({ field }) => field));
  const shown = resources.map((resource, index) => {
    const view = rendererFor(maskOf(resource))(resource, home);
    return expanded === undefined ? view : withText(view, expandedMember, expanded[index] ?? "{}");
  });
  const items = listed.groups?.texts ?? shown;
  const data = `{"data":[${items.join(",")}]`;
  const isUnknown = total === undefined && totalAtLeast !== undefined;
  const atLeast = isUnknown ? `,"total":null,"totalAtLeast":${totalAtLeast}` : "";
  const counted = total === undefined ? atLeast : `,"total":${total}`;
  if (cursor !== undefined) {
    return `${data},"limit":${limit}${counted},"next":${next === undefined ? null : `"${next}"`}}`;
  }
  const pages = total === undefined ? null : pageCount(total, limit);
  const ending = counted === "" ? `,"more":${isMore}` : `${counted},"pages":${pages}`;
  return `${data},"page":${page},"limit":${limit}${ending}}`;
}

/** Completes the head of a list; without `listed`, as far as it is known before the rows are read. */
export function listHead(
  context: RequestContext,
  asJson: Reply,
  type: ListType,
  name: string,
  listed?: TimedPage,
): Reply {
  const state = type === "application/json" ? asJson : exportHead(asJson, type, name);
  if (listed === undefined) return state;
  setServerTiming(state.fields, listed);
  const link = links(context, listed);
  if (link !== undefined) state.fields.set("Link", link);
  if (listed.total !== undefined) state.fields.set("X-Total-Count", `${listed.total}`);
  return state;
}

export function setServerTiming(fields: ReplyFields, { serverTiming }: TimedPage): void {
  if (serverTiming !== undefined) fields.set("Server-Timing", serverTiming);
}

const pagingNames = ["page", "limit", "cursor"];

/** Whether the client asks for a page instead of the whole list. */
export const hasPaging = (searchParams: SearchParams): boolean =>
  searchParams.some(([name]) => pagingNames.includes(name));

/** Clients and proxies limit the header of a response: nginx to 4 or 8 KiB, Node's `fetch` to 16 KiB. */
const maxLinkChars = 4_096;

/** Returns the Link header (RFC 8288) with all other parameters unchanged; only `next` where all are too long. */
function links(context: RequestContext, listed: TimedPage): string | undefined {
  const { page, limit, cursor } = listed.listRequest;
  const { total, hasMore } = listed;
  const others = context.searchParams.filter(([name]) => !pagingNames.includes(name));
  const otherParams = others.map(([name, value]) => `&${encoded(name)}=${encoded(value)}`).join("");
  const address = `${context.services.base}${context.path}`;
  const targets =
    cursor === undefined ? pageLinks({ page, limit, total, hasMore }) : cursorLinks(listed);
  const parts = targets.map(
    ([rel, place]) => `<${address}?${place}&limit=${limit}${otherParams}>; rel="${rel}"`,
  );
  const all = parts.join(", ");
  // A client that follows `next` must not take its absence for the end.
  return all.length <= maxLinkChars ? all : parts[targets.findIndex(([rel]) => rel === "next")];
}

/** Text decoded from a URL is well-formed, so this cannot throw. */
const encoded = encodeURIComponent;

const cursorLinks = ({ next }: TimedPage): readonly PageLink[] => [
  ["first", "cursor="],
  ...(next === undefined ? [] : [["next", `cursor=${next}`] as const]),
];
