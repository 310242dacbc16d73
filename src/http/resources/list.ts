// A collection over HTTP: what is asked of it by URL or by QUERY, page by page or from cursor to cursor.

import {
  type ListResult,
  type ListTarget,
  type PlannedList,
  predictResult,
} from "../../domain/lists.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import type { Collection } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import { pageCount } from "../../model/query/page.ts";
import { readBody, readText, refuseBody } from "../body/content.ts";
import type { RequestContext } from "../context.ts";
import { chooseType, refuseUntyped, takenByQuery } from "../headers/media-type.ts";
import { pairs, refuseParameters } from "../search-params.ts";
import {
  type ExportType,
  exportHead,
  exportPage,
  exportPageBytes,
  exportRequest,
  type ListType,
  listTypes,
  streamExport,
} from "./export.ts";
import { listChanges } from "./feed.ts";
import { showing } from "./fields-param.ts";
import { readListQuery } from "./list-params.ts";
import { readQueryBody } from "./query-body.ts";
import {
  answerConditionally,
  answerEncoded,
  answerPage,
  collectionUrl,
  noCache,
  type RenderedPage,
  type ResponseHead,
  responseHeadOf,
  setCaching,
  shownResponseHead,
} from "./representation.ts";

export function listResources(context: RequestContext): MaybePromise<Response | Problem> {
  const { request, services, query, caller } = context;
  return then(services.lists.target(caller, context.param("collection")), (target) => {
    if (target instanceof Problem) return target;
    const type = chooseType(request.headers, listTypes);
    const known = type === "application/json" ? cachedPage(target, query) : undefined;
    if (known !== undefined) return answerPage(context, known);
    const listRequest = readListQuery(query);
    if (listRequest instanceof Problem) return listRequest;
    if ("since" in listRequest) return listChanges(context, target, listRequest);
    const isWhole = type !== "application/json" && !isWindowed(query);
    const listing = services.lists.plan(target, isWhole ? exportRequest(listRequest) : listRequest);
    if (listing instanceof Problem) return listing;
    if (type instanceof Problem) return type;
    const settled = seesAll(target) ? answerByRevision(context, listing, type, isWhole) : undefined;
    if (settled !== undefined) return settled;
    const maxBytes = isWhole ? exportPageBytes : undefined;
    return then(services.lists.read(listing, maxBytes), (listed) => {
      if (listed instanceof Problem) return listed;
      if (isWhole) return answerExport(context, listed, type as ExportType);
      const isJson = type === "application/json";
      const body = isJson
        ? listBody(listed, collectionUrl(context))
        : exportPage(context, listed, type);
      const page = { body, ...listHead(context, listed.target, type, listed, body) };
      if (isJson) cachePage(listed.target, query, page);
      return answerPage(context, page);
    });
  });
}

/** Whether the caller sees all of the collection, so that its revision tells whether a list is the same. */
const seesAll = ({ owner }: ListTarget): boolean => owner === undefined;

/** What the revision alone decides: a 304 reads no rows. */
function answerByRevision(
  context: RequestContext,
  listing: PlannedList,
  type: ListType,
  isWhole: boolean,
): Response | Problem | undefined {
  const predicted = isWhole ? undefined : predictResult(listing);
  const state = listHead(context, listing.target, type, predicted);
  return answerConditionally(context, state, isWhole ? Number.POSITIVE_INFINITY : 0);
}

/** All of a list. Who sees a part gets a tag where all that is shown is at hand, and none otherwise. */
function answerExport(
  context: RequestContext,
  listed: ListResult,
  type: ExportType,
): MaybePromise<Response | Problem> {
  const isAtHand = !seesAll(listed.target) && listed.next === undefined;
  const body = isAtHand ? exportPage(context, listed, type) : undefined;
  const state = listHead(context, listed.target, type, undefined, body);
  if (body !== undefined) return answerPage(context, { body, ...state });
  return answerConditionally(context, state) ?? streamExport(context, listed, state, type);
}

/**
 * The same question in a body (RFC 10008), for what is too long for a URL or must not be logged in
 * one. No cache keeps the answer: it would have to be kept by the body, and a tag would be that of one
 * question only.
 */
export async function queryResources(context: RequestContext): Promise<Response | Problem> {
  const { services, caller } = context;
  const target =
    refuseParameters(context) ?? (await services.lists.target(caller, context.param("collection")));
  if (target instanceof Problem) return target;
  const refused = refuseUntyped(context.request.headers) ?? refuseBody(context, takenByQuery);
  if (refused !== undefined) return refused;
  const text = readText(await readBody(context));
  if (text instanceof Problem) return text;
  const listRequest = readQueryBody(text);
  if (listRequest instanceof Problem) return listRequest;
  const listing = services.lists.plan(target, listRequest);
  if (listing instanceof Problem) return listing;

  const listed = await services.lists.read(listing);
  if (listed instanceof Problem) return listed;

  const headers = new Headers(services.jsonHeaders);
  setCaching(headers, listed.target.rules);
  headers.set("cache-control", noCache);
  if (listed.total !== undefined) headers.set("x-total-count", `${listed.total}`);
  const body = listBody(listed, collectionUrl(context));
  return answerEncoded(context, {
    body,
    headers,
    etag: "",
    updatedAt: undefined,
    isDateExact: false,
  });
}

