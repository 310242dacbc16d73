// Handles NDJSON and CSV with atomic=true: writes all resources or none.

import { createHash } from "node:crypto";
import { overloaded } from "../../domain/problems.ts";
import type { AllDone, BulkOperation, Refused } from "../../domain/write/operation.ts";
import { reportLimits } from "../../lib/json/error-report.ts";
import type { Reply } from "../../lib/reply.ts";
import { eachInTurns, inTurns } from "../../lib/turns.ts";
import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import { Problem } from "../../model/problem.ts";
import { idempotencyKeyOf } from "../headers/idempotency-key.ts";
import type { BulkLine } from "./bulk-lines.ts";
import {
  BulkCount,
  type BulkRequest,
  bulkReply,
  noLines,
  readLine,
  resultLine,
  workOf,
} from "./bulk-results.ts";
import { bodyAborted, readContent } from "./content.ts";

/** Atomic requests are held in memory and written in one transaction. */
export const atomicLimits = { maxLines: 10_000, maxBytes: 32 * 1024 * 1024 } as const;

/** Reads all lines, validates them and writes them in one transaction. */
export async function writeAtomic(
  bulk: BulkRequest,
  key: string | undefined,
): Promise<Reply | Problem> {
  const { context, isMinimal } = bulk;
  const read = await readAtomicLines(bulk);
  if (read instanceof Problem) return read;
  const { lines, operations, rejected, fingerprint } = read;
  if (lines.length === 0) return noLines;
  if (rejected.length > 0) return atomicProblem(lines, rejected);

  const once = key === undefined ? undefined : idempotencyKeyOf(context, key, fingerprint);
  const done = await runAtomic(bulk, operations, once);
  if (done instanceof Problem) return done;
  if (!("results" in done)) return atomicProblem(lines, done);

  const { isReplay } = done;
  const count = new BulkCount();
  let output = "";
  for (const [index, result] of done.results.entries()) {
    if (result.kind !== "written") continue;
    output += resultLine(bulk, lines[index] ?? 0, result);
    if (isReplay) count.lines++;
    else count.add(result);
  }
  async function* texts(): AsyncGenerator<string> {
    yield isMinimal ? count.summary(bulk) : output;
  }
  return bulkReply(bulk, texts(), isReplay);
}

/** A dry run tries each line after those before it, and lists all that would be rejected. */
async function runAtomic(
  { context, isDryRun }: BulkRequest,
  operations: readonly BulkOperation[],
  once: IdempotencyKey | undefined,
): Promise<AllDone | readonly Refused[] | Problem> {
  const { services, collection } = context;
  if (!isDryRun) return services.writes.runAllIn(collection, operations, once);
  const results = await services.writes.tryEach(collection, operations, once?.key);
  const rejected = results.flatMap((result, index) =>
    result instanceof Problem ? [{ index, problem: result }] : [],
  );
  if (rejected.length > 0) return rejected;
  return { results: results.filter((result) => !(result instanceof Problem)), isReplay: false };
}

interface AtomicLines {
  /** The line numbers. */
  readonly lines: readonly number[];
  readonly operations: readonly BulkOperation[];
  readonly rejected: readonly Refused[];
  readonly fingerprint: Uint8Array;
}

async function readAtomicLines(bulk: BulkRequest): Promise<AtomicLines | Problem> {
  const { context, lines: reader } = bulk;
  const { maxBytes: bytes, maxLines } = atomicLimits;
  const hash = createHash("sha256");
  const lines: number[] = [];
  const operations: BulkOperation[] = [];
  const rejected: Refused[] = [];
  const add = async (found: readonly BulkLine[] | Problem): Promise<Problem | undefined> => {
    if (found instanceof Problem) return found;
    await eachInTurns(found, workOf, (line) => {
      const operation = readLine(bulk, line);
      if (operation instanceof Problem) rejected.push({ index: lines.length, problem: operation });
      else operations.push(operation);
      lines.push(line.number);
    });
    return lines.length > maxLines ? tooLargeForAtomic : undefined;
  };
  const content = readContent(context, { bytes, problem: tooLargeForAtomic });
  for await (const chunk of inTurns(content)) {
    if (chunk instanceof Problem) return chunk;
    if (!context.memory.take(chunk.byteLength)) return overloaded;
    if (context.request.signal.aborted) return bodyAborted;
    hash.update(chunk);
    const problem = await add(reader.add(chunk));
    if (problem !== undefined) return problem;
  }
  return (await add(reader.end())) ?? { lines, operations, rejected, fingerprint: hash.digest() };
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
  const problem = first?.problem ?? noLines;
  // A missing permission is about the whole request.
  if (problem.scope !== undefined || problem.kind === "unauthenticated") return problem;
  const errors = allErrors.slice(0, reportLimits.maxErrors);
  const detail = `Nothing was stored. Line ${lines[first?.index ?? 0]}: ${problem.detail}`;
  return new Problem(problem.kind, detail, { errors });
}
