// Handles the route of the metrics, in the text format of Prometheus.

import { type MaybePromise, then } from "../../lib/maybe-promise.ts";
import { writeMetrics } from "../../lib/metrics.ts";
import type { Problem } from "../../model/problem.ts";
import type { RequestContext } from "../request/context.ts";
import { rejectParameters } from "../request/request-target.ts";
import { createResponse, noCache } from "../response/response.ts";

export const metricsType = "text/plain; version=0.0.4; charset=utf-8";

export function getMetrics(context: RequestContext): MaybePromise<Response | Problem> {
  const rejected = rejectParameters(context);
  if (rejected !== undefined) return rejected;
  const headers = new Headers(context.services.commonHeaders);
  headers.set("Content-Type", metricsType);
  headers.set("Cache-Control", noCache);
  return then(context.services.metrics(), (families) =>
    createResponse(context, writeMetrics(families), { status: 200, headers }),
  );
}
