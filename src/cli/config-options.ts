// Gives commands the flags of settings, and reads their config.

import type { Command } from "commander";
import { errorText, usageError } from "../lib/cli-error.ts";
import { isTypo, lettersOf } from "../lib/typo.ts";
import {
  type Config,
  type ConfigError,
  type ConfigSources,
  configFile,
  processEnvironment,
  readConfig,
  settings,
  unknownVariables,
} from "../server/config.ts";

/** Adds a flag for each setting. The parser sees the value as optional, so that all missing values are reported. */
export function withSettings(command: Command, names: readonly string[]): Command {
  const chosen = Object.entries(settings).filter(([name]) => names.includes(name));
  for (const [, { flag, placeholder, about, variable, fallback, type }] of chosen) {
    if (flag === undefined) continue;
    const origin = fallback ? `${variable}, default: ${fallback}` : variable;
    const join = (text: string, before?: string) =>
      before === undefined || type !== "list" ? text : `${before},${text}`;
    command.option(`${flag} [${placeholder}]`, `${about} (${origin})`, join);
  }
  const { flag, placeholder, about, variable, fallback } = configFile;
  const origin = `${variable}, default: ./${fallback} if it is there`;
  return command.option(`${flag} [${placeholder}]`, `${about} (${origin})`);
}

/** What the config is read from, now and later. */
export const sourcesOf = (command: Command): ConfigSources => ({
  flags: command.opts(),
  environment: { ...processEnvironment() },
  cwd: process.cwd(),
});

export function configOf(command: Command, sources = sourcesOf(command)): Config {
  const config = readConfig(sources);
  const errors = [...unknownFlags(command), ...(Array.isArray(config) ? config : [])];
  if (Array.isArray(config) || errors.length > 0) throw usageError(errors);
  for (const unknown of unknownVariables(sources.environment))
    process.stderr.write(`Warning: ${errorText(unknown)}\n`);
  return config;
}

/** Returns unknown flags (without what looks like their value) and extra arguments. */
function unknownFlags(command: Command): readonly ConfigError[] {
  const isVariadic = command.registeredArguments.at(-1)?.variadic ?? false;
  const known = isVariadic ? command.args.length : command.registeredArguments.length;
  const extra = command.args.slice(known);
  const isFlag = (word: string | undefined) => word?.startsWith("-") ?? false;
  return extra
    .filter((word, index) => isFlag(word) || !isFlag(extra[index - 1]))
    .map((word) => ({
      where: word,
      detail: `is unknown to restante ${command.name()}${hint(command, word)}`,
    }));
}

function hint({ options }: Command, word: string): string {
  const [flag = ""] = word.split("=");
  const isMeant = (long: string) => isTypo(lettersOf(flag), lettersOf(long));
  const meant = flag.startsWith("--") && options.find(({ long }) => isMeant(long ?? ""));
  return meant ? `; did you mean ${meant.long}?` : "";
}
