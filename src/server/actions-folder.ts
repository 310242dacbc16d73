// A folder of actions, kept in git: each module is read once, when the server starts.

import { readdirSync, realpathSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { findSyntaxError, prepareModules } from "#runtime";
import { CliError, messageOf, usageError } from "../lib/cli-error.ts";
import type { Action, ActionDefinition } from "../model/action.ts";
import { readAction } from "../model/check-action.ts";
import type { App } from "./app.ts";
import type { Config } from "./config.ts";
import { describeImportError } from "./import-error.ts";
import type { Log } from "./log.ts";

/** By the names of the actions. */
export type Definitions = Readonly<Record<string, ActionDefinition>>;

interface Given {
  /** What a person knows it by. */
  readonly where: string;
  readonly name: string;
  readonly definition: unknown;
}

/** The actions of all modules, or every fault of them at once. */
export async function loadActions({ actions: folder }: Config): Promise<readonly Action[]> {
  if (folder === undefined) return [];
  const files = modulesIn(folder);
  // As the runtimes name it, also when a link leads there.
  const path = realpathSync(folder);
  prepareModules(path, "restante", ownUrl);
  return judge(await Promise.all(files.map((file) => load(path, file))));
}

/** The same for actions that another program has made itself. */
export const readActions = (definitions: Definitions): readonly Action[] =>
  judge(
    Object.entries(definitions).map(([name, definition]) => {
      return { where: `actions, "${name}"`, name, definition };
    }),
  );

/** Actions get the program that runs them, installed or cloned, and not another copy of it. */
const ownUrl = new URL(`../index${extname(import.meta.url)}`, import.meta.url).href;

const endings = [".ts", ".js", ".mts", ".mjs"];

/** Tests, declarations, and what begins with `_` or `.` are no actions. */
function modulesIn(folder: string): readonly string[] {
  const isModule = (file: string) =>
    endings.includes(extname(file)) && !/^[._]|\.(?:test|spec|d)\.\w+$/.test(file);
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && isModule(entry.name))
      .map(({ name }) => name)
      .sort();
  } catch (cause) {
    throw new CliError(2, `--actions: the folder cannot be read: ${messageOf(cause)}`, { cause });
  }
}

type Failed = { readonly where: string; readonly detail: string };

async function load(folder: string, file: string): Promise<Given | Failed> {
  const path = join(folder, file);
  const name = basename(path, extname(path));
  try {
    const module: Readonly<Record<string, unknown>> = await import(pathToFileURL(path).href);
    return { where: path, name, definition: module.default ?? exported(module) };
  } catch (thrown) {
    const detail = describeImportError(thrown, folder, () => findSyntaxError(folder));
    return { where: path, detail: `cannot be loaded: ${detail}` };
  }
}

/** What a module exports by name, without what is there for others. */
const exported = ({
  description,
  input,
  output,
  timeoutMs,
  run,
}: Readonly<Record<string, unknown>>) => ({
  description,
  input,
  output,
  timeoutMs,
  run,
});

function judge(loaded: readonly (Given | Failed)[]): readonly Action[] {
  const actions: Action[] = [];
  const faults: Failed[] = [];
  for (const given of loaded) {
    if ("detail" in given) {
      faults.push(given);
      continue;
    }
    const { where, name, definition } = given;
    const action = readAction(name, definition);
    if ("run" in action) {
      const isTwice = actions.some((other) => other.name === name);
      if (isTwice) faults.push({ where, detail: `there are two modules for the action ${name}` });
      actions.push(action);
    } else {
      for (const { pointer, detail } of action)
        faults.push({ where: `${where} ${pointer}`.trimEnd(), detail });
    }
  }
  if (faults.length > 0) throw usageError(faults);
  return actions.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

/**
 * What an action leaves behind may fail when nobody listens: that is told to the log, and ends
 * nothing. An exception of our own ends the process, as it would without actions.
 */
export function logLateFailures({ actions: folder }: Config, { actions }: App, log: Log): void {
  if (folder === undefined || actions.all.length === 0) return;
  process.on("unhandledRejection", (reason) => {
    log.error(
      { ...actions.currentRun, err: reason },
      "a promise failed, and nobody had waited for it",
    );
  });
  process.on("uncaughtException", (thrown) => {
    // Bun does not know any more on which errand a microtask was.
    if (actions.currentRun !== undefined || thrown.stack?.includes(folder)) {
      log.error({ ...actions.currentRun, err: thrown }, "an action failed outside of its run");
      return;
    }
    log.fatal({ err: thrown }, "failed");
    log.flush(() => process.exit(1));
  });
}
