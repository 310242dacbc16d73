// Opens an app from a config, listens for it, and stops it without losing requests in flight.

import { serve } from "#runtime";
import { CliError, messageOf } from "../lib/cli-error.ts";
import type { Action } from "../model/action.ts";
import type { Server } from "../runtime/runtime.ts";
import type { Committer } from "../store/remote-committer.ts";
import { type App, assemble, type CollectMetrics, describeStore } from "./app.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";
import { metricsResponder } from "./metrics-server.ts";

const maxHeaderBytes = 16_384;

/** Less than the ten seconds after which `docker stop` kills. */
const graceMs = 8_000;

export type Stoppable = Pick<Server, "stop">;

/** Opens the store and builds the app, for the server and for commands that only need the store. */
export async function openApp(
  config: Config,
  log: Log,
  committer?: Committer,
  actions?: readonly Action[],
): Promise<App> {
  try {
    return await assemble(config, log, committer, actions);
  } catch (cause) {
    const message = `Cannot open the store in ${describeStore(config)}: ${messageOf(cause)}`;
    throw new CliError(1, message, { cause });
  }
}

export function listenFor(
  { host, port, workers }: Config,
  { fetch, errorResponse }: App,
): Promise<Server> {
  return serve({ host, port, fetch, errorResponse, maxHeaderBytes, isShared: workers > 1 });
}

/** Serves the metrics on their own port. Returns undefined when the config names none. */
export async function listenForMetrics(
  { metricsPort: port, metricsHost: host }: Config,
  collect: CollectMetrics,
): Promise<Server | undefined> {
  if (port === undefined) return undefined;
  try {
    return await serve({ host, port, maxHeaderBytes, ...metricsResponder(collect) });
  } catch (cause) {
    const message = `Cannot serve the metrics on port ${port} of ${host}: ${messageOf(cause)}. Choose another --metrics-port.`;
    throw new CliError(1, message, { cause });
  }
}

/** Finishes the requests in flight, closes the store, logs the message if given, and flushes the log. */
export async function drain(
  server: Stoppable,
  app: App,
  log: Log,
  message?: string,
): Promise<void> {
  await server.stop(graceMs);
  await app.close();
  if (message !== undefined) log.info(message);
  await new Promise<void>((resolve) => log.flush(() => resolve()));
}
