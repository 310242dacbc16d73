// Opens what stays when settings change: the store, files, caches, counters and what is shown of the server.

import { join } from "node:path";
import { sendFile } from "#runtime";
import { Access } from "../domain/access.ts";
import { AccessDocuments } from "../domain/access-documents.ts";
import { Backups } from "../domain/backups.ts";
import { Collections } from "../domain/collections.ts";
import { Pictures } from "../domain/pictures.ts";
import { Resources } from "../domain/resources.ts";
import { ResumableUploads } from "../domain/resumable-uploads.ts";
import { Settings } from "../domain/settings.ts";
import { SlowQueries } from "../domain/slow-queries.ts";
import { TokenUses } from "../domain/token-uses.ts";
import { Tokens } from "../domain/tokens.ts";
import { Uploads } from "../domain/uploads.ts";
import { RateLimitBuckets } from "../http/request/rate-limit-buckets.ts";
import { RequestLog } from "../http/request-log.ts";
import { RequestMetrics } from "../http/request-metrics.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { MemoryBudget } from "../lib/memory-budget.ts";
import type { MetricFamily, Metrics } from "../lib/metrics.ts";
import { PictureCache } from "../store/pictures/cache.ts";
import { RendererProcess } from "../store/pictures/renderer.ts";
import type { Config } from "./config.ts";
import { describeSettings } from "./describe-settings.ts";
import { fileLimitsOf } from "./file-limits.ts";
import { FilesHealth } from "./files-health.ts";
import { type Log, lineWriter } from "./log.ts";
import { openFiles } from "./open-files.ts";
import type { OpenStore } from "./open-store.ts";
import type { OpenTraces } from "./open-traces.ts";
import { storeIdOf } from "./open-transfer.ts";
import { measureProcess } from "./process-metrics.ts";
import { measureServices } from "./service-metrics.ts";

export type CollectMetrics = () => MaybePromise<readonly MetricFamily[]>;

export const hourMs = 60 * 60 * 1000;
export const clock = (): number => Date.now();

/** What requests in progress share with those that come after a change of the settings. */
export type Lasting = ReturnType<typeof openLasting>;

export function openLasting(
  config: Config,
  log: Log,
  store: OpenStore,
  metrics: Metrics,
  tracing: OpenTraces | undefined,
) {
  const files = openFiles(config, { sendFile, findStore: () => storeIdOf(config) });
  const uses = new TokenUses(store);
  const fileLimits = fileLimitsOf(config);
  const uploadLimits = { clock, ...uploadLimitsOf(config) };
  const cache = new PictureCache(join(config.data, "pictures"), config.pictureCacheBytes);
  const pictures = new Pictures(files, cache, new RendererProcess());
  const memory = new MemoryBudget(memoryLimitOf(config));
  const rateLimits = new RateLimitBuckets(rateLimitsOf(config));
  const slowQueries = new SlowQueries(clock);
  const backups = new Backups();
  const stopMeasuring = measureProcess(metrics);
  const uploads = new Uploads(store, files, fileLimits, (keys) => pictures.forget(keys));
  const resumableUploads = new ResumableUploads(files.partial, uploadLimits);
  measureServices(metrics, { memory, slowQueries, backups, uploads, resumableUploads, store });
  const requests = new RequestLog(lineWriter(log));
  const collect: CollectMetrics = () => metrics.read();
  return {
    ...{ log, store, metrics, pictures, memory, rateLimits, slowQueries, backups, requests },
    ...{ uploads, resumableUploads },
    access: new Access(store, clock, uses, (message) => log.warn(message)),
    accessDocuments: new AccessDocuments(store, clock),
    tokens: new Tokens(store, clock, uses),
    collections: new Collections(store, clock),
    resources: new Resources(store),
    filesHealth: new FilesHealth(files, log),
    files,
    settings: new Settings(describeSettings(config)),
    requestMetrics: new RequestMetrics(metrics),
    traces: tracing?.traces,
    /** How the metrics of all processes are collected. */
    collect,
    /** Sets the limits of what lasts. */
    setLimits(next: Config): void {
      Object.assign(fileLimits, fileLimitsOf(next));
      Object.assign(uploadLimits, uploadLimitsOf(next));
      Object.assign(rateLimits, rateLimitsOf(next));
      store.setQueryDeadline(next.queryDeadline * 1_000);
      cache.maxBytes = next.pictureCacheBytes;
      memory.limitBytes = memoryLimitOf(next);
    },
    async close(): Promise<void> {
      stopMeasuring();
      requests.flush();
      await pictures.close();
      await uses.flush();
      await Promise.all([store.close(), tracing?.close()]);
    },
  };
}

/** One body of the largest size always fits. */
const memoryLimitOf = ({ maxInFlightBytes, maxBodyBytes }: Config): number =>
  Math.max(maxInFlightBytes, maxBodyBytes);

const rateLimitsOf = ({ rateLimitPerAddress, rateLimitPerToken }: Config) => ({
  perAddress: rateLimitPerAddress,
  perToken: rateLimitPerToken,
});

/** A key that prevents a second creation is stored at least as long as the upload. */
const uploadLimitsOf = ({ keepUploadsHours, keepKeysHours, maxUnfinishedBytes }: Config) => ({
  lifetimeMs: Math.min(keepUploadsHours, keepKeysHours) * hourMs,
  maxBytes: maxUnfinishedBytes,
});
