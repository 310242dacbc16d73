// Logs errors that no request waits for, and decides whether the process goes on.

import type { App } from "./app.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";

/** The folders of actions that were loaded. */
const folders = new Set<string>();
let isWatching = false;

const isOfAction = ({ stack = "" }: Error): boolean =>
  [...folders].some((folder) => stack.includes(folder));

/** Bun throws it when a file that nobody has closed is collected as garbage. Then the file is closed. */
const isOfLostFile = ({ message }: Error): boolean =>
  /FileHandle object was closed during garbage collection/.test(message);

/**
 * Logs errors that an action causes after it has returned, and files that were left open, and keeps the
 * process running. Another uncaught exception ends the process.
 */
export function logUncaughtErrors({ actions: folder }: Config, { actions }: App, log: Log): void {
  const hasActions = folder !== undefined && actions.all.length > 0;
  if (hasActions && folders.size === 0)
    process.on("unhandledRejection", (reason) => {
      log.error({ ...actions.currentRun, err: reason }, "unhandled promise rejection");
    });
  if (hasActions) folders.add(folder);
  if (isWatching) return;
  isWatching = true;
  process.on("uncaughtException", (thrown) => {
    if (isOfLostFile(thrown)) {
      log.error({ err: thrown }, "a file was left open");
      return;
    }
    // On Bun a microtask has lost its async context.
    if (actions.currentRun !== undefined || isOfAction(thrown)) {
      log.error({ ...actions.currentRun, err: thrown }, "an action failed outside of its run");
      return;
    }
    log.fatal({ err: thrown }, "failed");
    log.flush(() => process.exit(1));
  });
}
