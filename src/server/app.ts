// Builds a running server from a config: opens the store and connects all services.

import { hostname } from "node:os";
import { join } from "node:path";
import { sendFile } from "#runtime";
import { Leases } from "../background/leases.ts";
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
import { Settings } from "../domain/settings.ts";
import { SignedUrls } from "../domain/signed-urls.ts";
import { SlowQueries } from "../domain/slow-queries.ts";
import { Status } from "../domain/status.ts";
import { TokenUses } from "../domain/token-uses.ts";
import { Tokens } from "../domain/tokens.ts";
import { Uploads } from "../domain/uploads.ts";
import { Erasures } from "../domain/write/erasures.ts";
import { Writes } from "../domain/write/writes.ts";
import { Proxies } from "../http/headers/forwarded.ts";
import { AllowedHosts } from "../http/headers/host.ts";
import {
  createFetch,
  createSystemFetch,
  routeRequest,
  type SystemFetch,
} from "../http/pipeline.ts";
import type { CurrentServices, Services } from "../http/request/context.ts";
import { RateLimitBuckets } from "../http/request/token-buckets.ts";
import { RequestLog } from "../http/request-log.ts";
import { RequestMetrics } from "../http/request-metrics.ts";
import { createParserErrorResponder, type ParserErrorResponder } from "../http/response/problem.ts";
import { serveWebsite } from "../http/website/website.ts";
import type { Fetch } from "../lib/client.ts";
import type { MaybePromise } from "../lib/maybe-promise.ts";
import { MemoryBudget } from "../lib/memory-budget.ts";
import { type MetricFamily, Metrics } from "../lib/metrics.ts";
import { consoleFiles, version } from "../lib/program.ts";
import { PublicFolder } from "../lib/public-folder.ts";
import { Tasks } from "../lib/tasks.ts";
import type { Traces } from "../lib/traces.ts";
import type { Action } from "../model/action.ts";
import { PictureCache } from "../store/pictures/cache.ts";
import { RendererProcess } from "../store/pictures/renderer.ts";
import type { CommitOwner, Committer } from "../store/remote-committer.ts";
import type { Store } from "../store/store.ts";
import type { Config } from "./config.ts";
import { describeSettings } from "./describe-settings.ts";
import { FailureCounts } from "./failure-counts.ts";
import { fileLimitsOf } from "./limit-settings.ts";
import { type Log, lineWriter } from "./log.ts";
import { claimFiles, FilesHealth, hasFiles, isInBucket, openFiles } from "./open-files.ts";
import { type OpenStore, openStore } from "./open-store.ts";
import { storeIdOf } from "./open-transfer.ts";
import { apiBaseOf, apiPathOf, atConsolePort, hasConsole } from "./places.ts";
import { measureProcess } from "./process-metrics.ts";
import { headersOf, logging, websiteHeadersOf } from "./request-settings.ts";
import { measureServices } from "./service-metrics.ts";
import { readHeaderFields } from "./trace-settings.ts";

export type CollectMetrics = () => MaybePromise<readonly MetricFamily[]>;

/** What the requests use that begin now. A reload replaces it as a whole. */
interface Current extends CurrentServices {
  readonly config: Config;
  /** On the port of the console. */
  readonly atConsolePort: Services;
}

/** Answers the requests of one port. */
export interface PortHandlers {
  readonly fetch: Fetch;
  /** Builds the response when the runtime rejects a request before it is parsed. */
  readonly errorResponse: ParserErrorResponder;
}

