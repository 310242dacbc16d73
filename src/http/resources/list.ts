// Handles lists: GET and QUERY of a collection, by page or by cursor, and exports.

import { dependenceOf, type ListTarget, type PlannedList } from "../../domain/lists.ts";
import { isRepeatable } from "../../domain/view.ts";
import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { type Reply, ReplyFields, replyOf } from "../../lib/reply.ts";
import type { Collection } from "../../model/collection.ts";
import { Problem } from "../../model/problem.ts";
import { readAuthorizedBody } from "../body/authorized-body.ts";
import { checkJsonBody, readText } from "../body/content.ts";
import { hasPreconditions } from "../headers/conditional.ts";
import { chooseType, queryTypes, requireContentType } from "../headers/media-type.ts";
import type { RequestContext, Services } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import {
  type CollectionRepeat,
  conditionalReply,
  type Page,
  sendEncoded,
  sendPage,
} from "../response/representation.ts";
import { collectionHead, contentHead, noCache, setCaching } from "../response/response.ts";
import { answerExpanded } from "./expanded.ts";
import {
  type ExportType,
  exportPage,
  exportPageBytes,
  exportRequest,
  streamExport,
} from "./export.ts";
import { listChanges } from "./feed.ts";
import {
  answerLargePage,
  isLargePage,
  sendLargePage,
  summaryOf,
  unsentPage,
} from "./large-page.ts";
import { hasPaging, listBody, listHead, setServerTiming } from "./list-page.ts";
import { defaultRequest, readListQuery } from "./list-request.ts";
import { exportTypes, type ListType, listTypes } from "./list-writer.ts";
import { readQueryBody } from "./query-body.ts";
import { readList, type TimedList } from "./read-list.ts";

export const listResources = (context: RequestContext): MaybePromise<Reply | Problem> =>
  answerList(context, listTypes);

/** A list at the address that has no JSON, for clients with one type for each operation. */
export const exportResources = (context: RequestContext): MaybePromise<Reply | Problem> =>
  answerList(context, exportTypes);

function answerList(
  context: RequestContext,
  offered: typeof listTypes | typeof exportTypes,
): MaybePromise<Reply | Problem> {
  const { request, services } = context;
  return then(services.lists.target(context.collection), (target) => {
    if (target instanceof Problem) return target;
    const type = chooseType<ListType>(request.headers, offered);
    const cached = type === "application/json" ? cachedPage(context, target) : undefined;
    if (cached !== undefined) return sendPage(context, cached, repeatOf(context, target));
    const listRequest = readListQuery(context.searchParams);
    if (listRequest instanceof Problem) return listRequest;
    if ("since" in listRequest)
      return offered === listTypes ? listChanges(context, target, listRequest) : changesElsewhere;
    const isWhole = type !== "application/json" && !hasPaging(context.searchParams);
    const isExport = isWhole && listRequest.aggregate === undefined;
    const asked = isWhole ? exportRequest(listRequest) : listRequest;
    return then(services.lists.plan(target, asked), (planned) => {
      if (planned instanceof Problem) return planned;
      if (type instanceof Problem) return type;
      return asked.expand.length > 0
        ? answerExpanded(context, planned, type, isExport)
        : answerPlanned(context, planned, type, isExport);
    });
  });
}

const changesElsewhere = new Problem("invalid-parameter", "Changes are sent as JSON alone.", {
  errors: [{ parameter: "since", detail: "changes are at the address of the collection" }],
});

function answerPlanned(
  context: RequestContext,
  planned: PlannedList,
  type: ListType,
  isExport: boolean,
): MaybePromise<Reply | Problem> {
  const isConditional = hasRevision(planned) && hasPreconditions(context.request.headers);
  const conditional = isConditional && answerByRevision(context, planned, type, isExport);
  if (conditional) return conditional;
  const maxBytes = isExport ? exportPageBytes : undefined;
  return then(readList(context, planned, maxBytes), (listed) => {
    if (listed instanceof Problem) return listed;
    if (isExport) return answerExport(context, listed, type as ExportType);
    return answerPage(context, listed, type);
  });
}

function answerPage(
  context: RequestContext,
  listed: TimedList,
  type: ListType,
): MaybePromise<Reply | Problem> {
  const isJson = type === "application/json";
  if (isLargePage(listed)) return answerLarge(context, listed, type);
  const body = isJson ? listBody(listed, context.collectionUrl) : exportPage(context, listed, type);
  const page = { ...pageHead(context, listed, type, body), body };
  if (!isRepeatable(dependenceOf(listed))) return sendPage(context, page);
  if (isJson) cachePage(context, listed.target, page);
  return sendPage(context, page, repeatOf(context, listed.target));
}

async function answerLarge(
  context: RequestContext,
  listed: TimedList,
  type: ListType,
): Promise<Reply | Problem> {
  const page = unsentPage(context, listed, type);
  const summary = hasRevision(listed) ? "" : await summaryOf(page);
  const state = pageHead(context, listed, type, summary);
  return answerLargePage(context, page, state);
}

/** The page depends on nothing but the collection as the caller sees it. */
function repeatOf({ services }: RequestContext, target: ListTarget): CollectionRepeat {
  const { lists } = services;
  return {
    isCurrentFor: (access) => lists.isCurrentFor(access, target),
    dependsOn: target.access.view("read").dependsOn,
  };
}

/** Whether the revision can be the validator. */
const hasRevision = (planned: Pick<PlannedList, "target" | "others">): boolean =>
  dependenceOf(planned) === "collection";

