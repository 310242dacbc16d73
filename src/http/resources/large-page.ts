// Sends a page of large resources one by one, so that neither rendering nor encoding blocks other requests.

import type { ListResult } from "../../domain/lists.ts";
import { overloaded } from "../../domain/problems.ts";
import { Turns } from "../../lib/turns.ts";
import { Problem } from "../../model/problem.ts";
import { shortPageBytes } from "../../model/query/list-request.ts";
import { type Renderer, renderPieces } from "../../model/render.ts";
import { type Resource, sizeOf } from "../../model/resource.ts";
import { type BodyPiece, streamOf } from "../body/text-stream.ts";
import { chooseCoding } from "../headers/content-coding.ts";
import type { RequestContext } from "../request/context.ts";
import { encodedHeaders } from "../response/representation.ts";
import { type ResponseHead, reserveWhileSent, withDate } from "../response/response.ts";
import { rendererFactory } from "./fields-param.ts";

export const isLargePage = (listed: ListResult): boolean => charsOf(listed) > shortPageBytes;

const charsOf = ({ resources }: ListResult): number =>
  resources.reduce((sum, resource) => sum + sizeOf(resource), 0);

/** The resources follow this text. */
const start = '{"data":[';

/** Returns a text that differs when the page does. `frame` is the body of the page without resources. */
export async function summaryOf({ resources, maskOf }: ListResult, frame: string): Promise<string> {
  const turns = new Turns();
  let text = frame;
  for (const resource of resources) {
    const mask = maskOf(resource);
    // The validator of some fields takes as long as rendering them, so other requests get a turn.
    if (mask.fields !== undefined) await turns.take(sizeOf(resource));
    text += `\n${resource.id} ${mask.validator(resource)}`;
  }
  return text;
}

/** Responds with a page without Content-Length, which holds only its resources in memory. */
export function sendLargePage(
  context: RequestContext,
  listed: ListResult,
  frame: string,
  state: ResponseHead,
): Response | Problem {
  const coding = chooseCoding(context.request.headers, Number.POSITIVE_INFINITY);
  if (coding instanceof Problem) return coding;
  const headers = coding === undefined ? state.headers : encodedHeaders(state.headers, coding);
  // What was taken before the resources were read.
  context.memory.set(0);
  const isHead = context.request.method === "HEAD";
  const release = reserveWhileSent(context, isHead ? 0 : charsOf(listed));
  if (release === undefined) return overloaded;
  const fields = listed.listRequest.fields.map(({ field }) => field);
  const rendererFor = rendererFactory(fields);
  const renderFor = (resource: Resource) => rendererFor(listed.maskOf(resource));
  const left = isHead ? [] : listed.resources.toReversed();
  const pieces = piecesOf(context, left, renderFor, frame.slice(start.length));
  const body = streamOf(pieces, coding, release, context.client);
  return withDate(new Response(body, { headers }), state.updatedAt);
}

/** Takes the resources from the end of `left`, so that those that were sent are not held in memory. */
async function* piecesOf(
  context: RequestContext,
  left: Resource[],
  rendererFor: (resource: Resource) => Renderer,
  end: string,
): AsyncGenerator<BodyPiece> {
  let before = start;
  for (let resource = left.pop(); resource !== undefined; resource = left.pop()) {
    // A client that reads slowly is not idle.
    context.client.extendTimeout?.();
    const [first, ...rest] = renderPieces(rendererFor(resource), resource, context.collectionUrl);
    yield before + first;
    yield* rest;
    before = ",";
  }
  yield end;
}
