// Imports the folder of an export: definitions, the access document, and all collections.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { CliError } from "../lib/cli-error.ts";
import { reasonOf } from "../lib/system-error.ts";
import { definitionOf } from "../model/definition.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { referencesOf } from "../model/reference.ts";
import type { App } from "../server/app.ts";
import { accessFile, readDefinitionFiles } from "../server/definitions-folder.ts";
import { chooseFormat } from "./data-format.ts";
import { definitionsName, type ExportManifest, manifestName } from "./export-folder.ts";
import { ImportCount, importLines, type RejectedLine } from "./import-lines.ts";
import type { ImportReport } from "./import-report.ts";
import { checkInput, inputState, readInput } from "./input-file.ts";

interface FolderDefinition {
  readonly name: string;
  readonly text: string;
}

/** With a name, only this collection is imported. */
export async function importFolder(
  app: App,
  folder: string,
  only: string | undefined,
  report: ImportReport,
): Promise<void> {
  const manifest = readManifest(folder);
  const files = manifest.collections.filter(({ name }) => only === undefined || name === only);
  if (only !== undefined && files.length === 0)
    throw new CliError(1, `${folder} has no collection ${only}.`);
  const { definitions, access } = readDefinitionFiles(join(folder, definitionsName), folder);
  const all: readonly FolderDefinition[] = manifest.accessCollection
    ? [...definitions, { name: accessFile, text: JSON.stringify(manifest.accessCollection) }]
    : definitions;
  for (const { file } of files) {
    const path = join(folder, file);
    if (!existsSync(path)) throw new CliError(1, `${path} is missing. Nothing was imported.`);
    await checkInput(path, chooseFormat(path, undefined), report.progress);
  }
  const chosen = all.filter(({ name }) => only === undefined || name === only);
  await define(app, chosen, only === undefined ? access?.text : undefined, folder);
  for (const name of inOrder(chosen)) {
    const file = files.find((each) => each.name === name)?.file;
    if (file !== undefined) await importCollection(app, name, join(folder, file), report);
  }
}

function readManifest(folder: string): ExportManifest {
  const path = join(folder, manifestName);
  if (!existsSync(path))
    throw new CliError(1, `${folder} is not the folder of an export: it has no ${manifestName}.`);
  try {
    const manifest = JSON.parse(readFileSync(path, "utf8")) as ExportManifest;
    if (manifest.format === 1) return manifest;
    throw new Error(`it has format ${manifest.format}, which a newer version has written`);
  } catch (cause) {
    throw new CliError(1, `Cannot read ${path}: ${reasonOf(cause)}.`, { cause });
  }
}

/** Creates what does not exist. What is there and differs is not changed. */
async function define(
  app: App,
  definitions: readonly FolderDefinition[],
  access: string | undefined,
  folder: string,
): Promise<void> {
  const { collections, accessDocuments } = app;
  const stored = accepted(await collections.list(system));
  const document = accepted(await accessDocuments.find(system));
  const isNewDocument = Object.values(document).every((each) => Object.keys(each).length === 0);
  const isOther = ({ name, text }: FolderDefinition) => {
    const before = stored.find((each) => each.name === name);
    return before && !isDeepStrictEqual(JSON.parse(before.definition), JSON.parse(text));
  };
  const others = definitions.filter(isOther).map(({ name }) => name);
  const isOtherAccess =
    access !== undefined && !isNewDocument && !isDeepStrictEqual(document, JSON.parse(access));
  if (others.length > 0 || isOtherAccess) {
    const what = [...others, ...(isOtherAccess ? ["the access document"] : [])].join(", ");
    const command = `restante definitions apply --collections ${join(folder, definitionsName)}`;
    throw new CliError(
      1,
      `Nothing was imported: the store has other definitions: ${what}. To replace them, run ${command} first.`,
    );
  }
  const set = { access: isNewDocument ? access : undefined, definitions };
  const applied = await collections.apply(system, set);
  if ("problem" in applied) accepted(applied.problem);
}

function accepted<T>(result: T | Problem): T {
  if (!(result instanceof Problem)) return result;
  const errors = result.errors?.map(({ detail }) => detail) ?? [];
  throw new CliError(1, [result.detail, ...errors].join(" "));
}

/** Returns the names so that a collection follows those that it refers to. */
function inOrder(definitions: readonly FolderDefinition[]): readonly string[] {
  const targets = new Map(
    definitions.map(({ name, text }) => {
      const { references } = definitionOf({ version: 0, definition: text });
      return [name, referencesOf(references).map(({ collection }) => collection)];
    }),
  );
  const ordered = new Set<string>();
  const visiting = new Set<string>();
  const visit = (name: string): void => {
    if (ordered.has(name) || visiting.has(name)) return;
    visiting.add(name);
    for (const target of targets.get(name) ?? []) visit(target);
    ordered.add(name);
  };
  for (const name of targets.keys()) visit(name);
  return [...ordered].filter((name) => targets.has(name));
}

/**
 * Imports by id, which can be repeated. Lines that refer to later ones are rejected at first, and are
 * tried again while some of them succeed.
 */
async function importCollection(
  app: App,
  collection: string,
  path: string,
  report: ImportReport,
): Promise<void> {
  const format = chooseFormat(path, undefined);
  const types = format.type === "csv" ? "infer" : undefined;
  const work = {
    collection,
    format,
    key: "id",
    isDryRun: false,
    encoding: undefined,
    parameters: { types },
  };
  const total = new ImportCount();
  let rejected: Map<number, RejectedLine> | undefined;
  for (;;) {
    const step = report.progress.step(collection, { total: inputState(path)?.size, unit: "bytes" });
    const before: ReadonlyMap<number, RejectedLine> | undefined = rejected;
    const isSkipped = before && ((line: number) => !before.has(line));
    const found = new Map<number, RejectedLine>();
    const chunks = readInput(path, format, (bytes) => step.add(bytes));
    const count = await importLines(app, { ...work, isSkipped }, chunks, (each) =>
      found.set(each.line, each),
    );
    step.done();
    total.created += count.created;
    total.replaced += count.replaced;
    total.lines ||= count.lines;
    rejected = found;
    if (found.size === 0 || found.size === before?.size) break;
  }
  total.rejected = rejected.size;
  for (const each of rejected.values()) report.reject(path, each);
  report.add({ collection, file: path, isDryRun: false, ...total });
}
