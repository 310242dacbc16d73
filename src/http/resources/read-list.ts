// Reads a list for a request: keeps the connection open meanwhile, and reports what was slow.

import type { ListResult, PlannedList } from "../../domain/lists.ts";
import { overloaded } from "../../domain/problems.ts";
import { manyChecked, type SlowQuery } from "../../domain/slow-queries.ts";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { ListedIndex } from "../../model/listed-index.ts";
import { Outage } from "../../model/outage.ts";
import { Problem } from "../../model/problem.ts";
import { indexPlanOf } from "../../model/query/index-plan.ts";
import { largePageBytes } from "../../model/query/list-request.ts";
import { missingIndexes } from "../../model/query/missing-indexes.ts";
import { hasAllResources } from "../../model/query/query.ts";
import type { RequestContext } from "../request/context.ts";
import { problemFromError, queryTimeout } from "../response/problem.ts";

export interface TimedList extends ListResult, Timing {}

/** A result of which the resources may not be known. */
export type TimedPage = Omit<TimedList, "maskOf">;

interface Timing {
  /** The header of this name, when many resources were checked one by one. */
  readonly serverTiming?: string;
}

export function readList(
  context: RequestContext,
  planned: PlannedList,
  maxBytes?: number,
): MaybePromise<TimedList | Problem> {
  const { lists } = context.services;
  const { target, listRequest, query } = planned;
  if (query === undefined || hasAllResources(query)) {
    const { limit } = listRequest;
    const largeBytes = largePageBytes(target.collection, { limit, maxBytes });
    if (query === undefined && largeBytes === 0) return lists.read(planned, undefined, maxBytes);
    // Counted before it is read, so that many clients at once cannot take more.
    if (!context.memory.take(largeBytes)) return overloaded;
  }
  const startedAt = performance.now();
  const reading = lists.read(planned, context.readOptions, maxBytes);
  // A short query has its result at once.
  if (!(reading instanceof Promise)) return reading;
  const elapsed = () => performance.now() - startedAt;
  return reading.then(
    (listed) =>
      listed instanceof Problem ? listed : withTiming(context, planned, listed, elapsed()),
    (thrown) => stoppedProblem(context, planned, thrown, elapsed()),
  );
}

function withTiming(
  context: RequestContext,
  planned: PlannedList,
  listed: ListResult,
  milliseconds: number,
): TimedList {
  const checked = listed.scan?.checked ?? 0;
  record(context, planned, { milliseconds, checked, isStopped: false });
  // The number would tell a caller who sees a part how many other resources there are.
  const isWhole = listed.target.access.view("read").isWhole;
  if (checked < manyChecked || !isWhole) return listed;
  const duration = milliseconds.toFixed(1);
  return {
    ...listed,
    serverTiming: `scan;desc="${checked} resources checked";dur=${duration}`,
  };
}

/** A full queue, a deadline and a client that has left are no failures of the server. */
export function stoppedProblem(
  context: RequestContext,
  planned: PlannedList,
  thrown: unknown,
  milliseconds: number,
): Problem {
  if (!(thrown instanceof Outage)) throw thrown;
  if (thrown.reason === "crowded" || thrown.reason === "cancelled") return problemFromError(thrown);
  if (thrown.reason !== "timeout") throw thrown;
  const slow = record(context, planned, { milliseconds, checked: undefined, isStopped: true });
  const { target, query, listRequest, others } = planned;
  // Groups are counted anyway.
  const { isCounted } = query ?? listRequest;
  // The fields of rules are not named to callers who see a part.
  if (target.access.view("read").isByFields || slow === undefined || query === undefined)
    return queryTimeout(thrown, { isCounted });
  const { missingIndexes: indexes, relatedIndexes, undeclaredFields: undeclared } = slow;
  const plan = indexPlanOf(target.collection.definition);
  const uncounted = missingIndexes({ ...query, isCounted: false }, plan);
  return queryTimeout(thrown, {
    indexes,
    // The rules of one can name fields of another.
    related: others.every((other) => other.view("read").isWhole)
      ? Object.entries(relatedIndexes)
      : [],
    undeclared,
    isCounted,
    uncounted: uncounted.filter((index) => !indexes.some((one) => isSame(one, index))),
  });
}

const isSame = (one: ListedIndex, other: ListedIndex): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

function record(
  context: RequestContext,
  { target, query, others }: PlannedList,
  run: { milliseconds: number; checked: number | undefined; isStopped: boolean },
): SlowQuery | undefined {
  const { slowQueries, logSlowQuery } = context.services;
  const slow =
    query && slowQueries.record({ collection: target.collection, others, query, ...run });
  if (slow && slowQueries.isToLog(slow)) logSlowQuery(context, slow, run);
  return slow;
}
