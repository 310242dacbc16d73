// Applies a folder of definitions to the collections of the same names, and `access.json` as the access document.

import { readdirSync, readFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { CliError, usageError } from "../lib/cli-error.ts";
import { scanJson } from "../lib/json/scan.ts";
import { reasonOf } from "../lib/system-error.ts";
import { isCollectionName } from "../model/id.ts";
import { system } from "../model/principal.ts";
import type { FieldError, ParameterError, Problem } from "../model/problem.ts";
import { readDefinition } from "../model/read-definition.ts";
import { accessName, readAccessDocument } from "../model/schemas/access.ts";
import type { App } from "./app.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";

interface DefinitionFile {
  readonly path: string;
  readonly name: string;
  readonly text: string;
}

interface DefinitionsFolder {
  readonly definitions: readonly DefinitionFile[];
  readonly access: DefinitionFile | undefined;
}

/** The name of the file with the access document. No file defines a collection of this name. */
export const accessFile = "access";

const accessHint =
  "is the access document; define a collection of this name with PUT /-/collections/access";

/** Applies what differs from what is stored, all or nothing, and returns the names. Collections without a file are not changed. */
export async function applyDefinitions(
  { collections: folder }: Config,
  { collections }: App,
  log: Log,
): Promise<readonly string[]> {
  if (folder === undefined) return [];
  const { definitions, access } = readDefinitionFiles(folder);
  const applied = await collections.apply(system, { access: access?.text, definitions });
  if ("problem" in applied) {
    const file = applied.name === accessName ? access : undefined;
    const named = file ?? definitions.find(({ name }) => name === applied.name);
    throw rejected(named?.path ?? folder, applied.problem);
  }
  const names: string[] = [];
  for (const { name, isNew, violations } of applied) {
    if (name === accessName) {
      log.info("replaced the access document");
      continue;
    }
    names.push(name);
    log.info({ collection: name, isNew }, "defined");
    if (violations.count > 0)
      log.warn({ collection: name, ...violations }, "some resources do not match the definition");
  }
  return names;
}

function rejected(path: string, { detail, errors = [] }: Problem): CliError {
  if (errors.length === 0) return new CliError(1, `${path}: ${detail}`);
  return usageError(errors.map((error) => ({ where: `${path} ${pointerOf(error)}`, ...error })));
}

/** Returns the content of all files. Throws a CliError with all errors. `where` is what names the folder. */
export function readDefinitionFiles(folder: string, where = "--collections"): DefinitionsFolder {
  const files = namesIn(folder, where).map((file) => {
    const path = join(folder, file);
    return { path, name: basename(file, ".json"), text: textOf(path) };
  });
  const errors = files.flatMap((file) =>
    errorsIn(file).map((error) => ({ where: `${file.path} ${pointerOf(error)}`, ...error })),
  );
  if (errors.length > 0) throw usageError(errors);
  const access = files.find(({ name }) => name === accessFile);
  return { definitions: files.filter((file) => file !== access), access };
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new CliError(2, `Cannot read ${path}: ${reasonOf(cause)}.`, { cause });
  }
}

function namesIn(folder: string, where: string): readonly string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => !entry.isDirectory() && extname(entry.name) === ".json")
      .map(({ name }) => name)
      .sort();
  } catch (cause) {
    throw new CliError(2, `${where}: cannot read the folder: ${reasonOf(cause)}`, { cause });
  }
}

function errorsIn({ name, text }: DefinitionFile): readonly FieldError[] {
  if (!isCollectionName(name))
    return [{ pointer: "", detail: "the file name must be a collection name: a-z, 0-9, _ and -" }];
  const errors = scanJson(text);
  if (errors.length > 0) return errors;
  if (name === accessFile) {
    const document = readAccessDocument(text);
    return "roles" in document ? [] : [...document, { pointer: "", detail: accessHint }];
  }
  const definition = readDefinition(text);
  return "access" in definition ? [] : definition;
}

const pointerOf = (error: FieldError | ParameterError): string =>
  "pointer" in error ? error.pointer : error.parameter;