/** Enough for the first pages of a screen that everybody looks at; a walk through all is not hot. */
const maxHotPages = 16;
const maxHotPageChars = 65_536;
/** Of the pages of all collections that are kept. */
const maxHotChars = 16 * 1024 * 1024;

type HotPages = WeakMap<Collection, Map<string, RenderedPage>>;

/** The store hands out the same collection as long as nothing in it has changed: the pages go with it. */
let cachedPages: HotPages = new WeakMap();
let hotChars = 0;

/** A URL has no line break, so nobody's page is another's. */
const hotKey = ({ owner }: ListTarget, query: string): string =>
  owner === undefined ? query : `${owner}\n${query}`;

const cachedPage = (target: ListTarget, query: string): RenderedPage | undefined =>
  cachedPages.get(target.collection)?.get(hotKey(target, query));

/** Pages that went with their collections still count, until all are dropped and learnt anew. */
function cachePage(target: ListTarget, query: string, page: RenderedPage): void {
  if (page.body.length > maxHotPageChars) return;
  hotChars += page.body.length;
  if (hotChars > maxHotChars) {
    cachedPages = new WeakMap();
    hotChars = page.body.length;
  }
  const pages = cachedPages.get(target.collection) ?? new Map<string, RenderedPage>();
  if (pages.size < maxHotPages) pages.set(hotKey(target, query), page);
  cachedPages.set(target.collection, pages);
}

export function listBody(listed: ListResult, home: string): string {
  const { target, listRequest, resources, total, hasMore: isMore, next } = listed;
  const { page, limit, fields, cursor } = listRequest;
  const show = showing(fields.map(({ field }) => field));
  const items = resources.map((resource) => show(target.rules, resource, home));
  const data = `{"data":[${items.join(",")}]`;
  const counted = total === undefined ? "" : `,"total":${total}`;
  if (cursor !== undefined) {
    return `${data},"limit":${limit}${counted},"next":${next === undefined ? null : `"${next}"`}}`;
  }
  const ending =
    total === undefined ? `,"more":${isMore}` : `${counted},"pages":${pageCount(total, limit)}`;
  return `${data},"page":${page},"limit":${limit}${ending}}`;
}

/** What is not known before the rows are read is left out. */
function listHead(
  context: RequestContext,
  target: ListTarget,
  type: ListType,
  listed?: ListResult,
  body?: string,
): ResponseHead {
  const { collection, rules } = target;
  const asJson = seesAll(target)
    ? responseHeadOf(context, collection, rules)
    : shownResponseHead(context, rules, body);
  const state = type === "application/json" ? asJson : exportHead(asJson, type, collection.name);
  if (listed === undefined) return state;
  state.headers.set("link", links(context, listed));
  if (listed.total !== undefined) state.headers.set("x-total-count", `${listed.total}`);
  return state;
}

const windowNames = ["page", "limit", "cursor"];

/** Whether a part of the list is asked for. */
const isWindowed = (query: string): boolean =>
  pairs(query).some(([name]) => windowNames.includes(name));

/** RFC 8288; every other parameter stays as it was asked. */
function links(context: RequestContext, listed: ListResult): string {
  const { limit, cursor } = listed.listRequest;
  const kept = pairs(context.query).filter(([name]) => !windowNames.includes(name));
  const others = kept.map(([name, value]) => `&${encoded(name)}=${encoded(value)}`).join("");
  const address = `${context.services.base}${context.path}`;
  const targets = cursor === undefined ? pagesAround(listed) : cursorsAround(listed);
  return targets
    .map(([rel, place]) => `<${address}?${place}&limit=${limit}${others}>; rel="${rel}"`)
    .join(", ");
}

/** Half of a surrogate pair cannot be here: what is decoded from a URL is well-formed. */
const encoded = encodeURIComponent;

type Relation = readonly [name: string, place: string];

function pagesAround({ listRequest, total, hasMore: isMore }: ListResult): readonly Relation[] {
  const { page, limit } = listRequest;
  const last = total === undefined ? undefined : Math.max(1, pageCount(total, limit));
  const found: Relation[] = [["first", "page=1"]];
  if (page > 1) found.push(["prev", `page=${Math.min(page - 1, last ?? page)}`]);
  if (isMore) found.push(["next", `page=${page + 1}`]);
  if (last !== undefined) found.push(["last", `page=${last}`]);
  return found;
}

const cursorsAround = ({ next }: ListResult): readonly Relation[] => [
  ["first", "cursor="],
  ...(next === undefined ? [] : [["next", `cursor=${next}`] as const]),
];
