// Runs one of the processes that share a port: it serves requests, and the supervisor does its writes.

import { CliError, messageOf } from "../lib/cli-error.ts";
import type { TaskState } from "../lib/tasks.ts";
import { RemoteCommitter } from "../store/remote-committer.ts";
import { loadActions, reloadActions } from "./actions-folder.ts";
import type { App } from "./app.ts";
import type { Config } from "./config.ts";
import { drain, listenFor, openApp } from "./lifecycle.ts";
import { createLog, type Log } from "./log.ts";
import type { Answers, SupervisorMessage, WorkerMessage } from "./supervisor.ts";
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
  const opened = Promise.withResolvers<(config: Config) => Promise<void>>();
  let app: App | undefined;
  const { config, port } = await new Promise<Extract<SupervisorMessage, { kind: "work" }>>(
    (resolve) => {
      process.on("message", (message: SupervisorMessage) => {
        if (message.kind === "work") resolve(message);
        else if (message.kind === "backups") app?.showBackups(message.status);
        else if (message.kind === "reload")
          void opened.promise.then((reload) => reload(message.config));
        else if (message.kind === "answer") answers.get(message.id)?.(message.answer as never);
        else if (message.kind === "send-metrics") sendMetrics(app);
        else committer.receive(message);
      });
    },
  );
  try {
    const log = createLog(config.logLevel);
    logUncaughtErrors(config, log);
    const own = await openApp(config, log, committer, await loadActions(config));
    app = own;
    own.showMetrics(() => ask("metrics"));
    own.settings.reloadBy(() => ask("reload"));
    own.status.readBy(async () => [...own.tasks.list(), ...(await ask("tasks"))].sort(byName));
    opened.resolve((next) => reload(own, log, next));
    setInterval(() => sendMetrics(own), sendMetricsMs).unref();
    const server = await listenFor({ ...config, port }, own, log);
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
async function reload(app: App, log: Log, config: Config): Promise<void> {
  logUncaughtErrors(config, log);
  const actions = await reloadActions(config).catch((error) => {
    const { pid } = process;
    log.error({ pid, reason: messageOf(error) }, "a worker keeps its previous actions");
    return undefined;
  });
  app.reload(config, actions);
  send({ kind: "reloaded" });
}

/** The questions that the supervisor has not answered yet, by id. */
const answers = new Map<number, (answer: never) => void>();
let lastQuestion = 0;

/** The supervisor reloads all processes, this one included, or adds up the metrics of all workers. */
function ask<What extends keyof Answers>(what: What): Promise<Answers[What]> {
  const id = ++lastQuestion;
  return new Promise<Answers[What]>((resolve) => {
    answers.set(id, resolve);
    send({ kind: "ask", id, what });
  }).finally(() => answers.delete(id));
}

const byName = (one: TaskState, other: TaskState): number => (one.name < other.name ? -1 : 1);

function sendMetrics(app: App | undefined): void {
  send({ kind: "metrics", families: app?.metrics.read() ?? [] });
}

/** Ignores a failure to send: when the supervisor is gone, `disconnect` follows. */
function send(message: WorkerMessage): void {
  process.send?.(message, undefined, undefined, () => undefined);
}
