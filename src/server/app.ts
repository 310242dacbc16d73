// Builds a running server from a config: opens the store and connects all services.

import type { AccessDocuments } from "../domain/access-documents.ts";
import type { Actions } from "../domain/actions.ts";
import type { BackupStatus } from "../domain/backups.ts";
import type { Collections } from "../domain/collections.ts";
import type { Rights } from "../domain/rights/rights.ts";
import type { Settings } from "../domain/settings.ts";
import type { Tokens } from "../domain/tokens.ts";
import type { Erasures } from "../domain/write/erasures.ts";
import type { SystemFetch } from "../http/pipeline.ts";
import type { ParserErrorResponder } from "../http/response/problem.ts";
import type { Fetch } from "../lib/client.ts";
import { Metrics } from "../lib/metrics.ts";
import { version } from "../lib/program.ts";
import type { Action } from "../model/action.ts";
import type { CommitOwner, Committer } from "../store/remote-committer.ts";
import type { Config } from "./config.ts";
import { type CollectMetrics, hourMs, openLasting } from "./lasting.ts";
import type { Log } from "./log.ts";
import { claimFiles, hasFiles, isInBucket } from "./open-files.ts";
import { type OpenStore, openStore } from "./open-store.ts";
import { type OpenTraces, openTraces } from "./open-traces.ts";
import { connect } from "./services.ts";

export type { CollectMetrics } from "./lasting.ts";

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
  readonly settings: Settings;
  /**
   * Lets the requests that begin from now on use these settings and actions. Those in progress end with
   * theirs. What cannot change is the same in both configs.
   */
  reload(config: Config, actions: readonly Action[]): void;
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
  /** Removes unfinished uploads that have expired, and returns their number. */
  sweepUploads(): Promise<number>;
  /**
   * Writes to the data folder which process owns it and where it listens, and accepts changes from
   * commands. Logs a warning when commands cannot reach this process.
   */
  announce(address: string | undefined): Promise<void>;
  close(): Promise<void>;
}

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
  const opened = await openStore(config, committer, report, metrics);
  const tracing = await openTraces(config, log, metrics);
  const store = tracing?.traceStore(opened) ?? opened;
  try {
    // What another process has uploaded can be without a row for a while.
    const isShared = config.store !== undefined || committer !== undefined || isInBucket(config);
    const sweepAge = () => (isShared ? dayMs : Date.now() - openedAt);
    return build(config, log, store, loaded, sweepAge, metrics, tracing);
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
  tracing: OpenTraces | undefined,
): App {
  const lasting = openLasting(config, log, store, metrics, tracing);
  const { tokens, collections, accessDocuments, settings } = lasting;
  let connected = connect(lasting, config, loaded);
  const alsoReloaded: (() => void)[] = [];
  return {
    fetch: (request, client) => connected.fetch(request, client),
    systemFetch: (request, lines) => connected.systemFetch(request, lines),
    errorResponse: (status, detail, cause) => connected.errorResponse(status, detail, cause),
    ...{ tokens, collections, accessDocuments, settings, metrics },
    get rights() {
      return connected.rights;
    },
    get actions() {
      return connected.actions;
    },
    get erasures() {
      return connected.erasures;
    },
    hasFiles: () => hasFiles(config),
    claimFiles: () => claimFiles(lasting.files),
    showMetrics: (collectAll) => {
      lasting.collect = collectAll;
    },
    showBackups: (status) => lasting.backups.update(status),
    reload(next, actions) {
      log.level = next.logLevel;
      lasting.setLimits(next);
      connected = connect(lasting, next, actions);
      for (const more of alsoReloaded) more();
    },
    onReload: (more) => void alsoReloaded.push(more),
    async sweep() {
      const count = await lasting.uploads.sweep(sweepAge());
      await lasting.pictures.sweep(async (keys) => store.findReferencedFiles(keys));
      return count;
    },
    sweepUploads: () => lasting.resumableUploads.sweep(),
    writer: store.writer,
    announce: (address) =>
      store.announce(version, address).catch((error) => {
        log.warn({ err: error }, "commands such as token create cannot reach this process");
      }),
    close: () => lasting.close(),
  };
}
