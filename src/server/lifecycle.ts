// Opens an app from a config, listens for it, and stops it without losing requests in flight.

import { serve } from "#runtime";
import { CliError, messageOf } from "../lib/cli-error.ts";
import type { Action } from "../model/action.ts";
import type { Server } from "../runtime/runtime.ts";
import type { Committer } from "../store/remote-committer.ts";
import { type App, assemble, describeStore } from "./app.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";

const maxHeaderBytes = 16_384;

/** Under the ten seconds that `docker stop` waits before it kills. */
const graceMs = 8_000;

export type Stoppable = Pick<Server, "stop">;

/** Also for commands that need the store and no server. */
export async function openApp(
  config: Config,
  log: Log,
  committer?: Committer,
  actions?: readonly Action[],
): Promise<App> {
  try {
    return await assemble(config, log, committer, actions);
  } catch (cause) {
    const message = `The store in ${describeStore(config)} cannot be opened: ${messageOf(cause)}`;
    throw new CliError(1, message, { cause });
  }
}

export function listenFor(
  { host, port, workers }: Config,
  { fetch, refuse }: App,
): Promise<Server> {
  return serve({ host, port, fetch, refuse, maxHeaderBytes, isShared: workers > 1 });
}

/** Finishes what is in flight, lets go of everything, and says so if there are words for it. */
export async function drain(
  server: Stoppable,
  app: App,
  log: Log,
  lastWords?: string,
): Promise<void> {
  await server.stop(graceMs);
  await app.close();
  if (lastWords !== undefined) log.info(lastWords);
  await new Promise<void>((resolve) => log.flush(() => resolve()));
}
