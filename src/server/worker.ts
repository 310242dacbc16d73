// Runs one of the processes that share a port: it serves requests, and the supervisor does its writes.

import type { NotReloaded, Reloaded } from "../domain/settings.ts";
import { CliError, messageOf } from "../lib/cli-error.ts";
import type { MetricFamily } from "../lib/metrics.ts";
import { RemoteCommitter } from "../store/remote-committer.ts";
import { loadActions, reloadActions } from "./actions-folder.ts";
import type { App } from "./app.ts";
import { drain, listenFor, openApp } from "./lifecycle.ts";
import { createLog, type Log } from "./log.ts";
import type { SupervisorMessage, WorkerMessage } from "./supervisor.ts";
import { logUncaughtErrors } from "./uncaught-errors.ts";

/** How often a worker sends its metrics without being asked. What it counts after that is lost if it crashes. */
const sendMetricsMs = 5_000;

/** Runs a worker. Only the supervisor starts it, and it exits with the supervisor. */
export async function work(): Promise<void> {
  if (process.send === undefined)
    throw new CliError(2, "Do not start a worker directly: use `restante serve --workers`.");
  // Without the supervisor nothing can be written. A service manager starts both again.
  process.once("disconnect", () => process.exit(1));
  // Ctrl-C reaches every process on the terminal. Only the supervisor handles it.
  process.on("SIGINT", () => undefined);

  const committer = new RemoteCommitter(send);
  // A service manager may signal every process. Only the supervisor reloads.
  process.on("SIGHUP", () => undefined);
  const opened = Promise.withResolvers<{ readonly app: App; readonly log: Log }>();
  let app: App | undefined;
  const { config, settings } = await new Promise<Extract<SupervisorMessage, { kind: "work" }>>(
    (resolve) => {
      process.on("message", (message: SupervisorMessage) => {
        if (message.kind === "work") resolve(message);
        else if (message.kind === "backups") app?.showBackups(message.status);
        else if (message.kind === "reload")
          void opened.promise.then(({ app, log }) => reload(app, log, message));
        else if (message.kind === "reload-result") reloads.get(message.id)?.(message.result);
        else if (message.kind === "send-metrics") sendMetrics(app);
        else if (message.kind === "all-metrics") collected.get(message.id)?.(message.families);
        else committer.receive(message);
      });
    },
  );
  try {
    const log = createLog(config.logLevel);
    logUncaughtErrors(config, log);
    const own = await openApp(config, log, committer, await loadActions(config));
    app = own;
    own.showMetrics(collectMetrics);
    own.settings.update(settings);
    own.settings.reloadBy(askReload);
    opened.resolve({ app: own, log });
    setInterval(() => sendMetrics(own), sendMetricsMs).unref();
    const server = await listenFor(config, own, log);
    process.once("SIGTERM", () => void drain(server, own, log).then(() => process.exit(0)));
    // A service manager signals every process, and the supervisor signals again: that is no second request.
    process.on("SIGTERM", () => undefined);
    send({ kind: "listening" });
  } catch (error) {
    // The supervisor kills this process when it has read the message. Exiting here could lose the message.
    send({ kind: "failed", message: messageOf(error) });
  }
}

/** Keeps the former actions if the new ones, which the supervisor could load, have changed since. */
async function reload(
  app: App,
  log: Log,
  { id, config, settings }: Extract<SupervisorMessage, { kind: "reload" }>,
): Promise<void> {
  let reason: string | undefined;
  logUncaughtErrors(config, log);
  const actions = await reloadActions(config).catch((error) => {
    reason = messageOf(error);
    return app.actions.all;
  });
  app.reload(config, actions);
  app.settings.update(settings);
  send({ kind: "reloaded", id, reason });
}

/** The reloads that the supervisor was asked for, by id. */
const reloads = new Map<number, (result: Reloaded | NotReloaded) => void>();
let lastReload = 0;

/** The supervisor reloads all processes, this one included. */
function askReload(): Promise<Reloaded | NotReloaded> {
  const id = ++lastReload;
  return new Promise<Reloaded | NotReloaded>((resolve) => {
    reloads.set(id, resolve);
    send({ kind: "ask-reload", id });
  }).finally(() => reloads.delete(id));
}

/** The collections that the supervisor makes now, by id. */
const collected = new Map<number, (families: readonly MetricFamily[]) => void>();
let lastCollection = 0;

/** The supervisor adds up the metrics of all workers. */
function collectMetrics(): Promise<readonly MetricFamily[]> {
  const id = ++lastCollection;
  return new Promise<readonly MetricFamily[]>((resolve) => {
    collected.set(id, resolve);
    send({ kind: "collect-metrics", id });
  }).finally(() => collected.delete(id));
}

function sendMetrics(app: App | undefined): void {
  send({ kind: "metrics", families: app?.metrics.read() ?? [] });
}

/** Ignores a failure to send: when the supervisor is gone, `disconnect` follows. */
function send(message: WorkerMessage): void {
  process.send?.(message, undefined, undefined, () => undefined);
}
