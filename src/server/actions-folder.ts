// Loads and checks the actions of a folder.

import { existsSync, readdirSync, realpathSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { findSyntaxError, forgetModules, moduleSpecifier, prepareModules } from "#runtime";
import { CliError, usageError } from "../lib/cli-error.ts";
import { scriptUrl } from "../lib/program.ts";
import { reasonOf } from "../lib/system-error.ts";
import type { Action, ActionDefinition } from "../model/action.ts";
import * as action from "../model/action.ts";
import { readAction } from "../model/check-action.ts";
import type { Config } from "./config.ts";
import { describeImportError } from "./import-error.ts";

/** Action definitions by the name of the action. */
export type Definitions = Readonly<Record<string, ActionDefinition>>;

interface LoadedModule {
  /** The path, or another location to show in messages. */
  readonly where: string;
  readonly name: string;
  readonly definition: unknown;
}

/** Whether a module could not be loaded. */
let hasFailed = false;

/** A module that connects to something has this long. */
const loadMs = 30_000;

/** How often each module was not loaded in time. */
const timesStuck = new Map<string, number>();

/** Reads the modules again that are loaded. */
export async function reloadActions(config: Config): Promise<readonly Action[]> {
  if (config.actions !== undefined && existsSync(config.actions))
    await forgetModules(realpathSync(config.actions), hasFailed);
  hasFailed = false;
  return loadActions(config);
}

/** Returns the actions of all modules. Throws a CliError with all errors. */
export async function loadActions(
  { actions: folder }: Config,
  limitMs = loadMs,
): Promise<readonly Action[]> {
  if (folder === undefined) return [];
  const files = modulesIn(folder);
  // The runtimes report the real path, also when the folder is a symbolic link.
  const path = realpathSync(folder);
  prepareModules(path, "restante", own);
  return checkAll(await Promise.all(files.map((file) => load(path, file, limitMs))));
}

/** Does the same for actions that an embedding program passes in. */
export const checkActions = (definitions: Definitions): readonly Action[] =>
  checkAll(
    Object.entries(definitions).map(([name, definition]) => {
      return { where: `actions, "${name}"`, name, definition };
    }),
  );

/** `import "restante"` in an action resolves to the running program, not to another copy. */
const own = { url: scriptUrl("model/action").href, load: async () => action };

const extensions = [".ts", ".js", ".mts", ".mjs"];

/** Skips tests, declarations, and files whose name begins with `_` or `.`. */
function modulesIn(folder: string): readonly string[] {
  const isModule = (file: string) =>
    extensions.includes(extname(file)) && !/^[._]|\.(?:test|spec|d)\.\w+$/.test(file);
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && isModule(entry.name))
      .map(({ name }) => name)
      .sort();
  } catch (cause) {
    throw new CliError(2, `--actions: cannot read the folder: ${reasonOf(cause)}`, { cause });
  }
}

type Failed = { readonly where: string; readonly detail: string };

async function load(folder: string, file: string, limitMs: number): Promise<LoadedModule | Failed> {
  const path = join(folder, file);
  const name = basename(path, extname(path));
  try {
    const module = await importInTime(path, limitMs);
    if (module === undefined) return { where: path, detail: notInTime(limitMs) };
    return { where: path, name, definition: module.default ?? exported(module) };
  } catch (thrown) {
    hasFailed = true;
    const detail = describeImportError(thrown, folder, () => findSyntaxError(folder));
    return { where: path, detail: `cannot be loaded: ${detail}` };
  }
}

type Module = Readonly<Record<string, unknown>>;

/** Returns undefined for a module that is not loaded in time: its top-level await may never end. */
async function importInTime(path: string, limitMs: number): Promise<Module | undefined> {
  const stuck = timesStuck.get(path) ?? 0;
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => {
    timesStuck.set(path, stuck + 1);
    late.resolve(undefined);
  }, limitMs);
  try {
    return await Promise.race([import(moduleSpecifier(path, stuck)), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

const notInTime = (limitMs: number): string =>
  `cannot be loaded: it was not loaded within ${limitMs / 1000} seconds; what does its top-level await wait for?`;

/** Returns the members of an action that a module exports by name. */
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

function checkAll(loaded: readonly (LoadedModule | Failed)[]): readonly Action[] {
  const actions: Action[] = [];
  const errors: Failed[] = [];
  for (const given of loaded) {
    if ("detail" in given) {
      errors.push(given);
      continue;
    }
    const { where, name, definition } = given;
    const action = readAction(name, definition);
    if ("run" in action) {
      const isTwice = actions.some((other) => other.name === name);
      if (isTwice)
        errors.push({ where, detail: `another module has the same action name ${name}` });
      actions.push(action);
    } else {
      for (const { pointer, detail } of action)
        errors.push({ where: `${where} ${pointer}`.trimEnd(), detail });
    }
  }
  if (errors.length > 0) throw usageError(errors);
  return actions.toSorted((one, other) => (one.name < other.name ? -1 : 1));
}
