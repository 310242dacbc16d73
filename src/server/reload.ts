// Reads settings, definitions and actions again while the server runs, and uses what can change.

import { isDeepStrictEqual } from "node:util";
import type { NotReloaded, Reloaded, SettingValue } from "../domain/settings.ts";
import { CliError, errorText, messageOf } from "../lib/cli-error.ts";
import type { Action } from "../model/action.ts";
import { reloadActions } from "./actions-folder.ts";
import type { App } from "./app.ts";
import { type Config, type ConfigSources, configPath, readConfig, settings } from "./config.ts";
import { applyDefinitions, readDefinitionFiles } from "./definitions-folder.ts";
import { describeSettings } from "./describe-settings.ts";
import { type Log, setLogFormat } from "./log.ts";
import { logUncaughtErrors } from "./uncaught-errors.ts";

/** Lets other processes use the settings, and resolves when they do. */
type Spread = (config: Config, values: readonly SettingValue[]) => Promise<void>;

export interface ReloaderOptions {
  /** The config that the server has started with. */
  readonly config: Config;
  /** What it was read from. */
  readonly sources: ConfigSources;
  readonly app: App;
  readonly log: Log;
}

export class Reloader {
  readonly #options: ReloaderOptions;
  #config: Config;
  /** The settings that were read last, also if something in their folders is wrong. */
  #wanted: Config;
  #values: readonly SettingValue[];
  #last: Promise<unknown> = Promise.resolve();
  #spread: Spread = async () => undefined;

  constructor(options: ReloaderOptions) {
    this.#options = options;
    this.#config = options.config;
    this.#wanted = options.config;
    this.#values = describeSettings(options.config);
  }

  /** The files and folders that are read again. */
  get paths(): readonly string[] {
    return pathsOf(this.#wanted, this.#options.sources);
  }

  spreadBy(spread: Spread): void {
    this.#spread = spread;
  }

  /** Reloads after the reloads that are in progress, and logs what has changed or why nothing has. */
  reload(): Promise<Reloaded | NotReloaded> {
    const result = this.#last.then(() => this.#attempt());
    this.#last = result;
    return result;
  }

  async #attempt(): Promise<Reloaded | NotReloaded> {
    const { log } = this.#options;
    try {
      const reloaded = await this.#run();
      log.info({ ...reloaded }, "reloaded settings");
      return reloaded;
    } catch (thrown) {
      const isOutage = !(thrown instanceof CliError);
      const errors = messageOf(thrown).split("\n");
      log.error({ errors }, "settings cannot be reloaded; nothing was changed");
      return { errors, isOutage };
    }
  }

  async #run(): Promise<Reloaded> {
    const { sources, app, log } = this.#options;
    const read = readConfig(sources);
    if (Array.isArray(read)) throw new CliError(2, read.map(errorText).join("\n"));
    this.#wanted = read as Config;
    const next = { ...this.#config, ...only(read as Config, isReloadable) };
    logUncaughtErrors(next, log);
    const actions = await check(next);
    const defined = await applyDefinitions(next, app, log);
    const values = this.#describe(read as Config);
    await this.#spread(next, values);
    app.reload(next, actions);
    setLogFormat(log, next.logFormat);
    app.settings.update(values);
    const changed = differences(this.#config, next);
    const needRestart = differences(next, read as Config);
    this.#config = next;
    this.#values = values;
    return { changed, needRestart, defined };
  }

  /** What cannot change is shown as it was. */
  #describe(read: Config): readonly SettingValue[] {
    const former = new Map(this.#values.map((value) => [value.name, value]));
    return describeSettings(read).map((value) =>
      value.reloadable ? value : (former.get(value.name) ?? value),
    );
  }
}

/** The files and folders that settings, definitions and actions are read from. */
export const pathsOf = (
  { collections, actions }: Config,
  sources: ConfigSources,
): readonly string[] =>
  [configPath(sources), collections, actions].filter((path) => path !== undefined);

const names = Object.keys(settings) as readonly (keyof Config)[];

const isReloadable = (name: keyof Config): boolean => settings[name].isReloadable ?? false;

const only = (config: Config, isChosen: (name: keyof Config) => boolean): Partial<Config> =>
  Object.fromEntries(names.filter(isChosen).map((name) => [name, config[name]]));

const differences = (one: Config, other: Config): readonly string[] =>
  names.filter((name) => !isDeepStrictEqual(one[name], other[name]));

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