export interface App
  extends PortHandlers,
    Pick<Services, "tokens" | "collections" | "accessDocuments" | "settings" | "status"> {
  readonly current: Current;
  /** The same for the port of the console. */
  readonly consolePort: PortHandlers;
  /** The same for commands, which may do everything. */
  readonly systemFetch: SystemFetch;
  readonly erasures: Erasures;
  /** The metrics of this process. */
  readonly metrics: Metrics;
  /** The work of this process in the background. */
  readonly tasks: Tasks;
  /** Sets how the metrics of all processes are collected. */
  readonly showMetrics: (collect: CollectMetrics) => void;
  /** Sets what is shown of scheduled backups. */
  readonly showBackups: (status: BackupStatus) => void;
  /**
   * Lets the requests that begin from now on use these settings and actions; without actions, those that it
   * has. Requests in progress end with theirs. What cannot change is the same in both configs.
   */
  reload(config: Config, actions?: readonly Action[]): void;
  /** Does this at each reload, too. */
  onReload(more: () => void): void;
  /** Writes for other processes. An empty list of changes checks that writing works. */
  readonly writer: CommitOwner;
  /** Whether there are uploaded files. */
  hasFiles(): boolean;
  /** Rejects when the files belong to another store. Ignores an outage of theirs: they are asked for again. */
  claimFiles(): Promise<void>;
  /** Removes files that no resource refers to and their pictures, and returns their number. The first process calls it at start. */
  sweep(): Promise<number>;
  /** Whether it ends or has ended, so that what it has begun may fail. */
  readonly isClosing: boolean;
  /** Removes unfinished uploads that have expired, and returns their number. */
  sweepUploads(): Promise<number>;
  /** Removes tokens that expired long ago. Returns how many. */
  sweepTokens(): Promise<number>;
  /**
   * Writes to the data folder which process owns it and where it listens, and accepts changes from
   * commands. Logs a warning when commands cannot reach this process.
   */
  announce(address: string | undefined): Promise<void>;
  close(): Promise<void>;
}

export const hourMs = 60 * 60 * 1000;
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
  actions: readonly Action[] = [],
): Promise<App> {
  const metrics = new Metrics();
  const report = (level: "error" | "info", message: string) => log[level](message);
  const failures = new FailureCounts();
  const tasks = new Tasks({
    metrics,
    onFailure(message, task, error) {
      const leftOut = failures.take(error);
      if (leftOut !== undefined)
        log.error({ task, err: error, ...(leftOut && { leftOut }) }, message);
    },
  });
  const opened = await openStore(config, committer, report, metrics, tasks);
  const tracing = await openTraces(config, log, metrics);
  const store = tracing?.traceStore(opened) ?? opened;
  try {
    // What another process has uploaded can be without a row for a while.
    const isShared = config.store !== undefined || committer !== undefined || isInBucket(config);
    return connect({ config, log, store, metrics, tasks, tracing, actions, isShared });
  } catch (error) {
    await store.close();
    throw error;
  }
}

export interface AppParts {
  readonly config: Config;
  readonly log: Log;
  readonly store: OpenStore;
  readonly metrics: Metrics;
  readonly tasks: Tasks;
  readonly tracing?: OpenTraces | undefined;
  readonly actions: readonly Action[];
  /** Whether other processes have the same files. */
  readonly isShared: boolean;
}

