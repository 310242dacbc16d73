// Handles POST of NDJSON and CSV: writes a resource from each line and streams a result for each.

import { setTimeout as wait } from "node:timers/promises";
import type { BulkOperation, Written } from "../../domain/write/operation.ts";
import { Reservation } from "../../lib/memory-budget.ts";
import type { Reply } from "../../lib/reply.ts";
import { eachInTurns } from "../../lib/turns.ts";
import { Outage } from "../../model/outage.ts";
import { Problem } from "../../model/problem.ts";
import { chooseCoding } from "../headers/content-coding.ts";
import { readKey } from "../headers/idempotency-key.ts";
import { chooseType, ndjsonTypes } from "../headers/media-type.ts";
import { readPreference } from "../headers/prefer.ts";
import type { RequestContext } from "../request/context.ts";
import { problemFromError } from "../response/problem.ts";
import { atomicLimits, writeAtomic } from "./bulk-atomic.ts";
import { type BulkLine, filterLines } from "./bulk-lines.ts";
import { readBulkParameters } from "./bulk-parameters.ts";
import { BulkPipeline, type GroupLimits, groupsBeside } from "./bulk-pipeline.ts";
import {
  BulkCount,
  type BulkRequest,
  bulkReply,
  noLines,
  problemLine,
  readLine,
  resultLine,
  workOf,
} from "./bulk-results.ts";
import { hasNoBody, readContent } from "./content.ts";
import type { ByteLimit } from "./decoding.ts";

/** The limit of one stream. */
const maxStreamBytes = 16 * 1024 ** 3;

/** How often and how long a write is retried while the store is busy. */
const busyWaits = { most: 100, ms: 50 } as const;

/** `checkCondition` returns a problem when a precondition of the request is not met. */
export async function writeMany(
  context: RequestContext,
  checkCondition: (context: RequestContext) => Promise<Problem | undefined>,
): Promise<Reply | Problem> {
  const { headers } = context.request;
  const key = readKey(headers);
  if (key instanceof Problem) return key;
  const parameters = readBulkParameters(context);
  if (parameters instanceof Problem) return parameters;
  const rejected =
    (hasNoBody(headers) ? noLines : undefined) ??
    context.collection.requireKey(key) ??
    (key !== undefined && !parameters.isAtomic ? keyWithoutAtomic : undefined);
  if (rejected !== undefined) return rejected;
  const type = chooseType(headers, ndjsonTypes);
  if (type instanceof Problem) return type;
  const unmet = await checkCondition(context);
  if (unmet !== undefined) return unmet;
  const coding = chooseCoding(headers, Number.POSITIVE_INFINITY);
  if (coding instanceof Problem) return coding;
  const isMinimal = readPreference(headers) === "minimal";
  const { isSkipped } = context.lineOptions ?? {};
  const lines = isSkipped ? filterLines(parameters.lines, isSkipped) : parameters.lines;
  const bulk = { ...parameters, context, type, isMinimal, coding, lines };
  return parameters.isAtomic ? writeAtomic(bulk, key) : writeEach(bulk);
}

const keyWithoutAtomic = new Problem(
  "invalid-parameter",
  "An Idempotency-Key with NDJSON or CSV needs atomic=true.",
  {
    errors: [
      {
        parameter: "atomic",
        detail: "send ?atomic=true with the key: separate lines cannot be replayed",
      },
    ],
  },
);

/** Writes each line independently while the body arrives. */
async function writeEach(bulk: BulkRequest): Promise<Reply | Problem> {
  const { context, isMinimal, isDryRun } = bulk;
  const count = new BulkCount();
  let outage: Problem | undefined;
  const pipeline = new BulkPipeline(
    {
      read: (lines) => readGroup(bulk, lines),
      async write(group) {
        const results = outage === undefined ? await endsOf(group) : group.map(() => outage);
        let text = "";
        group.forEach(({ number }, index) => {
          const result = results[index] ?? noLines;
          count.add(result);
          text += resultLine(bulk, number, result);
        });
        return text;
      },
    },
    new Reservation(context.services.memory),
    isDryRun ? () => trialGroups : groupsBeside(context.services.answered),
  );
  const endsOf = async (group: readonly ReadLine[]): Promise<readonly (Written | Problem)[]> => {
    try {
      return await writeGroup(bulk, group);
    } catch (thrown) {
      // While nothing is stored, the whole request can simply be sent again.
      if (count.lines === 0) throw thrown;
      context.services.logFailure(context, thrown);
      const problem = problemFromError(thrown);
      outage = problem;
      return group.map(() => problem);
    }
  };
  const content = readContent(context, streamLimit);
  const results = pipeline.results(content, bulk.lines);
  // A waiting generator cannot be ended from outside, so the pipeline is aborted.
  const { signal } = context.request;
  signal.addEventListener("abort", () => pipeline.abort());
  if (signal.aborted) pipeline.abort();
  const first = await results.next();
  // A problem sets the status only while nothing is stored; later it is a line of the response.
  if (first.value instanceof Problem && count.lines === 0) {
    await results.return(undefined);
    return first.value;
  }
  async function* all(): AsyncGenerator<string | Problem> {
    if (!first.done) yield first.value;
    yield* results;
  }
  async function* texts(): AsyncGenerator<string> {
    for await (const result of all())
      yield typeof result === "string" ? result : problemLine(bulk, undefined, result);
    if (isMinimal) yield count.summary(bulk);
  }
  return bulkReply(bulk, texts());
}

const streamLimit: ByteLimit = {
  bytes: maxStreamBytes,
  problem: new Problem(
    "content-too-large",
    `A stream may have at most ${maxStreamBytes} bytes. The results before this line are stored.`,
  ),
};

/** The lines of a dry run that are compared with each other. */
const trialGroups: GroupLimits = {
  lines: atomicLimits.maxLines,
  bytes: 8 * 1024 * 1024,
  isEager: false,
};

interface ReadLine {
  readonly number: number;
  readonly operation: BulkOperation | Problem;
}

async function readGroup(
  bulk: BulkRequest,
  lines: readonly BulkLine[],
): Promise<readonly ReadLine[]> {
  const group: ReadLine[] = [];
  await eachInTurns(lines, workOf, (line) =>
    group.push({ number: line.number, operation: readLine(bulk, line) }),
  );
  return group;
}

/** Writes the resources of a group and returns a result for each line. */
async function writeGroup(
  { context, isDryRun }: BulkRequest,
  group: readonly ReadLine[],
): Promise<readonly (Written | Problem)[]> {
  const operations = group
    .map(({ operation }) => operation)
    .filter((each) => !(each instanceof Problem));
  const { services, collection } = context;
  const written = await retryWhileBusy(() =>
    isDryRun
      ? services.writes.tryEach(collection, operations)
      : services.writes.runEach(collection, operations),
  );
  let next = 0;
  return group.map(({ operation }) =>
    operation instanceof Problem ? operation : (written[next++] ?? noLines),
  );
}

async function retryWhileBusy<T>(attempt: () => Promise<T>): Promise<T> {
  for (let count = 0; ; count++) {
    try {
      return await attempt();
    } catch (thrown) {
      const isBusy = thrown instanceof Outage && thrown.reason === "busy";
      if (!isBusy || count === busyWaits.most) throw thrown;
      await wait(busyWaits.ms);
    }
  }
}