/** Answers a conditional request by the revision alone, so that a 304 reads no rows. */
function answerByRevision(
  context: RequestContext,
  planned: PlannedList,
  type: ListType,
  isExport: boolean,
): Reply | Problem | undefined {
  const state = listHead(context, headOf(context, planned), type, nameOf(planned));
  const length = isExport ? Number.POSITIVE_INFINITY : 0;
  return conditionalReply(context, state, length, repeatOf(context, planned.target));
}

/** Sends a whole list. One that has no revision gets an ETag only when everything fits in one page. */
function answerExport(
  context: RequestContext,
  listed: TimedList,
  type: ExportType,
): MaybePromise<Reply | Problem> {
  const isComplete = !hasRevision(listed) && listed.next === undefined;
  const body = isComplete ? exportPage(context, listed, type) : undefined;
  const state = listHead(context, headOf(context, listed, body), type, nameOf(listed));
  setServerTiming(state.fields, listed);
  if (body !== undefined) return sendPage(context, { ...state, body });
  return conditionalReply(context, state) ?? streamExport(context, listed, state, type);
}

/** Returns the head of the first page, as a GET without parameters has it. */
export async function firstPageHead(
  context: RequestContext,
  target: ListTarget,
): Promise<Reply | Problem> {
  const planned = await context.services.lists.plan(target, defaultRequest);
  if (planned instanceof Problem || hasRevision(planned))
    return planned instanceof Problem ? planned : headOf(context, planned);
  const listed = await readList(context, planned);
  if (listed instanceof Problem) return listed;
  const body = isLargePage(listed)
    ? await summaryOf(unsentPage(context, listed, "application/json"))
    : listBody(listed, context.collectionUrl);
  return headOf(context, listed, body);
}

/**
 * Handles QUERY (RFC 10008): a list request in the body, when it is too long for a URL or must not be
 * logged. The response is not cached, because a cache would need the body as a key.
 */
export async function queryResources(context: RequestContext): Promise<Reply | Problem> {
  const { services } = context;
  const { collection } = context;
  const found = rejectParameters(context) ?? (await services.lists.target(collection));
  if (found instanceof Problem) return found;
  const rejected =
    requireContentType(context.request.headers) ?? checkJsonBody(context, queryTypes);
  if (rejected !== undefined) return rejected;
  const text = readText(await readAuthorizedBody(context));
  if (text instanceof Problem) return text;
  const listRequest = readQueryBody(text);
  if (listRequest instanceof Problem) return listRequest;
  const isSame = context.collection === collection;
  const target = isSame ? found : await services.lists.target(context.collection);
  if (target instanceof Problem) return target;
  const planned = await services.lists.plan(target, listRequest);
  if (planned instanceof Problem) return planned;

  const listed = await readList(context, planned);
  if (listed instanceof Problem) return listed;
  const expanded = await services.expander.expand(listed);
  if (expanded instanceof Problem) return expanded;

  const fields = new ReplyFields(services.jsonFields);
  setCaching(fields, listed.target.access);
  fields.set("Cache-Control", noCache);
  if (listed.total !== undefined) fields.set("X-Total-Count", `${listed.total}`);
  setServerTiming(fields, listed);
  const state = replyOf(200, fields);
  if (isLargePage(listed, expanded)) {
    const page = unsentPage(context, listed, "application/json", expanded);
    return sendLargePage(context, page, state);
  }
  return sendEncoded(context, {
    ...state,
    body: listBody(listed, context.collectionUrl, expanded),
  });
}

/** Enough for the first pages that many clients read; walking through a collection gains nothing. */
const maxCachedPages = 16;
const maxCachedPageChars = 65_536;
/** The limit for the cached pages of all collections. */
const maxCachedChars = 16 * 1024 * 1024;

type PageCache = WeakMap<Collection, Map<string, Page>>;

/** The store returns the same Collection object until something changes, so pages are cached by it. Their headers depend on settings. */
let cachedPages = new WeakMap<Services, PageCache>();
let cachedChars = 0;

/** A URL has no line break, so keys of different callers cannot collide. */
const pageKey = ({ access }: ListTarget, query: string): string =>
  `${access.audienceKey}\n${query}`;

const cachedPage = ({ services, query }: RequestContext, target: ListTarget) =>
  cachedPages.get(services)?.get(target.collection)?.get(pageKey(target, query));

/** Pages of collected Collection objects still count, until the whole cache is cleared. */
function cachePage({ services, query }: RequestContext, target: ListTarget, page: Page): void {
  if (page.body.length > maxCachedPageChars) return;
  cachedChars += page.body.length;
  if (cachedChars > maxCachedChars) {
    cachedPages = new WeakMap();
    cachedChars = page.body.length;
  }
  const byCollection: PageCache = cachedPages.get(services) ?? new WeakMap();
  const pages = byCollection.get(target.collection) ?? new Map<string, Page>();
  if (pages.size < maxCachedPages) pages.set(pageKey(target, query), page);
  byCollection.set(target.collection, pages);
  cachedPages.set(services, byCollection);
}

const nameOf = ({ target }: Pick<PlannedList, "target">): string => target.collection.name;

const pageHead = (
  context: RequestContext,
  listed: TimedList,
  type: ListType,
  body: string,
): Reply => listHead(context, headOf(context, listed, body), type, nameOf(listed), listed);

/** Without a revision the ETag is a hash of the body. */
function headOf(
  context: RequestContext,
  listed: Pick<PlannedList, "target" | "others">,
  body?: string,
): Reply {
  const { target, others } = listed;
  const { access, collection } = target;
  return hasRevision(listed)
    ? collectionHead(context, collection, access)
    : contentHead(context, [access, ...others], body);
}
