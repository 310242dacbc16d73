// A collection over HTTP: what is asked of it by URL or by QUERY, page by page or from cursor to cursor.

import { foreseen, type Listed, type Listing, type Target } from "../../domain/lists.ts";
import type { Collection } from "../../model/collection.ts";
import { pageCount } from "../../model/list/page.ts";
import { Problem } from "../../model/problem.ts";
import { type Soon, then } from "../../model/soon.ts";
import { readBody, readText, refuseBody } from "../body/body.ts";
import { chooseType, refuseUntyped, takenByQuery } from "../body/media.ts";
import type { Exchange } from "../exchange.ts";
import { pairs, refuseParameters } from "../query.ts";
import {
  answerByState,
  answerCoded,
  answerIfModified,
  homeOf,
  noCache,
  type Prepared,
  type State,
  setCaching,
  shownState,
  stateOf,
} from "../representation.ts";
import { showing } from "../shown-fields.ts";
import {
  answerWhole,
  type ExportType,
  exportPage,
  exportPageBytes,
  exportState,
  type ListType,
  listTypes,
  wholeQuestion,
} from "./export.ts";
import { listChanges } from "./feed.ts";
import { readListQuery } from "./list-query.ts";
import { readQuestion } from "./query-body.ts";

export function listResources(exchange: Exchange): Soon<Response | Problem> {
  const { request, house, query, caller } = exchange;
  return then(house.lists.target(caller, exchange.param("collection")), (target) => {
    if (target instanceof Problem) return target;
    const type = chooseType(request.headers, listTypes);
    const known = type === "application/json" ? hotPage(target, query) : undefined;
    if (known !== undefined) return answerIfModified(exchange, known);
    const question = readListQuery(query);
    if (question instanceof Problem) return question;
    if ("since" in question) return listChanges(exchange, target, question);
    const isWhole = type !== "application/json" && !isWindowed(query);
    const listing = house.lists.plan(target, isWhole ? wholeQuestion(question) : question);
    if (listing instanceof Problem) return listing;
    if (type instanceof Problem) return type;
    const settled = isWholeSeen(target)
      ? answerByRevision(exchange, listing, type, isWhole)
      : undefined;
    if (settled !== undefined) return settled;
    const maxBytes = isWhole ? exportPageBytes : undefined;
    return then(house.lists.read(listing, maxBytes), (listed) => {
      if (listed instanceof Problem) return listed;
      if (isWhole) return answerExport(exchange, listed, type as ExportType);
      const isJson = type === "application/json";
      const body = isJson ? listBody(listed, homeOf(exchange)) : exportPage(exchange, listed, type);
      const page = { body, ...listState(exchange, listed.target, type, listed, body) };
      if (isJson) keepHot(listed.target, query, page);
      return answerIfModified(exchange, page);
    });
  });
}

/** Whether the caller sees all of the collection, so that its revision tells whether a list is the same. */
const isWholeSeen = ({ owner }: Target): boolean => owner === undefined;

/** What the revision alone decides: a 304 reads no rows. */
function answerByRevision(
  exchange: Exchange,
  listing: Listing,
  type: ListType,
  isWhole: boolean,
): Response | Problem | undefined {
  const foretold = isWhole ? undefined : foreseen(listing);
  const state = listState(exchange, listing.target, type, foretold);
  return answerByState(exchange, state, isWhole ? Number.POSITIVE_INFINITY : 0);
}

/** All of a list. Who sees a part gets a tag where all that is shown is at hand, and none otherwise. */
function answerExport(
  exchange: Exchange,
  listed: Listed,
  type: ExportType,
): Soon<Response | Problem> {
  const isAtHand = !isWholeSeen(listed.target) && listed.next === undefined;
  const body = isAtHand ? exportPage(exchange, listed, type) : undefined;
  const state = listState(exchange, listed.target, type, undefined, body);
  if (body !== undefined) return answerIfModified(exchange, { body, ...state });
  return answerByState(exchange, state) ?? answerWhole(exchange, listed, state, type);
}

/**
 * The same question in a body (RFC 10008), for what is too long for a URL or must not be logged in
 * one. No cache keeps the answer: it would have to be kept by the body, and a tag would be that of one
 * question only.
 */
