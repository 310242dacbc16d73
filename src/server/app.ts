// Builds a running server from a config: opens the store and connects all services.

import { join } from "node:path";
import { sendFile } from "#runtime";
import { Access } from "../domain/access.ts";
import { AccessDocuments } from "../domain/access-documents.ts";
import { Actions } from "../domain/actions.ts";
import { type BackupStatus, Backups } from "../domain/backups.ts";
import { Collections } from "../domain/collections.ts";
import { Expander } from "../domain/expand.ts";
import { Feeds } from "../domain/feeds.ts";
import { Lists } from "../domain/lists.ts";
import { Pictures } from "../domain/pictures.ts";
import { Resources } from "../domain/resources.ts";
import { ResumableUploads } from "../domain/resumable-uploads.ts";
import { Rights } from "../domain/rights/rights.ts";
import { Settings, type SettingValue } from "../domain/settings.ts";
import { SignedUrls } from "../domain/signed-urls.ts";
import { SlowQueries } from "../domain/slow-queries.ts";
import { TokenUses } from "../domain/token-uses.ts";
import { Tokens } from "../domain/tokens.ts";
import { Uploads } from "../domain/uploads.ts";
import { Erasures } from "../domain/write/erasures.ts";
import { Writes } from "../domain/write/writes.ts";
import { corsHeaders } from "../http/cors.ts";
import { Proxies } from "../http/headers/forwarded.ts";
import { AllowedHosts } from "../http/headers/host.ts";
import {
  createFetch,
  createSystemFetch,
  type Fetch,
  routeRequest,
  type SystemFetch,
} from "../http/pipeline.ts";
import type { Services } from "../http/request/context.ts";
import { RateLimitBuckets } from "../http/request/rate-limit-buckets.ts";
import { loggedPath, RequestLog } from "../http/request-log.ts";
import { RequestMetrics } from "../http/request-metrics.ts";
import { createParserErrorResponder, type ParserErrorResponder } from "../http/response/problem.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { MemoryBudget } from "../lib/memory-budget.ts";
import { type MetricFamily, Metrics } from "../lib/metrics.ts";
import type { Action } from "../model/action.ts";
import { redactSecrets } from "../model/token.ts";
import { PictureCache } from "../store/pictures/cache.ts";
import { Renderer } from "../store/pictures/renderer.ts";
import type { Committer, Owner } from "../store/remote-committer.ts";
import type { Config } from "./config.ts";
import { describeSettings } from "./describe-settings.ts";
import { fileLimitsOf } from "./file-limits.ts";
import { FilesHealth } from "./files-health.ts";
import { type Log, lineWriter } from "./log.ts";
import { hasFiles, isInBucket, openFiles } from "./open-files.ts";
import { type OpenStore, openStore } from "./open-store.ts";
import { measureProcess } from "./process-metrics.ts";
import { measureServices } from "./service-metrics.ts";
import { version } from "./version.ts";

export interface App {
  readonly fetch: Fetch;
  /** The same for commands, which may do everything. */
  readonly systemFetch: SystemFetch;
  /** Builds the response when the runtime rejects a request before it is parsed. */
  readonly errorResponse: ParserErrorResponder;
  readonly tokens: Tokens;
  readonly collections: Collections;
  readonly accessDocuments: AccessDocuments;
  readonly rights: Rights;
  readonly actions: Actions;
  readonly erasures: Erasures;
  /** The metrics of this process. */
  readonly metrics: Metrics;
  /** Sets how the metrics of all processes are collected. */
  readonly showMetrics: (collect: CollectMetrics) => void;
  /** Sets what is shown of scheduled backups. */
  readonly showBackups: (status: BackupStatus) => void;
  /** Sets what is shown of the settings. */
  readonly showSettings: (values: readonly SettingValue[]) => void;
  /** Writes for other processes. An empty list of changes checks that writing works. */
  readonly writer: Owner;
  /** Whether there are uploaded files. */
  hasFiles(): boolean;
  /** Removes files that no resource refers to, and returns their number. The first process calls it at start. */
  sweep(): Promise<number>;
  /** Removes unfinished uploads that have expired, and returns their number. */
  sweepUploads(): Promise<number>;
  /**
   * Writes to the data folder which process owns it and where it listens, and accepts changes from
   * commands. Logs a warning when commands cannot reach this process.
   */
  announce(address: string | undefined): Promise<void>;
  close(): Promise<void>;
}

export type CollectMetrics = () => MaybePromise<readonly MetricFamily[]>;

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** Returns the location of the data for people to read, without a password. */
export function describeStore({ store, data }: Pick<Config, "store" | "data">): string {
  if (store === undefined) return data;
  const { host, pathname } = new URL(store);
  return `postgres://${host}${pathname}`;
}

/** With a committer, another process does the writes. */
export async function assemble(
  config: Config,
  log: Log,
  committer?: Committer,
  loaded: readonly Action[] = [],
): Promise<App> {
  const openedAt = Date.now();
  const metrics = new Metrics();
  const report = (level: "error" | "info", message: string) => log[level](message);
  const store = await openStore(config, committer, report, metrics);
  try {
    // What another process has uploaded can be without a row for a while.
    const isShared = config.store !== undefined || committer !== undefined || isInBucket(config);
    const sweepAge = () => (isShared ? dayMs : Date.now() - openedAt);
    return build(config, log, store, loaded, sweepAge, metrics);
  } catch (error) {
    await store.close();
    throw error;
  }
}

