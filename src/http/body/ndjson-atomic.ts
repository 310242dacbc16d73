// Handles NDJSON with atomic=true: creates all resources or none.

import { createHash } from "node:crypto";
import { overloaded } from "../../domain/problems.ts";
import type { Refused } from "../../domain/write/operation.ts";
import { reportLimits } from "../../lib/json/error-report.ts";
import { type Line, LineSplitter } from "../../lib/json/line-splitter.ts";
import type { Draft } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import { idempotencyKeyOf } from "../headers/idempotency-key.ts";
import { bodyAborted, emptyBody, readContent } from "./content.ts";
import { type BulkRequest, ndjsonResponse, readLine, resultLine } from "./ndjson-results.ts";

/** Atomic requests are held in memory and written in one transaction. */
export const atomicLimits = { maxLines: 10_000, maxBytes: 32 * 1024 * 1024 } as const;

/** Reads all lines, validates them and writes them in one transaction. */
export async function createAtomic(
  bulk: BulkRequest,
  key: string | undefined,
): Promise<Response | Problem> {
  const { context } = bulk;
  const { services, collection } = context;
  const read = await readAtomicLines(bulk);
  if (read instanceof Problem) return read;
  const { lines, drafts, rejected, fingerprint } = read;
  if (lines.length === 0) return emptyBody;
  if (rejected.length > 0) return atomicProblem(lines, rejected);

  const once = key === undefined ? undefined : idempotencyKeyOf(context, key, fingerprint);
  const done = await services.writes.createAll(collection, drafts, once);
  if (done instanceof Problem) return done;
  if (!("results" in done)) return atomicProblem(lines, done);

  const { isReplay } = done;
  const results = done.results.map((result, index) => resultLine(bulk, lines[index] ?? 0, result));
  const count = { lines: lines.length, created: isReplay ? 0 : results.length };
  const output = bulk.isMinimal ? `${JSON.stringify(count)}\n` : results.join("");
  async function* texts(): AsyncGenerator<string> {
    yield output;
  }
  return ndjsonResponse(bulk, texts(), isReplay);
}

interface AtomicLines {
  /** The line numbers. */
  readonly lines: readonly number[];
  readonly drafts: readonly Draft[];
  readonly rejected: readonly Refused[];
  readonly fingerprint: Uint8Array;
}

async function readAtomicLines(bulk: BulkRequest): Promise<AtomicLines | Problem> {
  const { context } = bulk;
  const { maxBytes: bytes, maxLines } = atomicLimits;
  const hash = createHash("sha256");
  const splitter = new LineSplitter(context.services.maxBodyBytes);
  const lines: number[] = [];
  const drafts: Draft[] = [];
  const rejected: Refused[] = [];
  const add = (line: Line) => {
    const draft = readLine(bulk, line);
    if (draft instanceof Problem) rejected.push({ index: lines.length, problem: draft });
    else drafts.push(draft);
    lines.push(line.number);
  };
  for await (const chunk of readContent(context, { bytes, problem: tooLargeForAtomic })) {
    if (chunk instanceof Problem) return chunk;
    if (!context.memory.take(chunk.byteLength)) return overloaded;
    if (context.request.signal.aborted) return bodyAborted;
    hash.update(chunk);
    splitter.add(chunk).forEach(add);
    if (lines.length > maxLines) return tooLargeForAtomic;
  }
  splitter.end().forEach(add);
  if (lines.length > maxLines) return tooLargeForAtomic;
  return { lines, drafts, rejected, fingerprint: hash.digest() };
}

const tooLargeForAtomic = new Problem(
  "content-too-large",
  `With atomic=true a request may have at most ${atomicLimits.maxLines} lines and ${atomicLimits.maxBytes} bytes. Nothing was stored; send fewer lines, or leave atomic out.`,
);

/** Returns the problem of the first rejected line, with the errors of all lines. */
function atomicProblem(lines: readonly number[], rejected: readonly Refused[]): Problem {
  const allErrors = rejected.flatMap(({ index, problem: { errors, detail } }) => {
    const inner = errors?.flatMap((error) => ("pointer" in error ? [error] : [])) ?? [];
    const output = inner.length > 0 ? inner : [{ pointer: "", detail }];
    return output.map((error) => ({ ...error, pointer: `/${lines[index]}${error.pointer}` }));
  });
  const [first] = rejected;
  const problem = first?.problem ?? emptyBody;
  // A missing permission is about the whole request.
  if (problem.scope !== undefined || problem.kind === "unauthenticated") return problem;
  const errors = allErrors.slice(0, reportLimits.maxErrors);
  const detail = `Nothing was stored. Line ${lines[first?.index ?? 0]}: ${problem.detail}`;
  return new Problem(problem.kind, detail, { errors });
}
