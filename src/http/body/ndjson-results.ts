// Reads the lines of an NDJSON request and writes the lines of its response.

import type { Written } from "../../domain/write/operation.ts";
import type { Line } from "../../lib/json/line-splitter.ts";
import type { Draft } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import type { Coding } from "../headers/content-coding.ts";
import { replayedHeader } from "../headers/idempotency-key.ts";
import type { RequestContext } from "../request/context.ts";
import { limitCreation } from "../request/rate-limit.ts";
import { problemBody, problemStatus } from "../response/problem.ts";
import { encodedHeaders } from "../response/representation.ts";
import { noCache, releaseOnAbort } from "../response/response.ts";
import { idInPost, readFields } from "./content.ts";
import { streamOf } from "./text-stream.ts";

/** What all lines of a request have in common. */
export interface BulkRequest {
  readonly context: RequestContext;
  /** The media type of the response. */
  readonly type: string;
  /** Whether the response has only the rejected lines and a summary. */
  readonly isMinimal: boolean;
  /** The content coding of the response. */
  readonly coding: Coding | undefined;
}

export function readLine({ context }: BulkRequest, { bytes }: Line): Draft | Problem {
  const tooMany = limitCreation(context, context.collection.rules);
  if (tooMany !== undefined) return tooMany;
  if (bytes === undefined) return lineTooLong(context.services.maxBodyBytes);
  const draft = readFields(bytes);
  return draft instanceof Problem || draft.id === undefined ? draft : idInPost;
}

const lineTooLong = (limitBytes: number): Problem =>
  new Problem(
    "content-too-large",
    `The line is longer than ${limitBytes} bytes. It was not stored.`,
  );

export function resultLine(bulk: BulkRequest, line: number, result: Written | Problem): string {
  if (result instanceof Problem) return problemLine(bulk, line, result);
  if (bulk.isMinimal) return "";
  return `{"line":${line},"status":201,"location":"${bulk.context.collectionUrl}/${result.resource.id}"}\n`;
}

/** A problem without a line is about the whole request. */
export function problemLine(
  { context }: BulkRequest,
  line: number | undefined,
  problem: Problem,
): string {
  const { services, path, requestId } = context;
  const body = problemBody(problem, services.base, `${services.base}${path}`, requestId);
  const number = line === undefined ? "" : `"line":${line},`;
  return `{${number}"status":${problemStatus[problem.kind]},"problem":${body}}\n`;
}

/** The status is 200; each line has its own status. */
export function ndjsonResponse(
  { context, type, isMinimal, coding }: BulkRequest,
  texts: AsyncGenerator<string>,
  isReplay = false,
): Response {
  const headers = new Headers(context.services.jsonHeaders);
  headers.set("Content-Type", type);
  headers.set("Cache-Control", noCache);
  if (isMinimal) headers.set("Preference-Applied", "return=minimal");
  if (isReplay) headers.set(replayedHeader, "true");
  const release = releaseOnAbort(context.request, () => context.memory.release());
  context.isReadWhileAnswered = true;
  return new Response(streamOf(texts, coding, release), {
    headers: coding === undefined ? headers : encodedHeaders(headers, coding),
  });
}
