// Connects the services of requests from a config. They are connected again when settings change.

import { Actions } from "../domain/actions.ts";
import { Expander } from "../domain/expand.ts";
import { Feeds } from "../domain/feeds.ts";
import { Lists } from "../domain/lists.ts";
import { Rights } from "../domain/rights/rights.ts";
import { SignedUrls } from "../domain/signed-urls.ts";
import { slowMs } from "../domain/slow-queries.ts";
import { Erasures } from "../domain/write/erasures.ts";
import { Writes } from "../domain/write/writes.ts";
import { corsHeaders } from "../http/cors.ts";
import { Proxies } from "../http/headers/forwarded.ts";
import { AllowedHosts } from "../http/headers/host.ts";
import {
  createFetch,
  createSystemFetch,
  routeRequest,
  type SystemFetch,
} from "../http/pipeline.ts";
import type { Services } from "../http/request/context.ts";
import { loggedPath, type RequestLog } from "../http/request-log.ts";
import { createParserErrorResponder, type ParserErrorResponder } from "../http/response/problem.ts";
import type { Fetch } from "../lib/client.ts";
import { consoleFiles, version } from "../lib/program.ts";
import type { Action } from "../model/action.ts";
import { redactSecrets } from "../model/token.ts";
import type { Config } from "./config.ts";
import { fileLimitsOf } from "./file-limits.ts";
import { clock, hourMs, type Lasting } from "./lasting.ts";
import type { Log } from "./log.ts";

export interface Connected {
  readonly fetch: Fetch;
  readonly systemFetch: SystemFetch;
  readonly errorResponse: ParserErrorResponder;
  readonly rights: Rights;
  readonly actions: Actions;
  readonly erasures: Erasures;
}

export function connect(lasting: Lasting, config: Config, loaded: readonly Action[]): Connected {
  const { log, store, access, uploads, resources, memory } = lasting;
  const base = config.baseUrl ?? "";
  const maxBytes = config.maxBodyBytes;
  const { maxCascade } = config;
  const fileLimits = fileLimitsOf(config);
  const options = { clock, maxBytes, base, memory, maxCascade, fileLimits };
  const writes = new Writes(store, access, uploads, options);
  const rights = new Rights(store, clock, access, resources, writes);
  const actions = new Actions(loaded, (details, thrown) =>
    log.error({ ...details, err: thrown }, "an action failed after its deadline"),
  );
  const services: Services = {
    ...pick(lasting),
    ...headersOf(config),
    ...logging(log, lasting.requests, config.logSample),
    ...{ writes, rights, actions, base, version },
    consoleFiles: config.console === "on" ? consoleFiles() : undefined,
    lists: new Lists(store, access, maxBytes),
    expander: new Expander(store, access, base),
    feeds: new Feeds(store, maxBytes),
    signedUrls: new SignedUrls(store, access, clock),
    perform: routeRequest,
    proxies: new Proxies(config.trustProxy, config.tlsCert !== undefined),
    allowedHosts: new AllowedHosts(config.baseUrl, config.allowedHosts),
    maxBodyBytes: maxBytes,
    keyLifetimeMs: config.keepKeysHours * hourMs,
    maxUploadBytes: config.maxUploadBytes,
    maxUnfinishedBytes: config.maxUnfinishedBytes,
  };
  return {
    fetch: createFetch(services),
    systemFetch: createSystemFetch(services),
    errorResponse: createParserErrorResponder(services),
    ...{ rights, actions },
    erasures: new Erasures(store, access, uploads, { clock, maxBytes, base }),
  };
}

/** The services that last. */
function pick(lasting: Lasting) {
  const { access, accessDocuments, tokens, collections, resources, uploads } = lasting;
  const { resumableUploads, pictures, slowQueries, backups, settings } = lasting;
  const { memory, rateLimits, store, filesHealth, requestMetrics, traces } = lasting;
  return {
    ...{ access, accessDocuments, tokens, collections, resources, uploads },
    ...{ resumableUploads, pictures, slowQueries, backups, settings, memory, rateLimits, traces },
    unready: () => store.ready(),
    filesUnready: () => filesHealth.unready(),
    storeVersion: () => store.version?.(),
    measureRequest: requestMetrics.add.bind(requestMetrics),
    answered: () => requestMetrics.count,
    metrics: () => lasting.collect(),
  };
}

function headersOf(config: Config) {
  const tlsOnly = config.baseUrl?.startsWith("https:") ?? false;
  const corsOrigins = config.corsOrigins === "*" ? "*" : new Set(config.corsOrigins);
  const commonHeaders = new Headers({
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    ...(tlsOnly ? { "strict-transport-security": "max-age=31536000" } : {}),
    ...corsHeaders(corsOrigins),
  });
  const jsonHeaders = new Headers(commonHeaders);
  jsonHeaders.set("content-type", "application/json");
  jsonHeaders.append("vary", "Accept, Accept-Encoding");
  const problemHeaders = new Headers(commonHeaders);
  problemHeaders.set("content-type", "application/problem+json");
  problemHeaders.set("cache-control", "no-store");
  return { tlsOnly, corsOrigins, commonHeaders, jsonHeaders, problemHeaders } as const;
}

function logging(
  log: Log,
  requests: RequestLog,
  sample: number,
): Pick<Services, "logRequest" | "logRefusal" | "logFailure" | "logSlowQuery"> {
  return {
    logRequest: log.isLevelEnabled("info") ? logRequestBy(requests, sample) : undefined,
    logRefusal: (requestId, status, detail, cause) =>
      cause === undefined
        ? log.info({ requestId, status, detail: redactSecrets(detail) }, "refused")
        : log.error({ requestId, status, detail: redactSecrets(detail), err: cause }, "failed"),
    logFailure: ({ requestId, request, path }, thrown) =>
      log.error(
        { requestId, method: request.method, path: redactSecrets(loggedPath(path)), err: thrown },
        "failed",
      ),
    logSlowQuery: ({ requestId }, { collection, shape, plan, ...advice }, run) =>
      log.warn(
        {
          ...{ requestId, collection },
          ...{ where: shape.where, sort: shape.sort, search: shape.isSearch, plan },
          missingIndexes: advice.missingIndexes,
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