/** Connects all services over an open store. */
export function connect(parts: AppParts): App {
  const { config, log, store, metrics, tasks, tracing } = parts;
  const openedAt = Date.now();
  const files = openFiles(config, { sendFile, findStore: () => storeIdOf(config) });
  const filesHealth = new FilesHealth(files, log);
  const requests = new RequestLog(lineWriter(log));
  const requestMetrics = new RequestMetrics(metrics);
  const leases = new Leases(store, { isAlone: config.store === undefined });
  const uses = new TokenUses(store, tasks);
  const access = new Access(store, clock, uses, (message) => log.warn(message));
  const resources = new Resources(store);
  const cache = new PictureCache(join(config.data, "pictures"), config.pictureCacheBytes);
  const pictures = new Pictures(files, cache, new RendererProcess());
  const memory = new MemoryBudget(memoryLimitOf(config));
  const fileLimits = fileLimitsOf(config);
  const uploads = new Uploads(store, files, fileLimits, (keys) => pictures.forget(keys));
  const uploadLimits = uploadLimitsOf(config);
  let collect: CollectMetrics = () => metrics.read();
  const lasting = {
    access,
    resources,
    pictures,
    memory,
    uploads,
    version,
    accessDocuments: new AccessDocuments(store, clock),
    tokens: new Tokens(store, clock, uses),
    collections: new Collections(store, clock),
    resumableUploads: new ResumableUploads(files.partial, uploadLimits),
    signedUrls: new SignedUrls(store, access, clock),
    slowQueries: new SlowQueries(clock),
    backups: new Backups(),
    status: new Status(() => tasks.list()),
    settings: new Settings(() => describeSettings(current.config)),
    rateLimits: new RateLimitBuckets(),
    traces: tracing?.traces,
    perform: routeRequest,
    unready: () => store.ready(),
    filesUnready: () => filesHealth.unready(),
    storeVersion: () => store.version?.(),
    measureRequest: requestMetrics.add.bind(requestMetrics),
    answered: () => requestMetrics.count,
    metrics: () => collect(),
  };
  /** Returns what requests use with these settings. */
  const settle = (config: Config, actions: Actions): Services => {
    const { maxBodyBytes: maxBytes, maxCascade } = config;
    const base = apiBaseOf(config);
    const apiPath = apiPathOf(config);
    const limits = { clock, maxBytes, base, memory, maxCascade, fileLimits: fileLimitsOf(config) };
    const writes = new Writes(store, access, uploads, limits);
    const services: Services = {
      ...lasting,
      ...headersOf(config),
      ...logging(log, requests, config.logSample),
      base,
      pathBase: base,
      apiPath,
      outside: undefined,
      website: undefined,
      actions,
      writes,
      expander: new Expander(store, access, base),
      rights: new Rights(store, clock, access, resources, writes),
      lists: new Lists(store, access, maxBytes),
      feeds: new Feeds(store, maxBytes),
      consoleFiles: hasConsole(config) ? consoleFiles() : undefined,
      proxies: new Proxies(config.trustProxy, config.tlsCert !== undefined),
      allowedHosts: new AllowedHosts(config.baseUrl, config.allowedHosts),
      rateLimitPerAddress: config.rateLimitPerAddress,
      rateLimitPerToken: config.rateLimitPerToken,
      maxBodyBytes: maxBytes,
      maxUploadBytes: config.maxUploadBytes,
      maxUnfinishedBytes: config.maxUnfinishedBytes,
      keyLifetimeMs: config.keepKeysHours * hourMs,
    };
    return apiPath === "" ? services : { ...services, outside: outsideOf(config, services) };
  };
  const settleAll = (config: Config, actions: Actions): Current => {
    const services = settle(config, actions);
    const isApart = config.consolePort !== undefined;
    const other = isApart ? settle(atConsolePort(config), actions) : services;
    return { config, services, atConsolePort: other };
  };
  const loaded = (actions: readonly Action[]) =>
    new Actions(actions, (run, thrown) =>
      log.error({ ...run, err: thrown }, "an action failed after its deadline"),
    );
  const current = settleAll(config, loaded(parts.actions));
  const { tokens, collections, accessDocuments, settings, status } = lasting;
  const alsoReloaded: (() => void)[] = [];
  measureServices(metrics, { ...lasting, store });
  const stopMeasuring = measureProcess(metrics);
  let isClosing = false;
  return {
    ...handlersOf(current),
    consolePort: handlersOf({
      get services() {
        return current.atConsolePort;
      },
    }),
    systemFetch: createSystemFetch(current),
    tokens,
    collections,
    accessDocuments,
    settings,
    status,
    current,
    metrics,
    tasks,
    writer: store.writer,
    erasures: new Erasures(store, access, uploads, {
      clock,
      maxBytes: config.maxBodyBytes,
      base: apiBaseOf(config),
    }),
    hasFiles: () => hasFiles(config),
    claimFiles: () => claimFiles(files),
    showMetrics(collectAll) {
      collect = collectAll;
    },
    showBackups: (status) => lasting.backups.update(status),
    reload(next, actions) {
      const kept = current.services.actions;
      log.level = next.logLevel;
      Object.assign(current, settleAll(next, actions ? loaded(actions) : kept));
      // These are limits of what all requests share.
      Object.assign(fileLimits, fileLimitsOf(next));
      Object.assign(uploadLimits, uploadLimitsOf(next));
      store.setQueryDeadline(next.queryDeadline * 1_000);
      cache.maxBytes = next.pictureCacheBytes;
      memory.limitBytes = memoryLimitOf(next);
      for (const more of alsoReloaded) more();
    },
    onReload: (more) => void alsoReloaded.push(more),
    async sweep() {
      let count = 0;
      // Nodes that start together leave it to one. What two remove at once is removed once.
      await leases.run("unused-files", async () => {
        count = await uploads.sweep(parts.isShared ? dayMs : Date.now() - openedAt);
      });
      await pictures.sweep(async (keys) => store.findReferencedFiles(keys));
      return count;
    },
    sweepUploads: () => lasting.resumableUploads.sweep(),
    sweepTokens: () => lasting.tokens.removeExpired(),
    announce: (address) =>
      store.announce(version, address).catch((error) => {
        log.warn({ err: error }, "commands such as token create cannot reach this process");
      }),
    get isClosing() {
      return isClosing;
    },
    async close() {
      isClosing = true;
      // What is in progress may fail.
      tasks.stop();
      stopMeasuring();
      requests.flush();
      await pictures.close();
      await uses.flush();
      await Promise.all([store.close(), tracing?.close()]);
    },
  };
}

