// Reads the files of a folder of definitions, and applies each to the collection of the same name.

import { readdirSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { CliError, messageOf, usageError } from "../lib/cli-error.ts";
import { scanJson } from "../lib/json/scan.ts";
import { readDefinition } from "../model/definition.ts";
import { isCollectionName } from "../model/id.ts";
import { system } from "../model/principal.ts";
import { type FieldError, type ParameterError, Problem } from "../model/problem.ts";
import type { App } from "./app.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";

interface DefinitionFile {
  readonly path: string;
  readonly name: string;
  readonly text: string;
}

/** Applies the definitions that differ from the stored ones. Collections without a file are not changed. */
export async function applyDefinitions(
  { collections: folder }: Config,
  { collections }: App,
  log: Log,
): Promise<void> {
  if (folder === undefined) return;
  for (const { path, name, text } of readDefinitionFiles(folder)) {
    const defined = await collections.ensure(system, name, text);
    if (defined instanceof Problem) throw new CliError(1, `${path}: ${defined.detail}`);
    if (defined === undefined) continue;
    log.info({ collection: name, isNew: defined.isNew }, "defined");
    if (defined.violations.count > 0)
      log.warn(
        { collection: name, ...defined.violations },
        "some resources do not match the definition",
      );
  }
}

/** Returns the definitions of all files. Throws a CliError with all errors. */
export function readDefinitionFiles(folder: string): readonly DefinitionFile[] {
  const files = namesIn(folder).map((file) => {
    const path = join(folder, file);
    return { path, name: basename(file, ".json"), text: readFileSync(path, "utf8") };
  });
  const errors = files.flatMap((file) =>
    errorsIn(file).map((error) => ({ where: `${file.path} ${pointerOf(error)}`, ...error })),
  );
  if (errors.length > 0) throw usageError(errors);
  return files;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && extname(entry.name) === ".json")
      .map(({ name }) => name)
      .sort();
  } catch (cause) {
    throw new CliError(2, `--collections: cannot read the folder: ${messageOf(cause)}`, {
      cause,
    });
  }
}

function errorsIn({ name, text }: DefinitionFile): readonly FieldError[] {
  if (!isCollectionName(name))
    return [{ pointer: "", detail: "the file name must be a collection name: a-z, 0-9, _ and -" }];
  const errors = scanJson(text);
  if (errors.length > 0) return errors;
  const definition = readDefinition(text);
  return "access" in definition ? [] : definition;
}

const pointerOf = (error: FieldError | ParameterError): string =>
  "pointer" in error ? error.pointer : error.parameter;
