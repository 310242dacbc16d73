// Reads settings, definitions and actions again while the server runs, and uses what can change.

import { isDeepStrictEqual } from "node:util";
import type { NotReloaded, Reloaded } from "../domain/settings.ts";
import { CliError, errorText, messageOf } from "../lib/cli-error.ts";
import type { Action } from "../model/action.ts";
import { reloadActions } from "./actions-folder.ts";
import type { App } from "./app.ts";
import {
  type Config,
  type ConfigSources,
  configPath,
  readConfig,
  settingNames,
  withReloadable,
} from "./config.ts";
import { applyDefinitions, readDefinitionFiles } from "./definitions-folder.ts";
import { type Log, setLogFormat } from "./log.ts";
import { logUncaughtErrors } from "./uncaught-errors.ts";

export class Reloader {
  /** What the config was read from. */
  readonly #sources: ConfigSources;
  readonly #app: App;
  readonly #log: Log;
  /** The settings that were read last, also if something in their folders is wrong. */
  #wanted: Config;
  #last: Promise<unknown> = Promise.resolve();
  /** Lets other processes use the settings, and resolves when they do. */
  spread: (config: Config) => Promise<void> = async () => undefined;

  constructor(sources: ConfigSources, app: App, log: Log) {
    this.#sources = sources;
    this.#app = app;
    this.#log = log;
    this.#wanted = app.current.config;
  }

  /** The files and folders that are read again. */
  get paths(): readonly string[] {
    return pathsOf(this.#wanted, this.#sources);
  }

  /** Reloads after the reloads that are in progress, and logs what has changed or why nothing has. */
  reload(): Promise<Reloaded | NotReloaded> {
    const result = this.#last.then(() => this.#attempt());
    this.#last = result;
    return result;
  }

  async #attempt(): Promise<Reloaded | NotReloaded> {
    try {
      const reloaded = await this.#run();
      this.#log.info({ ...reloaded }, "reloaded settings");
      return reloaded;
    } catch (thrown) {
      const isOutage = !(thrown instanceof CliError);
      const errors = messageOf(thrown).split("\n");
      const result = isOutage ? "" : "; nothing was changed";
      this.#log.error({ errors }, `settings cannot be reloaded${result}`);
      return { errors, isOutage };
    }
  }

  /** Everything is read and checked before anything changes. */
  async #run(): Promise<Reloaded> {
    const { config } = this.#app.current;
    const read = readConfig(this.#sources);
    if (Array.isArray(read)) throw new CliError(2, read.map(errorText).join("\n"));
    this.#wanted = read as Config;
    const next = withReloadable(config, this.#wanted);
    logUncaughtErrors(next, this.#log);
    const actions = await check(next);
    const defined = await applyDefinitions(next, this.#app, this.#log);
    await this.spread(next);
    this.#app.reload(next, actions);
    setLogFormat(this.#log, next.logFormat);
    const changed = differences(config, next);
    return { changed, needRestart: differences(next, this.#wanted), defined };
  }
}

/** The files and folders that settings, definitions and actions are read from. */
export const pathsOf = (
  { collections, actions }: Config,
  sources: ConfigSources,
): readonly string[] =>
  [configPath(sources), collections, actions].filter((path) => path !== undefined);

const differences = (one: Config, other: Config): readonly string[] =>
  settingNames.filter((name) => !isDeepStrictEqual(one[name], other[name]));

/** Returns the actions. Throws a CliError with all errors of definitions and actions. */
async function check(config: Config): Promise<readonly Action[]> {
  const definitions = async () => config.collections && readDefinitionFiles(config.collections);
  const [actions, others] = await Promise.allSettled([reloadActions(config), definitions()]);
  const failed = [actions, others].filter((result) => result.status === "rejected");
  const unexpected = failed.find(({ reason }) => !(reason instanceof CliError));
  if (unexpected !== undefined) throw unexpected.reason;
  if (actions.status === "fulfilled" && failed.length === 0) return actions.value;
  throw new CliError(2, failed.map(({ reason }) => messageOf(reason)).join("\n"));
}