function build(
  config: Config,
  log: Log,
  store: OpenStore,
  loaded: readonly Action[],
  sweepAge: () => number,
  metrics: Metrics,
): App {
  const clock = Date.now;
  const files = openFiles(config, sendFile);
  const filesHealth = new FilesHealth(files, log);
  const uses = new TokenUses(store);
  const access = new Access(store, clock, uses, (message) => log.warn(message));
  const tokens = new Tokens(store, clock, uses);
  const collections = new Collections(store, clock);
  const accessDocuments = new AccessDocuments(store, clock);
  const actions = new Actions(loaded, (errand, thrown) =>
    log.error({ ...errand, err: thrown }, "an action failed after its deadline"),
  );
  const fileLimits = fileLimitsOf(config);
  const cache = new PictureCache(join(config.data, "pictures"), config.pictureCacheBytes);
  const pictures = new Pictures(files, cache, new Renderer());
  const uploads = new Uploads(store, files, fileLimits, (keys) => pictures.forget(keys));
  const resumableUploads = new ResumableUploads(files.partial, {
    clock,
    // A key that prevents a second creation is stored at least as long as the upload.
    lifetimeMs: Math.min(config.keepUploadsHours, config.keepKeysHours) * hourMs,
    maxBytes: config.maxUnfinishedBytes,
  });
  const base = config.baseUrl ?? "";
  const tlsOnly = base.startsWith("https:");
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
  const memory = new MemoryBudget(Math.max(config.maxInFlightBytes, config.maxBodyBytes));
  const resources = new Resources(store);
  const writes = new Writes(store, access, uploads, {
    clock,
    maxBytes: config.maxBodyBytes,
    base,
    memory,
    maxCascade: config.maxCascade,
    fileLimits,
  });
  const rights = new Rights(store, clock, access, resources, writes);
  const requests = new RequestLog(lineWriter(log));
  const slowQueries = new SlowQueries(clock);
  const backups = new Backups();
  const settings = new Settings(describeSettings(config));
  const requestMetrics = new RequestMetrics(metrics);
  const stopMeasuring = measureProcess(metrics);
  measureServices(metrics, { memory, slowQueries, backups });
  let collect: CollectMetrics = () => metrics.read();
  const services: Services = {
    ...{ access, accessDocuments },
    lists: new Lists(store, access, config.maxBodyBytes),
    expander: new Expander(store, access, base),
    slowQueries,
    ...{ backups, settings },
    feeds: new Feeds(store, config.maxBodyBytes),
    resources,
    rights,
    tokens,
    collections,
    writes,
    uploads,
    signedUrls: new SignedUrls(store, access, clock),
    resumableUploads,
    perform: routeRequest,
    pictures,
    actions,
    unready: () => store.ready(),
    filesUnready: () => filesHealth.unready(),
    base,
    commonHeaders,
    jsonHeaders,
    corsOrigins,
    proxies: new Proxies(config.trustProxy),
    allowedHosts: new AllowedHosts(config.baseUrl, config.allowedHosts),
    rateLimits: new RateLimitBuckets({
      perAddress: config.rateLimitPerAddress,
      perToken: config.rateLimitPerToken,
    }),
    memory,
    tlsOnly,
    storeVersion: () => store.version?.(),
    maxBodyBytes: config.maxBodyBytes,
    keyLifetimeMs: config.keepKeysHours * hourMs,
    maxUploadBytes: config.maxUploadBytes,
    maxUnfinishedBytes: config.maxUnfinishedBytes,
    version,
    measureRequest: (context, status, ms) => requestMetrics.add(context, status, ms),
    metrics: () => collect(),
    ...logging(log, requests),
  };
  return {
    fetch: createFetch(services),
    systemFetch: createSystemFetch(services),
    errorResponse: createParserErrorResponder(services),
    tokens,
    collections,
    accessDocuments,
    rights,
    actions,
    erasures: new Erasures(store, access, uploads, { clock, maxBytes: config.maxBodyBytes, base }),
    hasFiles: () => hasFiles(config),
    metrics,
    showMetrics: (collectAll) => {
      collect = collectAll;
    },
    showBackups: (status) => backups.update(status),
    showSettings: (values) => settings.update(values),
    sweep: () => uploads.sweep(sweepAge()),
    sweepUploads: () => resumableUploads.sweep(),
    writer: store.writer,
    announce: (address) =>
      store.announce(version, address).catch((error) => {
        log.warn({ err: error }, "commands such as token create cannot reach this process");
      }),
    async close() {
      stopMeasuring();
      requests.flush();
      await pictures.close();
      await uses.flush();
      await store.close();
    },
  };
}

function logging(
  log: Log,
  requests: RequestLog,
): Pick<Services, "logRequest" | "logRefusal" | "logFailure" | "logSlowQuery"> {
  return {
    logRequest: log.isLevelEnabled("info")
      ? (context, status, ms) => requests.add(context, status, ms)
      : undefined,
    logRefusal: (requestId, status, detail, cause) =>
      cause === undefined
        ? log.info({ requestId, status, detail: redactSecrets(detail) }, "refused")
        : log.error({ requestId, status, detail: redactSecrets(detail), err: cause }, "failed"),
    logFailure: ({ requestId, request, path }, thrown) =>
      log.error(
        { requestId, method: request.method, path: redactSecrets(loggedPath(path)), err: thrown },
        "failed",
      ),
    logSlowQuery: ({ requestId }, { collection, missingIndexes }, run) =>
      log.warn(
        {
          requestId,
          collection,
          missingIndexes,
          checked: run.checked,
          milliseconds: Math.round(run.milliseconds),
        },
        run.isStopped
          ? "a query was stopped at its deadline"
          : "a query was slow or checked many resources one by one",
      ),
  };
}
