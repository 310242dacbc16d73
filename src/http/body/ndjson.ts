// Many resources in one POST: a JSON object on each line, and an answer with a line for each of them.

import { setTimeout as wait } from "node:timers/promises";
import { requireKey } from "../../domain/problems.ts";
import { type Line, LineSplitter } from "../../lib/json/line-splitter.ts";
import { Reservation } from "../../lib/memory-budget.ts";
import { Problem } from "../../model/problem.ts";
import type { Resource } from "../../model/resource.ts";
import { Outage } from "../../store/store.ts";
import type { RequestContext } from "../context.ts";
import { chooseCoding } from "../headers/content-coding.ts";
import { readKey } from "../headers/idempotency-key.ts";
import { chooseType, ndjsonTypes, refuseUnlessLines } from "../headers/media-type.ts";
import { readPreference } from "../headers/prefer.ts";
import { problemFromError } from "../problem.ts";
import { invalid, readParameters } from "../search-params.ts";
import { emptyBody, hasNoBody, readContent } from "./content.ts";
import type { ByteLimit } from "./decoding.ts";
import { createAtomic } from "./ndjson-atomic.ts";
import { NdjsonPipeline } from "./ndjson-pipeline.ts";
import { answerLines, draftIn, lineOf, type Order, resultOf } from "./ndjson-results.ts";

/** More than anyone should have to send again when it breaks off. */
const maxStreamBytes = 16 * 1024 ** 3;

/** An overload passes; who sends this much can wait for it, so long. */
const busyWaits = { most: 100, ms: 50 } as const;

export async function createMany(context: RequestContext): Promise<Response | Problem> {
  const { request, services, caller } = context;
  const { headers } = request;
  const name = context.param("collection");
  const key = readKey(headers);
  if (key instanceof Problem) return key;
  const isAtomic = readAtomic(context.query);
  if (isAtomic instanceof Problem) return isAtomic;
  const rules = await services.resources.target(caller, name);
  if (rules instanceof Problem) return rules;
  const refused =
    (hasNoBody(headers) ? emptyBody : undefined) ??
    refuseUnlessLines(headers) ??
    requireKey(rules, key) ??
    (key !== undefined && !isAtomic ? keyWithoutAtomic : undefined);
  if (refused !== undefined) return refused;
  const type = chooseType(headers, ndjsonTypes);
  if (type instanceof Problem) return type;
  const coding = chooseCoding(headers, Number.POSITIVE_INFINITY);
  if (coding instanceof Problem) return coding;
  const isMinimal = readPreference(headers) === "minimal";
  const order = { context, name, rules, type, isMinimal, coding };
  return isAtomic ? createAtomic(order, key) : createEach(order);
}

function readAtomic(query: string): boolean | Problem {
  const parameters = readParameters(query, ["atomic"]);
  if (parameters instanceof Problem) return parameters;
  const { atomic = "false" } = parameters;
  if (atomic === "true" || atomic === "false") return atomic === "true";
  return invalid([{ parameter: "atomic", detail: "atomic is one of: true, false." }]);
}

const keyWithoutAtomic = new Problem(
  "invalid-parameter",
  "With an Idempotency-Key many resources are created together or not at all.",
  {
    errors: [
      {
        parameter: "atomic",
        detail: "send ?atomic=true with the key: what is done line by line cannot be replayed",
      },
    ],
  },
);

/** Each line on its own, as it arrives. */
async function createEach(order: Order): Promise<Response | Problem> {
  const { context, isMinimal } = order;
  const count = { lines: 0, created: 0 };
  let outage: Problem | undefined;
  const intake = new NdjsonPipeline(async (lines) => {
    const ends = outage === undefined ? await endsOf(lines) : lines.map(() => outage as Problem);
    count.lines += lines.length;
    let text = "";
    for (const [index, line] of lines.entries()) {
      const end = ends[index] ?? emptyBody;
      if (!(end instanceof Problem)) count.created++;
      text += resultOf(order, line.number, end);
    }
    return text;
  }, new Reservation(context.services.memory));
  const endsOf = async (lines: readonly Line[]): Promise<readonly (Resource | Problem)[]> => {
    try {
      return await createGroup(order, lines);
    } catch (thrown) {
      // As long as nothing is done, all of it can simply be sent again.
      if (count.lines === 0) throw thrown;
      context.services.logFailure(context, thrown);
      outage = problemFromError(thrown);
      return lines.map(() => outage as Problem);
    }
  };
  const content = readContent(context, streamLimit);
  const results = intake.results(content, new LineSplitter(context.services.maxBodyBytes));
  // A generator that waits for a result cannot be ended from outside, so the intake is told.
  const { signal } = context.request;
  signal.addEventListener("abort", () => intake.leave());
  if (signal.aborted) intake.leave();
  const first = await results.next();
  // A problem has its own status only while nothing is stored; later it is a line of the answer.
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
      yield typeof result === "string" ? result : lineOf(order, undefined, result);
    if (isMinimal) yield `${JSON.stringify(count)}\n`;
  }
  return answerLines(order, texts());
}

const streamLimit: ByteLimit = {
  bytes: maxStreamBytes,
  problem: new Problem(
    "content-too-large",
    `A stream has at most ${maxStreamBytes} bytes. What was reported before was done.`,
  ),
};

/** What became of each line of a group. */
async function createGroup(
  order: Order,
  lines: readonly Line[],
): Promise<readonly (Resource | Problem)[]> {
  const read = lines.map((line) => draftIn(order, line));
  const drafts = read.flatMap((draft) => (draft instanceof Problem ? [] : [draft]));
  const { services, caller } = order.context;
  const created = await retryWhileBusy(() =>
    services.bulkCreate.create(caller, order.name, drafts),
  );
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