const handlersOf = (current: CurrentServices): PortHandlers => ({
  fetch: createFetch(current),
  errorResponse: createParserErrorResponder(current),
});

/** The services of requests that are not below the path of the API. */
const outsideOf = (config: Config, services: Services): Services => ({
  ...services,
  ...websiteHeadersOf(config),
  ...{ pathBase: config.baseUrl ?? "", apiPath: "" },
  website: serveWebsite(
    config.public === undefined ? undefined : new PublicFolder(config.public),
    services.apiPath,
  ),
});

const clock = (): number => Date.now();

/** One body of the largest size always fits. */
const memoryLimitOf = ({ maxInFlightBytes, maxBodyBytes }: Config): number =>
  Math.max(maxInFlightBytes, maxBodyBytes);

/** A key that prevents a second creation is stored at least as long as the upload. */
const uploadLimitsOf = ({ keepUploadsHours, keepKeysHours, maxUnfinishedBytes }: Config) => ({
  clock,
  lifetimeMs: Math.min(keepUploadsHours, keepKeysHours) * hourMs,
  maxBytes: maxUnfinishedBytes,
});

interface OpenTraces {
  readonly traces: Traces;
  /** Returns the store with its reads and commits measured. */
  readonly traceStore: <Traced extends Store>(store: Traced) => Traced;
  close(): Promise<void>;
}

async function openTraces(
  { otlpEndpoint: endpoint, otlpHeaders = "", traceSample }: Config,
  log: Log,
  metrics: Metrics,
): Promise<OpenTraces | undefined> {
  if (endpoint === undefined) return undefined;
  const [{ Traces }, { traceStore }, { TraceExporter }] = await Promise.all([
    import("../lib/traces.ts"),
    import("../store/traced-store.ts"),
    import("./trace-exporter.ts"),
  ]);
  const headers = readHeaderFields(otlpHeaders) ?? {};
  const resource = {
    "service.name": "restante",
    "service.version": version,
    "service.instance.id": `${hostname()}:${process.pid}`,
  };
  const exporter = new TraceExporter({ endpoint, headers, resource, log, metrics });
  return {
    traces: new Traces(traceSample, (spans) => exporter.add(spans)),
    traceStore,
    close: () => exporter.close(),
  };
}
