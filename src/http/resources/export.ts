// Exports a list as NDJSON or CSV.

import type { ExpansionPlan } from "../../domain/expand.ts";
import type { ListedGroups } from "../../domain/listed-groups.ts";
import type { ListResult, PlannedList } from "../../domain/lists.ts";
import { headerRow, resourceRow } from "../../lib/csv.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Reply } from "../../lib/reply.ts";
import { nextTurn, turnBytes } from "../../lib/turns.ts";
import { Problem } from "../../model/problem.ts";
import { aggregateLimits } from "../../model/query/aggregate.ts";
import { type ListRequest, pageLimits } from "../../model/query/list-request.ts";
import { isRange } from "../../model/query/query.ts";
import { freeBytes } from "../../model/resource.ts";
import type { BodyPiece } from "../body/text-stream.ts";
import { variantTag } from "../headers/conditional.ts";
import type { RequestContext } from "../request/context.ts";
import { type ListType, type ListWriter, writerFor } from "./list-writer.ts";
import { readList } from "./read-list.ts";
import { sendPieces } from "./send-pieces.ts";

export type ExportType = Exclude<ListType, "application/json">;

/** The limit of one page of an export. */
export const exportPageBytes = 256 * 1024;

/** How many are read or rendered in one turn of the event loop. */
const turnCount = 100;

/** A page that is searched for elsewhere is larger, which saves scans. */
const limitsOf = {
  short: { count: turnCount, bytes: turnBytes },
  found: { count: 500, bytes: exportPageBytes },
};

/** The memory of one export: the text of a page, its bytes, and the next page. */
const exportBytes = 1024 * 1024;

/** The limit for the resources that are sent together with what they refer to. */
export const expandedExportBytes = 1024 * 1024;

/** Returns the head of a list in another format, with its own ETag. */
export function exportHead(state: Reply, type: ExportType, name: string): Reply {
  const { fields, validators } = state;
  const isCsv = type === "text/csv";
  const asJson = validators?.etag ?? "";
  const etag = asJson === "" ? "" : variantTag(asJson, isCsv ? "csv" : "ndjson");
  if (etag !== "") fields.set("ETag", etag);
  fields.set("Content-Type", isCsv ? "text/csv; charset=utf-8; header=present" : type);
  if (isCsv) fields.set("Content-Disposition", `attachment; filename="${name}.csv"`);
  return { ...state, validators: validators && { ...validators, etag } };
}

/** Returns the whole text of one page. */
export const exportPage = (
  context: RequestContext,
  listed: ListResult,
  type: ExportType,
  expanded?: readonly string[],
): string => {
  if (listed.groups !== undefined) return exportGroups(listed.groups, type);
  const writer = writerFor(type, listed, context.collectionUrl);
  return writer.head + textOf(writer, listed, expanded);
};

const textOf = (
  writer: ListWriter,
  { resources, maskOf }: ListResult,
  expanded?: readonly string[],
): string =>
  resources.reduce(
    (text, resource, index) => text + writer.text(resource, maskOf(resource), expanded?.[index]),
    "",
  );

/** A member is found by its whole name, which can have dots. */
function exportGroups({ names, texts }: ListedGroups, type: ExportType): string {
  if (type !== "text/csv") return texts.map((text) => `${text}\n`).join("");
  const columns = names.map((name) => ({ name, path: [name] }));
  return headerRow(columns) + texts.map((text) => resourceRow(columns, text)).join("");
}

/** Returns the request for a whole list. A ranked search has no cursor, so it is read in creation order. */
export function exportRequest(listRequest: ListRequest): ListRequest {
  if (listRequest.aggregate !== undefined)
    return { ...listRequest, limit: aggregateLimits.maxGroups };
  const place = { parameter: "cursor" };
  const isRanked = listRequest.search !== undefined && listRequest.sort.length === 0;
  const byCreation = [{ field: "createdAt", isDescending: false, place: { parameter: "sort" } }];
  return {
    ...listRequest,
    sort: isRanked ? byCreation : listRequest.sort,
    cursor: { text: "", place },
    limit: limitsOf.found.count,
    isCounted: false,
  };
}

