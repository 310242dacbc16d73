// Checks the values of flags and arguments before a command runs: an empty text, or the next flag, is a mistake.

import type { Command, Option } from "commander";
import { usageError } from "../lib/cli-error.ts";

/** The values of settings are checked with the other settings. An empty query asks for everything. */
const isChecked = ({ required, long }: Option): boolean => required && long !== "--query";

/** A variable that is not set makes an empty value, and an empty path would be the current folder. */
export function checkValues(command: Command, words: readonly string[] = process.argv): void {
  const flags = command.options.filter(isChecked).flatMap((option) => {
    if (command.getOptionValueSource(option.attributeName()) !== "cli") return [];
    const values = [command.getOptionValue(option.attributeName())].flat();
    return values.some((value) => isMissing(command, words, option.long, value))
      ? [`${option.long}`]
      : [];
  });
  const names = command.registeredArguments.filter(({ variadic }, index) =>
    command.args.slice(index, variadic ? undefined : index + 1).includes(""),
  );
  const missing = [...flags, ...names.map((argument) => argument.name())];
  if (missing.length > 0)
    throw usageError(missing.map((where) => ({ where, detail: "needs a value" })));
}

/** A value may look like a flag if it is written with an equals sign, as in `--name=--json`. */
function isMissing(
  { options }: Command,
  words: readonly string[],
  flag: string | undefined,
  value: string,
): boolean {
  if (value === "") return true;
  const isFlag = value === "--help" || options.some(({ long }) => long === value);
  return isFlag && words.some((word, index) => word === flag && words[index + 1] === value);
}
