// A folder of definitions, kept in git: each file gives the collection of its name its rules.

import { readdirSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { CliError, messageOf, usageError } from "../lib/cli-error.ts";
import { scanJson } from "../lib/json/scan.ts";
import { readDefinition } from "../model/definition.ts";
import { isCollectionName } from "../model/id.ts";
import { type FieldError, type ParameterError, Problem } from "../model/problem.ts";
import type { App } from "./app.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";

interface DefinitionFile {
  readonly path: string;
  readonly name: string;
  readonly text: string;
}

/** Defines what the folder says, where it does not hold already. Collections without a file stay as they are. */
export async function defineAll(
  { collections: folder }: Config,
  { collections }: App,
  log: Log,
): Promise<void> {
  if (folder === undefined) return;
  for (const { path, name, text } of readFolder(folder)) {
    const defined = await collections.ensure(name, text);
    if (defined instanceof Problem) throw new CliError(1, `${path}: ${defined.detail}`);
    if (defined === undefined) continue;
    log.info({ collection: name, isNew: defined.isNew }, "defined");
    if (defined.violations.count > 0)
      log.warn({ collection: name, ...defined.violations }, "some resources do not fit");
  }
}

/** The definitions of all files, or every fault of them at once. */
export function readFolder(folder: string): readonly DefinitionFile[] {
  const files = namesIn(folder).map((file) => {
    const path = join(folder, file);
    return { path, name: basename(file, ".json"), text: readFileSync(path, "utf8") };
  });
  const faults = files.flatMap((file) =>
    faultsOf(file).map((fault) => ({ where: `${file.path} ${placeOf(fault)}`, ...fault })),
  );
  if (faults.length > 0) throw usageError(faults);
  return files;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && extname(entry.name) === ".json")
      .map(({ name }) => name)
      .sort();
  } catch (cause) {
    throw new CliError(2, `--collections: the folder cannot be read: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function faultsOf({ name, text }: DefinitionFile): readonly FieldError[] {
  if (!isCollectionName(name))
    return [{ pointer: "", detail: "the file is named as its collection: a-z, 0-9, _ and -" }];
  const faults = scanJson(text);
  if (faults.length > 0) return faults;
  const definition = readDefinition(text);
  return "access" in definition ? [] : definition;
}

const placeOf = (fault: FieldError | ParameterError): string =>
  "pointer" in fault ? fault.pointer : fault.parameter;
