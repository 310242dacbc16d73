// Handles the admin route of slow queries.

import type { SlowQuery } from "../../domain/slow-queries.ts";
import type { Reply } from "../../lib/reply.ts";
import { Problem } from "../../model/problem.ts";
import type { SlowQueryView } from "../../model/schemas/slow-query.ts";
import { timeText } from "../../model/schemas/time.ts";
import { checkAccept, jsonTypes } from "../headers/media-type.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { json } from "../response/response.ts";

export function listSlowQueries(context: RequestContext): Reply | Problem {
  const rejected = rejectParameters(context) ?? checkAccept(context.request.headers, jsonTypes);
  if (rejected !== undefined) return rejected;
  const queries = context.services.slowQueries.list(context.principal);
  if (queries instanceof Problem) return queries;
  return json(context, 200, { data: queries.map(viewOf) });
}

const viewOf = ({ shape, lastAt, longestMs, totalMs, ...query }: SlowQuery): SlowQueryView => ({
  collection: query.collection,
  where: shape.where,
  sort: [...shape.sort],
  search: shape.isSearch,
  count: query.count,
  stopped: query.stopped,
  lastAt: timeText(lastAt),
  longestMs: Math.round(longestMs),
  totalMs: Math.round(totalMs),
  checked: query.checked,
  plan: query.plan,
  missingIndexes: query.missingIndexes,
  relatedIndexes: query.relatedIndexes,
  undeclaredFields: [...query.undeclaredFields],
});
