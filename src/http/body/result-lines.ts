// The lines of many resources: each becomes a draft, and what became of it a line of the answer.

import type { Rules } from "../../model/collection.ts";
import type { Draft } from "../../model/draft.ts";
import type { Line } from "../../model/json/lines.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import type { Exchange } from "../exchange.ts";
import { releasedOnAbort } from "../large-answer.ts";
import { streamOf } from "../list/stream.ts";
import { replayedField } from "../once.ts";
import { problemBody, problemStatus } from "../problem.ts";
import { refuseCreation } from "../rate.ts";
import { codedHeaders, homeOf, noCache } from "../representation.ts";
import { idInPost, readFields } from "./body.ts";
import type { Coding } from "./codings.ts";

/** What is the same for all lines. */
export interface Order {
  readonly exchange: Exchange;
  readonly name: string;
  readonly rules: Rules | undefined;
  /** The media type of the answer. */
  readonly type: string;
  /** Whether only what was not created is told. */
  readonly isMinimal: boolean;
  /** Of the answer. */
  readonly coding: Coding | undefined;
}

export function draftIn({ exchange, rules }: Order, { bytes }: Line): Draft | Problem {
  const tooMany = refuseCreation(exchange, rules);
  if (tooMany !== undefined) return tooMany;
  if (bytes === undefined) return lineTooLong(exchange.house.maxBodyBytes);
  const draft = readFields(bytes);
  return draft instanceof Problem || draft.id === undefined ? draft : idInPost;
}

const lineTooLong = (limitBytes: number): Problem =>
  new Problem("content-too-large", `The line is over ${limitBytes} bytes. It was not stored.`);

export function resultOf(order: Order, line: number, end: Resource | Problem): string {
  if (end instanceof Problem) return lineOf(order, line, end);
  if (order.isMinimal) return "";
  return `{"line":${line},"status":201,"location":"${homeOf(order.exchange)}/${end.id}"}\n`;
}

/** A problem that has no line is about all that was sent. */
export function lineOf({ exchange }: Order, line: number | undefined, problem: Problem): string {
  const { house, path, requestId } = exchange;
  const body = problemBody(problem, house.base, `${house.base}${path}`, requestId);
  const place = line === undefined ? "" : `"line":${line},`;
  return `{${place}"status":${problemStatus[problem.kind]},"problem":${body}}\n`;
}

/** 200: the request was done as it asked to be; what became of each line, its own line tells. */
export function answerLines(
  { exchange, type, isMinimal, coding }: Order,
  texts: AsyncGenerator<string>,
  isReplay = false,
): Response {
  const headers = new Headers(exchange.house.jsonHeaders);
  headers.set("content-type", type);
  headers.set("cache-control", noCache);
  if (isMinimal) headers.set("preference-applied", "return=minimal");
  if (isReplay) headers.set(replayedField, "true");
  const release = releasedOnAbort(exchange.request, () => exchange.memory.release());
  exchange.isReadWhileAnswered = true;
  return new Response(streamOf(texts, coding, release), {
    headers: coding === undefined ? headers : codedHeaders(headers, coding),
  });
}
