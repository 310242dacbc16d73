// Sends a page of large resources one by one, so that neither rendering nor encoding blocks other requests.

import type { ListResult } from "../../domain/lists.ts";
import type { Reply } from "../../lib/reply.ts";
import { Turns } from "../../lib/turns.ts";
import { Problem } from "../../model/problem.ts";
import { shortPageBytes } from "../../model/query/list-request.ts";
import { freeBytes, sizeOf } from "../../model/resource.ts";
import type { BodyPiece } from "../body/text-stream.ts";
import { contentTag } from "../headers/conditional.ts";
import type { RequestContext } from "../request/context.ts";
import { conditionalReply } from "../response/representation.ts";
import { listBody } from "./list-page.ts";
import { type ListType, writerInTurns } from "./list-writer.ts";
import { sendPieces } from "./send-pieces.ts";

/** A page before it is sent. */
interface UnsentPage {
  readonly listed: ListResult;
  readonly type: ListType;
  /** The JSON of the page without resources. */
  readonly frame: string;
  /** A text for each resource: what it refers to. */
  readonly expanded?: readonly string[] | undefined;
}

export const unsentPage = (
  context: RequestContext,
  listed: ListResult,
  type: ListType,
  expanded?: readonly string[],
): UnsentPage => {
  const frame = listBody({ ...listed, resources: [] }, context.collectionUrl);
  return { listed, type, frame, expanded };
};

export const isLargePage = (listed: ListResult, expanded?: readonly string[]): boolean =>
  charsOf(listed, expanded) > shortPageBytes;

const charsOf = ({ resources }: ListResult, expanded: readonly string[] = []): number =>
  resources.reduce((sum, resource) => sum + sizeOf(resource), 0) +
  expanded.reduce((sum, text) => sum + text.length, 0);

/** Returns a text that differs when the page does. */
export async function summaryOf({ listed, frame, expanded }: UnsentPage): Promise<string> {
  const { resources, maskOf } = listed;
  const turns = new Turns();
  let text = frame;
  for (const [index, resource] of resources.entries()) {
    const mask = maskOf(resource);
    // The validator of some fields takes as long as rendering them, so other requests get a turn.
    if (mask.fields !== undefined) await turns.take(sizeOf(resource));
    text += `\n${resource.id} ${mask.validator(resource)}`;
    const referred = expanded?.[index];
    if (referred === undefined) continue;
    await turns.take(referred.length);
    text += ` ${contentTag(referred)}`;
  }
  return text;
}

/** Responds with 412 or 304 by the preconditions, or with the page. */
export function answerLargePage(
  context: RequestContext,
  page: UnsentPage,
  state: Reply,
): Reply | Problem {
  const conditional = conditionalReply(context, state, Number.POSITIVE_INFINITY);
  if (conditional === undefined) return sendLargePage(context, page, state);
  freeBytes(page.listed.resources);
  return conditional;
}

/** Responds with a page without Content-Length, which holds only its resources in memory. */
export function sendLargePage(
  context: RequestContext,
  page: UnsentPage,
  state: Reply,
): Reply | Problem {
  // What was taken before the resources were read.
  context.memory.set(0);
  const bytes = charsOf(page.listed, page.expanded);
  const reply = sendPieces(context, state, bytes, piecesOf(context, page));
  const isSent = !(reply instanceof Problem) && context.request.method !== "HEAD";
  if (!isSent) freeBytes(page.listed.resources);
  return reply;
}

async function* piecesOf(
  context: RequestContext,
  { listed, type, frame, expanded }: UnsentPage,
): AsyncGenerator<BodyPiece> {
  const writer = await writerInTurns(type, listed, context.collectionUrl);
  const isArray = type === "application/json";
  if (writer.head !== "") yield writer.head;
  for (const [index, resource] of listed.resources.entries()) {
    if (isArray && index > 0) yield ",";
    yield* writer.pieces(resource, listed.maskOf(resource), expanded?.[index]);
    freeBytes([resource]);
  }
  if (isArray) yield frame.slice(writer.head.length);
}
