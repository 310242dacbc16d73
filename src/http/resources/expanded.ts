// Handles `expand`: a resource or a list with the resources that it refers to.

import type { CollectionAccess } from "../../domain/collection-access.ts";
import { type ExpandRequest, type ExpansionPlan, expandedTooLarge } from "../../domain/expand.ts";
import type { PlannedList } from "../../domain/lists.ts";
import { overloaded } from "../../domain/problems.ts";
import type { ShownResource } from "../../domain/resources.ts";
import { type Dependence, isRepeatable } from "../../domain/view.ts";
import type { Reply } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import { type Renderer, withText } from "../../model/render.ts";
import { expandedMember, freeBytes } from "../../model/resource.ts";
import type { RequestContext } from "../request/context.ts";
import { invalid } from "../request/request-target.ts";
import { type CollectionRepeat, conditionalReply, sendPage } from "../response/representation.ts";
import { type Audience, contentHead, smallResponseBytes } from "../response/response.ts";
import {
  type ExportType,
  expandedExportBytes,
  exportPage,
  exportPageBytes,
  streamExport,
} from "./export.ts";
import { answerLargePage, isLargePage, summaryOf, unsentPage } from "./large-page.ts";
import { listBody, listHead, setServerTiming } from "./list-page.ts";
import type { ListType } from "./list-writer.ts";
import { readList, type TimedList } from "./read-list.ts";

/** The ETag is a hash of the body, because no revision covers several collections. */
const headOf = (
  context: RequestContext,
  shown: readonly Audience[],
  { referred }: ExpansionPlan,
  body: string | undefined,
): Reply => {
  const others = [...referred.values()].map(({ access }) => access);
  return contentHead(context, [...shown, ...others], body);
};

/** Responds with a resource that the caller may read, and with what it refers to. */
export async function sendExpanded(
  context: RequestContext,
  shown: ShownResource,
  render: Renderer,
  request: ExpandRequest,
): Promise<Reply | Problem> {
  const { expander, resources } = context.services;
  const plan = await expander.plan(context.collection, request);
  if (plan instanceof Problem) return plan;
  const { resource, mask } = shown;
  const reservation = reservationOf(context);
  const [expanded] =
    (await expander.read(plan, { resources: [resource], maskOf: () => mask }, reservation)) ?? [];
  if (expanded === undefined) return reservation.isRefused ? overloaded : expandedTooLarge(plan);
  const body = withText(render(resource, context.collectionUrl), expandedMember, expanded);
  const dependsOn = dependenceOf(context.collection, plan);
  const repeat: CollectionRepeat | undefined =
    dependsOn === "time"
      ? undefined
      : {
          isCurrentFor: (access) =>
            resources.isCurrentFor(access, shown) && expander.isCurrentFor(access, plan),
          dependsOn,
        };
  reservation.release();
  return sendPage(context, { ...headOf(context, [mask], plan, body), body }, repeat);
}

/** Counts what is found, before its texts are made, so that many clients at once cannot take more. */
function reservationOf({ memory }: RequestContext) {
  let reserved = 0;
  const reservation = {
    isRefused: false,
    reserve(totalBytes: number): boolean {
      if (totalBytes <= smallResponseBytes) return true;
      reservation.isRefused ||= !memory.take(totalBytes - reserved);
      if (!reservation.isRefused) reserved = totalBytes;
      return !reservation.isRefused;
    },
    /** The response is counted instead. Where there is none, the memory is released with the request. */
    release(): void {
      memory.take(-reserved);
      reserved = 0;
    },
  };
  return reservation;
}

/** What decides about the response besides what is asked: all that decides in one of the collections. */
function dependenceOf(access: CollectionAccess, { referred }: ExpansionPlan): Dependence {
  const all = [access, ...[...referred.values()].map((other) => other.access)];
  const found = new Set(all.map((each) => each.view("read").dependsOn));
  const most = (["time", "related", "caller"] as const).find((each) => found.has(each));
  return most ?? "collection";
}

/** Responds with a list. It is read even for a 304. */
export async function answerExpanded(
  context: RequestContext,
  planned: PlannedList,
  type: ListType,
  isExport: boolean,
): Promise<Reply | Problem> {
  const { expander, lists } = context.services;
  const plan = await expander.plan(planned.target.access, planned.listRequest);
  if (plan instanceof Problem) return plan;
  if (type === "text/csv") return notInCsv;
  const listed = await readList(context, planned, isExport ? exportPageBytes : undefined);
  if (listed instanceof Problem) return listed;
  if (isExport) return answerExport(context, listed, plan, type as ExportType);
  const reservation = reservationOf(context);
  const expanded = await expander.read(plan, listed, reservation);
  if (expanded === undefined) {
    freeBytes(listed.resources);
    return reservation.isRefused ? overloaded : expandedTooLarge(plan);
  }
  if (isLargePage(listed, expanded)) return answerLarge(context, listed, plan, type, expanded);
  const body =
    type === "application/json"
      ? listBody(listed, context.collectionUrl, expanded)
      : exportPage(context, listed, type, expanded);
  const { target, others } = listed;
  const dependsOn = dependenceOf(target.access, plan);
  const repeat: CollectionRepeat | undefined =
    others.length === 0 && isRepeatable(dependsOn)
      ? {
          isCurrentFor: (access) =>
            lists.isCurrentFor(access, target) && expander.isCurrentFor(access, plan),
          dependsOn,
        }
      : undefined;
  const asJson = headOf(context, [target.access, ...others], plan, body);
  reservation.release();
  const head = listHead(context, asJson, type, target.collection.name, listed);
  return sendPage(context, { ...head, body }, repeat);
}

async function answerLarge(
  context: RequestContext,
  listed: TimedList,
  plan: ExpansionPlan,
  type: ListType,
  expanded: readonly string[],
): Promise<Reply | Problem> {
  const { target, others } = listed;
  const page = unsentPage(context, listed, type, expanded);
  const asJson = headOf(context, [target.access, ...others], plan, await summaryOf(page));
  const state = listHead(context, asJson, type, target.collection.name, listed);
  return answerLargePage(context, page, state);
}

/** Sends a whole list. It has an ETag only when everything fits in one page. */
async function answerExport(
  context: RequestContext,
  listed: TimedList,
  plan: ExpansionPlan,
  type: ExportType,
): Promise<Reply | Problem> {
  const { target, others, next } = listed;
  const expanded =
    next === undefined
      ? await context.services.expander.read(plan, listed, { maxBytes: expandedExportBytes })
      : undefined;
  const body = expanded && exportPage(context, listed, type, expanded);
  const asJson = headOf(context, [target.access, ...others], plan, body);
  const state = listHead(context, asJson, type, target.collection.name);
  setServerTiming(state.fields, listed);
  if (body !== undefined) return sendPage(context, { ...state, body });
  return conditionalReply(context, state) ?? streamExport(context, listed, state, type, plan);
}

const notInCsv = invalid([
  {
    parameter: "expand",
    detail: "CSV has no expanded resources; ask for application/x-ndjson, or leave expand out",
  },
]);
