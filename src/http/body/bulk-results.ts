// Reads the operations of an NDJSON or CSV request, and writes the lines of its response.

import { type BulkOperation, isNew, type Written } from "../../domain/write/operation.ts";
import { type Reply, ReplyFields, replyOf } from "../../lib/reply.ts";
import { isResourceId } from "../../model/id.ts";
import { Problem } from "../../model/problem.ts";
import type { Coding } from "../headers/content-coding.ts";
import { replayedHeader } from "../headers/idempotency-key.ts";
import type { RequestContext } from "../request/context.ts";
import { limitCreation } from "../request/rate-limit.ts";
import { problemBody, problemStatus } from "../response/problem.ts";
import { encodedFields } from "../response/representation.ts";
import { noCache, releaseOnAbort } from "../response/response.ts";
import type { BulkLine, LineReader } from "./bulk-lines.ts";
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
  readonly lines: LineReader;
  /** The field by which resources are created or replaced; without it all are created. */
  readonly key: string | undefined;
  readonly isDryRun: boolean;
}

export const noLines = new Problem(
  "invalid-body",
  "The body has no lines; send lines of NDJSON, or CSV with a header row.",
  { errors: [{ pointer: "", detail: "at least one line is needed" }] },
);

/** The work that reading a line takes: more than its bytes. */
export const workOf = ({ size }: BulkLine): number => 500 + size;

/** Returns the operation of a line. */
export function readLine({ context, key }: BulkRequest, line: BulkLine): BulkOperation | Problem {
  const tooMany = limitCreation(context, context.collection.rules);
  if (tooMany !== undefined) return tooMany;
  const draft = line.read();
  if (draft instanceof Problem) return draft;
  const idOf = key === undefined ? context.lineOptions?.idOf : undefined;
  // A line that was imported before creates nothing.
  if (idOf !== undefined && draft.id === undefined)
    return { kind: "put", id: idOf(line.number), draft, condition: isNew };
  if (key === undefined) return draft.id === undefined ? { kind: "create", draft } : idInLine;
  if (key !== "id") return { kind: "upsert", field: key, draft };
  const { id } = draft;
  return typeof id === "string" && isResourceId(id) ? { kind: "put", id, draft } : idNeeded;
}

const idInLine = new Problem(
  "invalid-body",
  "The server chooses the id of a resource created by POST.",
  {
    errors: [
      { pointer: "/id", detail: "leave the id out, or send ?key=id to create or replace by id" },
    ],
  },
);

const idNeeded = new Problem("invalid-body", "With ?key=id each line needs an id.", {
  errors: [
    {
      pointer: "/id",
      detail:
        "an id has 1 to 128 characters of A-Z a-z 0-9 . _ ~ -, and starts with a letter or digit",
    },
  ],
});

/** A new resource of a dry run has no address, because its id is chosen when it is created. */
export function resultLine(bulk: BulkRequest, line: number, result: Written | Problem): string {
  if (result instanceof Problem) return problemLine(bulk, line, result);
  if (bulk.isMinimal) return "";
  const { isNew, resource } = result;
  const { key, isDryRun, context } = bulk;
  const isKnown = !isDryRun || !isNew || key === "id";
  const location = isKnown ? `,"location":"${context.collectionUrl}/${resource.id}"` : "";
  return `{"line":${line},"status":${isNew ? 201 : 200}${dryRunMark(bulk)}${location}}\n`;
}

const dryRunMark = ({ isDryRun }: BulkRequest): string => (isDryRun ? ',"dryRun":true' : "");

/** Counts the results, for the summary at the end. */
export class BulkCount {
  lines = 0;
  #created = 0;
  #replaced = 0;

  add(result: Written | Problem): void {
    this.lines++;
    if (result instanceof Problem) return;
    if (result.isNew) this.#created++;
    else this.#replaced++;
  }

  summary(bulk: BulkRequest): string {
    const replaced = bulk.key === undefined ? "" : `,"replaced":${this.#replaced}`;
    const count = `"lines":${this.lines},"created":${this.#created}${replaced}`;
    return `{${count}${dryRunMark(bulk)}}\n`;
  }
}

/** A problem without a line is about the whole request. */
export function problemLine(bulk: BulkRequest, line: number | undefined, problem: Problem): string {
  const { services, path, requestId } = bulk.context;
  const body = problemBody(problem, services.base, `${services.base}${path}`, requestId);
  const number = line === undefined ? "" : `"line":${line},`;
  const status = problemStatus[problem.kind];
  return `{${number}"status":${status}${dryRunMark(bulk)},"problem":${body}}\n`;
}

/** The status is 200; each line has its own status. */
export function bulkReply(
  { context, type, isMinimal, coding }: BulkRequest,
  texts: AsyncGenerator<string>,
  isReplay = false,
): Reply {
  const fields = new ReplyFields(context.services.jsonFields);
  fields.set("Content-Type", type);
  fields.set("Cache-Control", noCache);
  if (isMinimal) fields.set("Preference-Applied", "return=minimal");
  if (isReplay) fields.set(replayedHeader, "true");
  const release = releaseOnAbort(context.request, () => context.memory.release());
  context.isReadWhileAnswered = true;
  const body = streamOf(texts, coding, release, context.client);
  return replyOf(200, coding === undefined ? fields : encodedFields(fields, coding), body);
}