export async function queryResources(exchange: Exchange): Promise<Response | Problem> {
  const { house, caller } = exchange;
  const target =
    refuseParameters(exchange) ?? (await house.lists.target(caller, exchange.param("collection")));
  if (target instanceof Problem) return target;
  const refused = refuseUntyped(exchange.request.headers) ?? refuseBody(exchange, takenByQuery);
  if (refused !== undefined) return refused;
  const text = readText(await readBody(exchange));
  if (text instanceof Problem) return text;
  const question = readQuestion(text);
  if (question instanceof Problem) return question;
  const listing = house.lists.plan(target, question);
  if (listing instanceof Problem) return listing;

  const listed = await house.lists.read(listing);
  if (listed instanceof Problem) return listed;

  const headers = new Headers(house.jsonHeaders);
  setCaching(headers, listed.target.rules);
  headers.set("cache-control", noCache);
  if (listed.total !== undefined) headers.set("x-total-count", `${listed.total}`);
  const body = listBody(listed, homeOf(exchange));
  return answerCoded(exchange, {
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

type HotPages = WeakMap<Collection, Map<string, Prepared>>;

/** The store hands out the same collection as long as nothing in it has changed: the pages go with it. */
let hotPages: HotPages = new WeakMap();
let hotChars = 0;

/** A URL has no line break, so nobody's page is another's. */
const hotKey = ({ owner }: Target, query: string): string =>
  owner === undefined ? query : `${owner}\n${query}`;

const hotPage = (target: Target, query: string): Prepared | undefined =>
  hotPages.get(target.collection)?.get(hotKey(target, query));

/** Pages that went with their collections still count, until all are dropped and learnt anew. */
function keepHot(target: Target, query: string, page: Prepared): void {
  if (page.body.length > maxHotPageChars) return;
  hotChars += page.body.length;
  if (hotChars > maxHotChars) {
    hotPages = new WeakMap();
    hotChars = page.body.length;
  }
  const pages = hotPages.get(target.collection) ?? new Map<string, Prepared>();
  if (pages.size < maxHotPages) pages.set(hotKey(target, query), page);
  hotPages.set(target.collection, pages);
}

export function listBody(listed: Listed, home: string): string {
  const { target, question, resources, total, isMore, next } = listed;
  const { page, limit, fields, cursor } = question;
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
function listState(
  exchange: Exchange,
  target: Target,
  type: ListType,
  listed?: Listed,
  body?: string,
): State {
  const { collection, rules } = target;
  const asJson = isWholeSeen(target)
    ? stateOf(exchange, collection, rules)
    : shownState(exchange, rules, body);
  const state = type === "application/json" ? asJson : exportState(asJson, type, collection.name);
  if (listed === undefined) return state;
  state.headers.set("link", links(exchange, listed));
  if (listed.total !== undefined) state.headers.set("x-total-count", `${listed.total}`);
  return state;
}

const windowNames = ["page", "limit", "cursor"];

/** Whether a part of the list is asked for. */
const isWindowed = (query: string): boolean =>
  pairs(query).some(([name]) => windowNames.includes(name));

/** RFC 8288; every other parameter stays as it was asked. */
function links(exchange: Exchange, listed: Listed): string {
  const { limit, cursor } = listed.question;
  const kept = pairs(exchange.query).filter(([name]) => !windowNames.includes(name));
  const others = kept.map(([name, value]) => `&${encoded(name)}=${encoded(value)}`).join("");
  const address = `${exchange.house.base}${exchange.path}`;
  const targets = cursor === undefined ? pagesAround(listed) : cursorsAround(listed);
  return targets
    .map(([rel, place]) => `<${address}?${place}&limit=${limit}${others}>; rel="${rel}"`)
    .join(", ");
}

/** Half of a surrogate pair cannot be here: what is decoded from a URL is well-formed. */
const encoded = encodeURIComponent;

type Relation = readonly [name: string, place: string];

function pagesAround({ question, total, isMore }: Listed): readonly Relation[] {
  const { page, limit } = question;
  const last = total === undefined ? undefined : Math.max(1, pageCount(total, limit));
  const found: Relation[] = [["first", "page=1"]];
  if (page > 1) found.push(["prev", `page=${Math.min(page - 1, last ?? page)}`]);
  if (isMore) found.push(["next", `page=${page + 1}`]);
  if (last !== undefined) found.push(["last", `page=${last}`]);
  return found;
}

const cursorsAround = ({ next }: Listed): readonly Relation[] => [
  ["first", "cursor="],
  ...(next === undefined ? [] : [["next", `cursor=${next}`] as const]),
];
