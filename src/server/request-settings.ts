// What settings decide for all requests: the headers of responses, and what is logged.

import { slowMs } from "../domain/slow-queries.ts";
import { corsHeaders } from "../http/cors.ts";
import type { Services } from "../http/request/context.ts";
import { loggedPath, type RequestLog } from "../http/request-log.ts";
import { ReplyFields, SharedFields } from "../lib/reply.ts";
import { redactSecrets } from "../model/secret.ts";
import type { Config } from "./config.ts";
import { FailureCounts } from "./failure-counts.ts";
import type { Log } from "./log.ts";

export function headersOf(config: Config) {
  const corsOrigins = config.corsOrigins === "*" ? "*" : new Set(config.corsOrigins);
  const own = { "referrer-policy": "no-referrer", ...corsHeaders(corsOrigins) };
  return { corsOrigins, ...headersWith(config, own) } as const;
}

/** The website decides itself what its pages tell others, and CORS is about the API. */
export const websiteHeadersOf = (config: Config) =>
  ({ corsOrigins: "*", ...headersWith(config, {}) }) as const;

function headersWith(config: Config, own: Readonly<Record<string, string>>) {
  const tlsOnly = config.baseUrl?.startsWith("https:") ?? false;
  const commonFields = new SharedFields(
    Object.entries({
      "x-content-type-options": "nosniff",
      ...(tlsOnly ? { "strict-transport-security": "max-age=31536000" } : {}),
      ...own,
    }),
  );
  const json = new ReplyFields(commonFields);
  json.set("content-type", "application/json");
  json.append("vary", "Accept, Accept-Encoding");
  const problem = new ReplyFields(commonFields);
  problem.set("content-type", "application/problem+json");
  problem.set("cache-control", "no-store");
  const [jsonFields, problemFields] = [new SharedFields(json), new SharedFields(problem)];
  return { tlsOnly, commonFields, jsonFields, problemFields };
}

export function logging(
  log: Log,
  requests: RequestLog,
  sample: number,
): Pick<Services, "logRequest" | "logRefusal" | "logFailure" | "logSlowQuery"> {
  const failures = new FailureCounts();
  return {
    logRequest: log.isLevelEnabled("info") ? logRequestBy(requests, sample) : undefined,
    logRefusal: (requestId, status, detail, cause) =>
      cause === undefined
        ? log.info({ requestId, status, detail: redactSecrets(detail) }, "refused")
        : log.error({ requestId, status, detail: redactSecrets(detail), err: cause }, "failed"),
    logFailure: ({ requestId, request, path, services }, thrown) => {
      const leftOut = failures.take(thrown);
      if (leftOut === undefined) return;
      const sentPath = redactSecrets(loggedPath(services.apiPath + path));
      const what = { requestId, method: request.method, path: sentPath };
      log.error({ ...what, ...(leftOut > 0 && { leftOut }), err: thrown }, "failed");
    },
    logSlowQuery: ({ requestId }, { collection, shape, plan, ...advice }, run) =>
      log.warn(
        {
          requestId,
          collection,
          where: shape.where,
          sort: shape.sort,
          search: shape.isSearch,
          plan,
          missingIndexes: advice.missingIndexes,
          relatedIndexes: advice.relatedIndexes,
          undeclaredFields: advice.undeclaredFields,
          checked: run.checked,
          milliseconds: Math.round(run.milliseconds),
        },
        run.isStopped
          ? "a query was stopped at its deadline"
          : "a query was slow or checked many resources one by one",
      ),
  };
}

/** Logs all requests, or all errors, all slow requests and a share of the others. */
function logRequestBy(requests: RequestLog, sample: number): Services["logRequest"] {
  if (sample === 1) return (context, status, ms) => requests.add(context, status, ms);
  const mark = `,"sample":${sample}`;
  return (context, status, ms) => {
    if (status >= 400 || ms >= slowMs) requests.add(context, status, ms);
    else if (Math.random() < sample) requests.add(context, status, ms, mark);
  };
}
