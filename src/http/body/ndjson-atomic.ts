// Many resources that are created together: all of them, or none.

import { createHash } from "node:crypto";
import type { BulkRefused } from "../../domain/bulk-create.ts";
import { overloaded } from "../../domain/problems.ts";
import { reportLimits } from "../../lib/json/error-report.ts";
import { type Line, LineSplitter } from "../../lib/json/line-splitter.ts";
import type { Draft } from "../../model/draft.ts";
import { Problem } from "../../model/problem.ts";
import { onceOf } from "../headers/idempotency-key.ts";
import { cutOff, emptyBody, readContent } from "./content.ts";
import { answerLines, draftIn, type Order, resultOf } from "./ndjson-results.ts";

/** What is created together is held in memory, and written in one go. */
export const atomicLimits = { maxLines: 10_000, maxBytes: 32 * 1024 * 1024 } as const;

/** All lines or none: read to the end, judged together, written in one transaction. */
export async function createAtomic(
  order: Order,
  key: string | undefined,
): Promise<Response | Problem> {
  const { context, name } = order;
  const { services, caller } = context;
  const read = await readAtomicLines(order);
  if (read instanceof Problem) return read;
  const { lines, drafts, refused, fingerprint } = read;
  if (lines.length === 0) return emptyBody;
  if (refused.length > 0) return refusedTogether(lines, refused);

  const once = key === undefined ? undefined : onceOf(context, key, fingerprint);
  const done = await services.bulkCreate.createAtomic(caller, name, drafts, once);
  if (done instanceof Problem) return done;
  if (!("resources" in done)) return refusedTogether(lines, done);

  const { resources, isReplay } = done;
  const results = resources.map((resource, index) => resultOf(order, lines[index] ?? 0, resource));
  const count = { lines: lines.length, created: isReplay ? 0 : resources.length };
  const told = order.isMinimal ? `${JSON.stringify(count)}\n` : results.join("");
  async function* texts(): AsyncGenerator<string> {
    yield told;
  }
  return answerLines(order, texts(), isReplay);
}

interface AtomicLines {
  /** Their numbers. */
  readonly lines: readonly number[];
  readonly drafts: readonly Draft[];
  readonly refused: readonly BulkRefused[];
  readonly fingerprint: Uint8Array;
}

async function readAtomicLines(order: Order): Promise<AtomicLines | Problem> {
  const { context } = order;
  const { maxBytes: bytes, maxLines } = atomicLimits;
  const hash = createHash("sha256");
  const cutter = new LineSplitter(context.services.maxBodyBytes);
  const lines: number[] = [];
  const drafts: Draft[] = [];
  const refused: BulkRefused[] = [];
  const add = (line: Line) => {
    const draft = draftIn(order, line);
    if (draft instanceof Problem) refused.push({ index: lines.length, problem: draft });
    else drafts.push(draft);
    lines.push(line.number);
  };
  for await (const chunk of readContent(context, { bytes, problem: tooMuchTogether })) {
    if (chunk instanceof Problem) return chunk;
    if (!context.memory.take(chunk.byteLength)) return overloaded;
    if (context.request.signal.aborted) return cutOff;
    hash.update(chunk);
    cutter.add(chunk).forEach(add);
    if (lines.length > maxLines) return tooMuchTogether;
  }
  cutter.end().forEach(add);
  if (lines.length > maxLines) return tooMuchTogether;
  return { lines, drafts, refused, fingerprint: hash.digest() };
}

const tooMuchTogether = new Problem(
  "content-too-large",
  `With atomic=true there are at most ${atomicLimits.maxLines} lines of ${atomicLimits.maxBytes} bytes in all. Nothing was stored; send less at once, or without atomic.`,
);

/** The problem of the first line that cannot be stored, with the faults of all; each with its line. */
function refusedTogether(lines: readonly number[], refused: readonly BulkRefused[]): Problem {
  const faults = refused.flatMap(({ index, problem: { errors, detail } }) => {
    const inner = errors?.flatMap((fault) => ("pointer" in fault ? [fault] : [])) ?? [];
    const told = inner.length > 0 ? inner : [{ pointer: "", detail }];
    return told.map((fault) => ({ ...fault, pointer: `/${lines[index]}${fault.pointer}` }));
  });
  const [first] = refused;
  const problem = first?.problem ?? emptyBody;
  // Who may not create at all may not create any line.
  if (problem.scope !== undefined || problem.kind === "unauthenticated") return problem;
  const errors = faults.slice(0, reportLimits.maxErrors);
  const detail = `Nothing was stored. Line ${lines[first?.index ?? 0]}: ${problem.detail}`;
  return new Problem(problem.kind, detail, { errors });
}