/** Streams the whole list page by page, as fast as the client reads. */
export function streamExport(
  context: RequestContext,
  first: ListResult,
  state: Reply,
  type: ExportType,
  expansion?: ExpansionPlan,
): Reply | Problem {
  const pieces = piecesOf(context, first, type, expansion);
  return sendPieces(context, state, memoryFor(expansion), pieces);
}

const memoryFor = (expansion: ExpansionPlan | undefined): number =>
  expansion === undefined ? exportBytes : exportBytes + 2 * expandedExportBytes;

const noop = (): void => undefined;

async function* piecesOf(
  context: RequestContext,
  first: ListResult,
  type: ExportType,
  expansion: ExpansionPlan | undefined,
): AsyncGenerator<BodyPiece> {
  const { services } = context;
  const writer = writerFor(type, first, context.collectionUrl);
  let listed = first;
  let limits = limitsOf.short;
  let isElsewhere = false;
  const readAfter = async (page: ListResult): Promise<ListResult> => {
    const planned = await nextPage(context, page, limits.count);
    const reading: MaybePromise<ListResult | Problem> =
      planned instanceof Problem ? planned : readList(context, planned, limits.bytes);
    isElsewhere = reading instanceof Promise;
    limits = isElsewhere && !isRangeIn(planned) ? limitsOf.found : limitsOf.short;
    const read = await reading;
    // The status is already sent: the stream is aborted, so that the client sees that it is incomplete.
    if (read instanceof Problem) throw new Error(`the export was aborted: ${read.detail}`);
    return read;
  };
  try {
    if (writer.head !== "") yield writer.head;
    for (;;) {
      // A page that is read elsewhere is read while the one before is written, if its resources are small.
      const isAhead = isElsewhere && listed.next !== undefined && listed.resources.length > 1;
      const ahead = isAhead ? readAfter(listed) : undefined;
      ahead?.catch(noop);
      for await (const piece of rowsOf(context, writer, listed, expansion)) {
        if (piece !== "") yield piece;
      }
      if (listed.next === undefined) return;
      // Other requests get a turn.
      await nextTurn();
      listed = await (ahead ?? readAfter(listed));
    }
  } catch (thrown) {
    services.logFailure(context, thrown);
    throw thrown;
  }
}

const isRangeIn = (planned: PlannedList | Problem): boolean =>
  "query" in planned && (planned.query === undefined || isRange(planned.query));

/** Yields the rows of a page. One that is too large with what it refers to is written in parts. */
async function* rowsOf(
  context: RequestContext,
  writer: ListWriter,
  listed: ListResult,
  expansion: ExpansionPlan | undefined,
): AsyncGenerator<BodyPiece> {
  const { resources } = listed;
  if (expansion === undefined) {
    for (let start = 0; start < resources.length; start += turnCount) {
      if (start > 0) await nextTurn();
      yield* piecesIn(writer, { ...listed, resources: resources.slice(start, start + turnCount) });
    }
    return;
  }
  const maxBytes = resources.length === 1 ? pageLimits.maxBytes : expandedExportBytes;
  const expanded = await context.services.expander.read(expansion, listed, { maxBytes });
  if (expanded !== undefined) {
    yield* piecesIn(writer, listed, expanded);
    freeBytes(resources);
    return;
  }
  if (resources.length === 1) throw new Error("the export was aborted: a resource is too large");
  const half = resources.length >> 1;
  const parts = [resources.slice(0, half), resources.slice(half)];
  for (const part of parts)
    yield* rowsOf(context, writer, { ...listed, resources: part }, expansion);
}

/** Resources without bytes are one text. */
const piecesIn = (
  writer: ListWriter,
  listed: ListResult,
  expanded?: readonly string[],
): readonly BodyPiece[] => {
  const { resources, maskOf } = listed;
  const hasBytes = resources.some(({ fieldBytes }) => fieldBytes !== undefined);
  if (!hasBytes) return [textOf(writer, listed, expanded)];
  return resources.flatMap((resource, index) =>
    writer.pieces(resource, maskOf(resource), expanded?.[index]),
  );
};

/** Plans the next page. */
function nextPage(
  { services }: RequestContext,
  { target, listRequest, next = "" }: ListResult,
  limit: number,
): MaybePromise<PlannedList | Problem> {
  const cursor = { text: next, place: { parameter: "cursor" } };
  return services.lists.plan(target, { ...listRequest, cursor, limit });
}
