// Reads flags, environment and file into one frozen, validated Config, and reports all errors at once.

import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { scanJson } from "../lib/json/scan.ts";
import { reasonOf } from "../lib/system-error.ts";
import { isTypo, lettersOf } from "../lib/typo.ts";
import { type Config, type Given, type Setting, settingNames, settings } from "./settings.ts";

export {
  type Config,
  type LogLevel,
  type Setting,
  type SettingName,
  settingNames,
  settings,
} from "./settings.ts";

/** The path of the config file. It is not a setting, because a file cannot name another file. */
export const configFile = {
  flag: "--config",
  variable: "RESTANTE_CONFIG",
  placeholder: "file",
  about: "A JSON file with settings. Flags win over variables, variables over the file.",
  fallback: "restante.json",
} as const;

export interface ConfigError {
  /** The flag, the variable, or the file and its key. */
  readonly where: string;
  readonly detail: string;
}

/** A flag's text by the setting's name (or `config`); `true` when the flag came without a value. */
export type Flags = Readonly<Record<string, string | true | undefined>>;

export interface ConfigSources {
  readonly flags: Flags;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/** The only place that reads the environment of the process. */
export const processEnvironment = (): ConfigSources["environment"] => process.env;

/** Tells whether npm started this process. Processes that it starts are then not told the same. */
export function takeStartByNpm(): boolean {
  const isByNpm = process.env.npm_command !== undefined;
  delete process.env.npm_command;
  return isByNpm;
}

/** Returns the path of the config file, which may not exist. */
export function configPath({ flags, environment, cwd }: ConfigSources): string {
  const chosen = typeof flags.config === "string" ? flags.config : undefined;
  return resolve(cwd, chosen ?? (environment[configFile.variable] || configFile.fallback));
}

interface ConfigFile {
  readonly name: string;
  /** Its absolute path. */
  readonly path: string;
  readonly values: Readonly<Record<string, unknown>>;
}

const noFile: ConfigFile = { name: "", path: "", values: {} };

/** The config when nothing is set. */
export const defaultConfig: Config = readSettings(
  { flags: {}, environment: {}, cwd: process.cwd() },
  noFile,
  [],
);

/** Returns the config, or all errors in it. */
export function readConfig(sources: ConfigSources): Config | ConfigError[] {
  const errors: ConfigError[] = [];
  const file = readFile(sources, errors);
  const config = readSettings(sources, file, errors);
  if (config.readStore !== undefined && config.store === undefined)
    errors.push({
      where: settings.readStore.flag ?? "",
      detail: "needs --store, the database that it is a replica of",
    });
  return errors.length > 0 ? errors : config;
}

function readSettings(sources: ConfigSources, file: ConfigFile, errors: ConfigError[]): Config {
  const givens: Record<string, Given> = {};
  const config: Record<string, unknown> = { givens };
  for (const [name, setting] of Object.entries<Setting<unknown>>(settings)) {
    const given = findGiven(name, setting, sources, file);
    givens[name] = given;
    config[name] = parseGiven(given, setting);
    if (config[name] === undefined && given.source !== "default")
      errors.push(errorOf(given, setting));
  }
  // The type of `settings` ties each name to its value, which TypeScript cannot follow in a loop.
  return Object.freeze(config as unknown as Config);
}

/** Returns undefined when the value is not allowed, or missing. */
export function parseGiven({ value, folder }: Given, { type, read }: Setting<unknown>): unknown {
  const text = textOf(value, type);
  return text === undefined ? undefined : read(text, folder);
}

/** Returns the settings of a config, with those that can change while the server runs as they were read. */
export function withReloadable(config: Config, read: Config): Config {
  const merge = <Values extends object>(former: Values, next: Values) =>
    Object.fromEntries(
      settingNames.map((name) => [
        name,
        Reflect.get(settings[name].isReloadable ? next : former, name),
      ]),
    );
  return { ...merge(config, read), givens: merge(config.givens, read.givens) } as Config;
}

/** Looks for a flag, then a variable, then the file. A value that is overridden is not checked. */
function findGiven(
  name: string,
  setting: Setting<unknown>,
  { flags, environment, cwd }: ConfigSources,
  file: ConfigFile,
): Given {
  const flag = flags[name];
  if (setting.flag !== undefined && flag !== undefined)
    return { source: "flag", from: setting.flag, where: setting.flag, value: flag, folder: cwd };
  // An empty variable counts as not set, because compose files and CI systems write it so.
  const { variable, standardVariable = "" } = setting;
  const set = [variable, standardVariable].find((known) => environment[known]);
  if (set !== undefined)
    return { source: "environment", from: set, where: set, value: environment[set], folder: cwd };
  if (!Object.hasOwn(file.values, name))
    return { source: "default", from: null, where: "", value: setting.fallback, folder: cwd };
  const { name: fileName, path: from } = file;
  const where = `${fileName}, "${name}"`;
  return { source: "file", from, where, value: file.values[name], folder: dirname(from) };
}

function textOf(value: unknown, type: Setting<unknown>["type"]): string | undefined {
  if (typeof value === "string") return value;
  if (type === "number" && typeof value === "number") return String(value);
  if (type === "list" && isTexts(value)) return value.join(",");
  return undefined;
}

function errorOf({ where, value }: Given, setting: Setting<unknown>): ConfigError {
  const detail = `must be ${setting.allowed}`;
  if (value === true && where === setting.flag)
    return { where, detail: `needs a value; it ${detail}` };
  return { where: setting.isPrivate ? where : `${where} ${JSON.stringify(value)}`, detail };
}

/** Reads the config file. The default file may be missing. */
function readFile({ flags, environment, cwd }: ConfigSources, errors: ConfigError[]): ConfigFile {
  const { flag, variable } = configFile;
  if (flags.config === true || flags.config === "") {
    errors.push({ where: flag, detail: "needs a value; it must be the path of a JSON file" });
    return noFile;
  }
  const chosen = flags.config ?? (environment[variable] || undefined);
  const name = chosen ?? configFile.fallback;
  const path = resolve(cwd, name);
  if (chosen === undefined && !existsSync(path)) return noFile;
  try {
    const text = readFileSync(path, "utf8").replace(/^\uFEFF/, "");
    const [malformed] = scanJson(text);
    if (malformed !== undefined) throw new TypeError(`${malformed.pointer} ${malformed.detail}`);
    const values: unknown = JSON.parse(text);
    if (!isObject(values)) throw new TypeError("it must hold a JSON object");
    errors.push(...unknownKeys(name, values));
    return { name, path, values };
  } catch (error) {
    const where = flags.config !== undefined ? flag : chosen !== undefined ? variable : "file";
    const detail = `cannot be used: ${reasonOf(error).trim()}`;
    errors.push({ where: `${where} "${name}"`, detail });
    return noFile;
  }
}

/** Editors read this key, and the server ignores it. */
export const schemaKey = "$schema";

function unknownKeys(name: string, values: ConfigFile["values"]): ConfigError[] {
  const known = Object.keys(settings);
  return Object.keys(values)
    .filter((key) => !known.includes(key) && key !== schemaKey)
    .map((key) => ({
      where: `${name}, "${key}"`,
      detail: `is not a setting; ${hint(key, known)}`,
    }));
}

/** A variable that is nearly that of a setting. Others can be those of a tool, such as Kubernetes. */
export function unknownVariables(
  environment: ConfigSources["environment"],
): readonly ConfigError[] {
  const known = [...Object.values<Setting<unknown>>(settings), configFile].map(
    ({ variable }) => variable,
  );
  return Object.keys(environment).flatMap((name) => {
    if (!name.startsWith(prefix) || known.some((each) => each === name)) return [];
    const meant = known.find((each) =>
      isTypo(lettersOf(name.slice(prefix.length)), lettersOf(each.slice(prefix.length))),
    );
    return meant === undefined
      ? []
      : [{ where: name, detail: `is not a setting; did you mean ${meant}?` }];
  });
}

const prefix = "RESTANTE_";

/** Also finds the name for a flag or a variable. */
function hint(key: string, known: readonly string[]): string {
  const letters = lettersOf(key).replace(/^restante/, "");
  const meant = known.find((name) => isTypo(letters, lettersOf(name)));
  return meant === undefined ? `there are ${known.join(", ")}` : `did you mean "${meant}"?`;
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
