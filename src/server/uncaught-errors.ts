// Logs errors that no request waits for, and decides whether the process goes on.

import { existsSync, realpathSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { currentRun } from "../domain/actions.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";

/** The folders of actions, as stacks name them. */
const folders = new Set<string>();
let isWatching = false;

/** Anything can be thrown, also null. */
const stackOf = (thrown: unknown): string => (thrown instanceof Error ? (thrown.stack ?? "") : "");

/**
 * Whether code of an action is on the stack, or no file at all: a socket of an action that fails has only
 * the frames of the runtime, and our own sockets have a listener for that.
 */
function isOfAction(thrown: unknown): boolean {
  if (folders.size === 0) return false;
  const stack = stackOf(thrown);
  return [...folders].some((folder) => stack.includes(folder)) || !namesFile(stack);
}

const namesFile = (stack: string): boolean =>
  stack
    .split("\n")
    .some((line) => /^\s+at /.test(line) && /[/\\]/.test(line.replaceAll(/node:[\w/.]+/g, "")));

/** Bun throws it when a file that nobody has closed is collected as garbage. Then the file is closed. */
const isOfLostFile = (thrown: unknown): boolean =>
  thrown instanceof Error &&
  /FileHandle object was closed during garbage collection/.test(thrown.message);

/**
 * Logs errors that an action causes after it has returned, and files that were left open, and keeps the
 * process running. Another uncaught exception ends the process. It is called before the actions are loaded,
 * because a module can cause such an error as soon as it is.
 */
export function logUncaughtErrors({ actions: folder }: Config, log: Log): void {
  if (folder !== undefined) addFolder(folder, log);
  if (isWatching) return;
  isWatching = true;
  process.on("uncaughtException", (thrown: unknown) => {
    if (isOfLostFile(thrown)) {
      log.error({ err: thrown }, "a file was left open");
      return;
    }
    // On Bun a microtask has lost its async context.
    if (currentRun() !== undefined || isOfAction(thrown)) {
      log.error({ ...currentRun(), err: thrown }, "an action failed outside of its run");
      return;
    }
    log.fatal({ err: thrown }, "failed");
    log.flush(() => process.exit(1));
  });
}

function addFolder(folder: string, log: Log): void {
  if (folders.size === 0)
    process.on("unhandledRejection", (reason) => {
      log.error({ ...currentRun(), err: reason }, "unhandled promise rejection");
    });
  const path = existsSync(folder) ? realpathSync(folder) : folder;
  folders.add(path).add(pathToFileURL(path).href);
}
