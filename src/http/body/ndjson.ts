// Handles POST of NDJSON: creates a resource from each line and streams a result for each.

import { setTimeout as wait } from "node:timers/promises";
import type { Written } from "../../domain/write/operation.ts";
import { type Line, LineSplitter } from "../../lib/json/line-splitter.ts";
import { Reservation } from "../../lib/memory-budget.ts";
import { Outage } from "../../model/outage.ts";
import { Problem } from "../../model/problem.ts";
import { chooseCoding } from "../headers/content-coding.ts";
import { readKey } from "../headers/idempotency-key.ts";
import { checkNdjsonType, chooseType, ndjsonTypes } from "../headers/media-type.ts";
import { readPreference } from "../headers/prefer.ts";
import type { RequestContext } from "../request/context.ts";
import { invalid, readParameters, type SearchParams } from "../request/request-target.ts";
import { problemFromError } from "../response/problem.ts";
import { emptyBody, hasNoBody, readContent } from "./content.ts";
import type { ByteLimit } from "./decoding.ts";
import { createAtomic } from "./ndjson-atomic.ts";
import { NdjsonPipeline } from "./ndjson-pipeline.ts";
import {
  type BulkRequest,
  ndjsonResponse,
  problemLine,
  readLine,
  resultLine,
} from "./ndjson-results.ts";

/** The limit of one stream. */
const maxStreamBytes = 16 * 1024 ** 3;

/** How often and how long a write is retried while the store is busy. */
const busyWaits = { most: 100, ms: 50 } as const;

export async function createMany(context: RequestContext): Promise<Response | Problem> {
  const { headers } = context.request;
  const key = readKey(headers);
  if (key instanceof Problem) return key;
  const isAtomic = readAtomic(context.searchParams);
  if (isAtomic instanceof Problem) return isAtomic;
  const rejected =
    (hasNoBody(headers) ? emptyBody : undefined) ??
    checkNdjsonType(headers) ??
    context.collection.requireKey(key) ??
    (key !== undefined && !isAtomic ? keyWithoutAtomic : undefined);
  if (rejected !== undefined) return rejected;
  const type = chooseType(headers, ndjsonTypes);
  if (type instanceof Problem) return type;
  const coding = chooseCoding(headers, Number.POSITIVE_INFINITY);
  if (coding instanceof Problem) return coding;
  const isMinimal = readPreference(headers) === "minimal";
  const bulk = { context, type, isMinimal, coding };
  return isAtomic ? createAtomic(bulk, key) : createEach(bulk);
}

export function readAtomic(searchParams: SearchParams): boolean | Problem {
  const parameters = readParameters(searchParams, ["atomic"]);
  if (parameters instanceof Problem) return parameters;
  const { atomic = "false" } = parameters;
  if (atomic === "true" || atomic === "false") return atomic === "true";
  return invalid([{ parameter: "atomic", detail: "atomic is one of: true, false." }]);
}

const keyWithoutAtomic = new Problem(
  "invalid-parameter",
  "An Idempotency-Key with NDJSON needs atomic=true.",
  {
    errors: [
      {
        parameter: "atomic",
        detail: "send ?atomic=true with the key: separate lines cannot be replayed",
      },
    ],
  },
);

/** Creates each line independently while the body arrives. */
async function createEach(bulk: BulkRequest): Promise<Response | Problem> {
  const { context, isMinimal } = bulk;
  const count = { lines: 0, created: 0 };
  let outage: Problem | undefined;
  const pipeline = new NdjsonPipeline(async (lines) => {
    const results = outage === undefined ? await endsOf(lines) : lines.map(() => outage as Problem);
    count.lines += lines.length;
    let text = "";
    for (const [index, line] of lines.entries()) {
      const result = results[index] ?? emptyBody;
      if (!(result instanceof Problem)) count.created++;
      text += resultLine(bulk, line.number, result);
    }
    return text;
  }, new Reservation(context.services.memory));
  const endsOf = async (lines: readonly Line[]): Promise<readonly (Written | Problem)[]> => {
    try {
      return await createGroup(bulk, lines);
    } catch (thrown) {
      // While nothing is stored, the whole request can simply be sent again.
      if (count.lines === 0) throw thrown;
      context.services.logFailure(context, thrown);
      outage = problemFromError(thrown);
      return lines.map(() => outage as Problem);
    }
  };
  const content = readContent(context, streamLimit);
  const results = pipeline.results(content, new LineSplitter(context.services.maxBodyBytes));
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
    if (isMinimal) yield `${JSON.stringify(count)}\n`;
  }
  return ndjsonResponse(bulk, texts());
}

const streamLimit: ByteLimit = {
  bytes: maxStreamBytes,
  problem: new Problem(
    "content-too-large",
    `A stream may have at most ${maxStreamBytes} bytes. The results before this line are stored.`,
  ),
};

/** Creates the resources of a group and returns a result for each line. */
async function createGroup(
  bulk: BulkRequest,
  lines: readonly Line[],
): Promise<readonly (Written | Problem)[]> {
  const read = lines.map((line) => readLine(bulk, line));
  const drafts = read.flatMap((draft) => (draft instanceof Problem ? [] : [draft]));
  const { services, collection } = bulk.context;
  const created = await retryWhileBusy(() => services.writes.createEach(collection, drafts));
  let next = 0;
  return read.map((draft) => (draft instanceof Problem ? draft : (created[next++] ?? emptyBody)));
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
