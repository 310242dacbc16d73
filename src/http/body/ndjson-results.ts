// The lines of many resources: each becomes a draft, and what became of it a line of the answer.

import type { Line } from "../../lib/json/line-splitter.ts";
import type { Rules } from "../../model/collection.ts";
import type { Draft } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import type { RequestContext } from "../context.ts";
import type { Coding } from "../headers/content-coding.ts";
import { replayedField } from "../headers/idempotency-key.ts";
import { releasedOnAbort } from "../large-response.ts";
import { problemBody, problemStatus } from "../problem.ts";
import { refuseCreation } from "../rate-limit.ts";
import { codedHeaders, collectionUrl, noCache } from "../resources/representation.ts";
import { idInPost, readFields } from "./content.ts";
import { streamOf } from "./text-stream.ts";

/** What is the same for all lines. */
export interface Order {
  readonly context: RequestContext;
  readonly name: string;
  readonly rules: Rules | undefined;
  /** The media type of the answer. */
  readonly type: string;
  /** Whether only what was not created is told. */
  readonly isMinimal: boolean;
  /** Of the answer. */
  readonly coding: Coding | undefined;
}

export function draftIn({ context, rules }: Order, { bytes }: Line): Draft | Problem {
  const tooMany = refuseCreation(context, rules);
  if (tooMany !== undefined) return tooMany;
  if (bytes === undefined) return lineTooLong(context.services.maxBodyBytes);
  const draft = readFields(bytes);
  return draft instanceof Problem || draft.id === undefined ? draft : idInPost;
}

const lineTooLong = (limitBytes: number): Problem =>
  new Problem("content-too-large", `The line is over ${limitBytes} bytes. It was not stored.`);

export function resultOf(order: Order, line: number, end: Resource | Problem): string {
  if (end instanceof Problem) return lineOf(order, line, end);
  if (order.isMinimal) return "";
  return `{"line":${line},"status":201,"location":"${collectionUrl(order.context)}/${end.id}"}\n`;
}

/** A problem that has no line is about all that was sent. */
export function lineOf({ context }: Order, line: number | undefined, problem: Problem): string {
  const { services, path, requestId } = context;
  const body = problemBody(problem, services.base, `${services.base}${path}`, requestId);
  const place = line === undefined ? "" : `"line":${line},`;
  return `{${place}"status":${problemStatus[problem.kind]},"problem":${body}}\n`;
}

/** 200: the request was done as it asked to be; what became of each line, its own line tells. */
export function answerLines(
  { context, type, isMinimal, coding }: Order,
  texts: AsyncGenerator<string>,
  isReplay = false,
): Response {
  const headers = new Headers(context.services.jsonHeaders);
  headers.set("content-type", type);
  headers.set("cache-control", noCache);
  if (isMinimal) headers.set("preference-applied", "return=minimal");
  if (isReplay) headers.set(replayedField, "true");
  const release = releasedOnAbort(context.request, () => context.memory.release());
  context.isReadWhileAnswered = true;
  return new Response(streamOf(texts, coding, release), {
    headers: coding === undefined ? headers : codedHeaders(headers, coding),
  });
}
