// A collection in other formats than JSON: NDJSON, a resource on each line, and CSV, a row for each.

import { setImmediate as turn } from "node:timers/promises";
import type { ListResult, PlannedList } from "../../domain/lists.ts";
import { overloaded } from "../../domain/problems.ts";
import {
  type Column,
  fieldColumn,
  headerRow,
  memberColumn,
  membersOf,
  resourceRow,
} from "../../lib/csv.ts";
import { definitionOf } from "../../model/definition.ts";
import { Problem } from "../../model/problem.ts";
import { etagField, everyField, type ListRequest } from "../../model/query/list-request.ts";
import { validatorOf } from "../../model/validator.ts";
import { streamOf } from "../body/text-stream.ts";
import type { RequestContext } from "../context.ts";
import { variantTag } from "../headers/conditional.ts";
import { chooseCoding } from "../headers/content-coding.ts";
import { ndjsonTypes } from "../headers/media-type.ts";
import { reserveWhileSent } from "../large-response.ts";
import { showing } from "./fields-param.ts";
import { codedHeaders, collectionUrl, type ResponseHead, withDate } from "./representation.ts";

/** What a list can be had as. */
export const listTypes = ["application/json", ...ndjsonTypes, "text/csv"] as const;
export type ListType = (typeof listTypes)[number];
export type ExportType = Exclude<ListType, "application/json">;

/** How much is read at once, so that little is in memory. */
const maxCount = 500;
export const exportPageBytes = 256 * 1024;

/** What one export holds: the text of a page, and its bytes. */
const exportBytes = 1024 * 1024;

/** The state of a list in another format, which has a tag of its own. */
export function exportHead(state: ResponseHead, type: ExportType, name: string): ResponseHead {
  const { headers } = state;
  const isCsv = type === "text/csv";
  const etag = state.etag === "" ? "" : variantTag(state.etag, isCsv ? "csv" : "ndjson");
  if (etag !== "") headers.set("etag", etag);
  headers.set("content-type", isCsv ? "text/csv; charset=utf-8; header=present" : type);
  if (isCsv) headers.set("content-disposition", `attachment; filename="${name}.csv"`);
  return { ...state, headers, etag };
}

/** The whole text of one page. */
export const exportPage = (
  context: RequestContext,
  listed: ListResult,
  type: ExportType,
): string => {
  const writer = writerFor(type, listed, collectionUrl(context));
  return writer.head + writer.rows(listed);
};

interface Writer {
  readonly head: string;
  rows(listed: ListResult): string;
}

function writerFor(type: ExportType, first: ListResult, home: string): Writer {
  const fields = first.listRequest.fields.map(({ field }) => field);
  const isTagged = fields.includes(etagField);
  const isCsv = type === "text/csv";
  // A row takes what its columns name from the whole.
  const show = showing(isCsv ? (isTagged ? [everyField, etagField] : []) : fields);
  const viewsOf = ({ target, resources }: ListResult) =>
    resources.map((resource) => show(target.rules, resource, home));
  if (isCsv) {
    const columns = columnsOf(first, fields, viewsOf);
    const rows = (listed: ListResult) =>
      viewsOf(listed).reduce((text, view) => text + resourceRow(columns, view), "");
    return { head: headerRow(columns), rows };
  }
  const rows = (listed: ListResult) =>
    viewsOf(listed).reduce((text, view) => `${text}${view}\n`, "");
  return { head: "", rows };
}

/** Those that were asked for; or those that the schema declares, and what else the first page has. */
function columnsOf(
  first: ListResult,
  fields: readonly string[],
  viewsOf: (listed: ListResult) => readonly string[],
): readonly Column[] {
  const isWhole = fields.length === 0 || fields.includes(everyField);
  if (!isWhole) return [...new Set(["id", ...fields])].map(fieldColumn);
  const names = new Set(["id", ...validatorOf(definitionOf(first.target.rules)).shownMembers]);
  const found = membersOf(viewsOf(first));
  const tags = fields.includes(etagField) ? [etagField] : [];
  const ends = ["createdAt", "updatedAt", ...tags];
  const between = [...names.union(found)].filter((name) => !ends.includes(name));
  return [...between, ...ends].map(memberColumn);
}

/** The question that walks through everything: what is ranked has no walk, so it comes as it was created. */
export function exportRequest(listRequest: ListRequest): ListRequest {
  const place = { parameter: "cursor" };
  const isRanked = listRequest.search !== undefined && listRequest.sort.length === 0;
  const byCreation = [{ field: "createdAt", isDescending: false, place: { parameter: "sort" } }];
  return {
    ...listRequest,
    sort: isRanked ? byCreation : listRequest.sort,
    cursor: { text: "", place },
    limit: maxCount,
    isCounted: false,
  };
}

/** All that the question chooses, page after page as fast as it is read. */
export function streamExport(
  context: RequestContext,
  first: ListResult,
  state: ResponseHead,
  type: ExportType,
): Response | Problem {
  const coding = chooseCoding(context.request.headers, Number.POSITIVE_INFINITY);
  if (coding instanceof Problem) return coding;
  const headers = coding === undefined ? state.headers : codedHeaders(state.headers, coding);
  const isAsked = context.request.method !== "HEAD";
  const release = isAsked ? reserveWhileSent(context, exportBytes) : done;
  if (release === undefined) return overloaded;
  const texts = isAsked ? textsOf(context, first, type) : nothing();
  return withDate(new Response(streamOf(texts, coding, release), { headers }), state.updatedAt);
}

const done = (): void => undefined;

async function* nothing(): AsyncGenerator<string> {}

async function* textsOf(
  context: RequestContext,
  first: ListResult,
  type: ExportType,
): AsyncGenerator<string> {
  const { services } = context;
  const writer = writerFor(type, first, collectionUrl(context));
  let listed = first;
  let text = writer.head + writer.rows(first);
  try {
    for (;;) {
      // Who reads slowly is not idle.
      context.extendTimeout();
      if (text !== "") yield text;
      if (listed.next === undefined) return;
      // Others wait for their answers, too.
      await turn();
      const listing = following(context, listed);
      const read =
        listing instanceof Problem ? listing : await services.lists.read(listing, exportPageBytes);
      // What has begun cannot be refused any more: it breaks off, and so nobody takes it for the whole.
      if (read instanceof Problem) throw new Error(`the list broke off: ${read.detail}`);
      listed = read;
      text = writer.rows(listed);
    }
  } catch (thrown) {
    services.logFailure(context, thrown);
    throw thrown;
  }
}

/** Where the walk goes on. */
function following(
  { services }: RequestContext,
  { target, listRequest, next = "" }: ListResult,
): PlannedList | Problem {
  const cursor = { text: next, place: { parameter: "cursor" } };
  return services.lists.plan(target, { ...listRequest, cursor });
}
