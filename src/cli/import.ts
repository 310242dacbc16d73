// The command `import`: writes the lines of a file to a collection, or a whole export back to a store.

import { statSync } from "node:fs";
import { CliError, usageError } from "../lib/cli-error.ts";
import { reasonOf } from "../lib/system-error.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { App } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { chooseFormat, type DataFormat } from "./data-format.ts";
import { importFolder } from "./import-folder.ts";
import { importLines } from "./import-lines.ts";
import { ImportReport, type ImportResult } from "./import-report.ts";
import { ImportState } from "./import-state.ts";
import { checkInput, inputName, inputState, isStdin, readInput } from "./input-file.ts";
import { Progress } from "./progress.ts";
import { operatorConfig, RejectedRequest } from "./system-request.ts";
import { withStoreToWrite } from "./with-store.ts";

export interface ImportOptions {
  readonly collection?: string;
  readonly key?: string;
  readonly dryRun?: boolean;
  readonly format?: string;
  readonly types?: string;
  readonly separator?: string;
  readonly encoding?: string;
  readonly json?: boolean;
}

/** The exit code is 1 when a line is rejected. */
export async function importData(
  config: Config,
  path: string,
  options: ImportOptions,
): Promise<void> {
  const isFolder = !isStdin(path) && isDirectory(path);
  const { collection, json: isJson } = options;
  const wrong = isFolder ? wrongForFolder(options) : wrongForFile(path, options);
  if (wrong.length > 0) throw usageError(wrong);
  const progress = new Progress({ isJson });
  const report = new ImportReport(progress, isJson ?? false);
  let state: ImportState | undefined;
  const act = async (app: App): Promise<void> => {
    try {
      if (isFolder) await importFolder(app, path, collection, report);
      else
        state = await importFile(app, path, { ...options, collection: collection ?? "" }, report);
    } finally {
      progress.close();
    }
  };
  await withStoreToWrite(operatorConfig(config), act, "Run the same command again.");
  report.print();
  // A command that is killed before it has said that the import is complete can be repeated.
  state?.remove();
  if (report.isAnyRejected) process.exitCode = 1;
}

function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (cause) {
    throw new CliError(1, `Cannot read ${path}: ${reasonOf(cause)}.`, { cause });
  }
}

/** What a flag for CSV allows. */
const csvFlags = {
  types: /^(?:text|infer)$/,
  separator: /^(?:comma|semicolon|tab)$/,
  encoding: /^[\w-]+$/,
} as const;

/** It is known before the store is opened, and before a collection is created for the file. */
function wrongForFile(path: string, options: ImportOptions) {
  const { type } = formatOf(path, options);
  const flags = Object.entries(csvFlags).flatMap(([name, form]) => {
    const value = options[name as keyof typeof csvFlags];
    if (value === undefined || (type === "csv" && form.test(value))) return [];
    const detail = type === "csv" ? "has another value than --help shows" : "is for CSV";
    return [{ where: `--${name} ${value}`, detail }];
  });
  return options.collection === undefined
    ? [{ where: "--collection", detail: "is needed for a file" }, ...flags]
    : flags;
}

const formatOf = (path: string, { format }: ImportOptions): DataFormat =>
  chooseFormat(path, format, isStdin(path) ? "ndjson" : undefined);

function wrongForFolder(options: ImportOptions) {
  const names = ["key", "dryRun", "format", "types", "separator", "encoding"] as const;
  return names
    .filter((name) => options[name] !== undefined)
    .map((name) => ({
      where: name === "dryRun" ? "--dry-run" : `--${name}`,
      detail: "is for a file, not for the folder of an export",
    }));
}

/** Imports one file or standard input. Returns what remembers the import until it is reported. */
export async function importFile(
  app: App,
  path: string,
  options: ImportOptions & { readonly collection: string },
  report: ImportReport,
): Promise<ImportState | undefined> {
  const { collection, dryRun: isDryRun = false, types, separator, encoding } = options;
  const format = formatOf(path, options);
  const input = inputState(path);
  const { progress } = report;
  await checkInput(path, format, progress);
  const key = await prepareKey(app, collection, options, report);
  // With a key, a line that is imported again replaces itself.
  const isTracked = key === undefined && !isDryRun;
  const state = isTracked && input ? await ImportState.open(path, collection, input) : undefined;
  if (state?.isResumed) progress.note(`Going on with the import of ${path} that was stopped.`);
  const name = isDryRun ? `try ${inputName(path)}` : inputName(path);
  const step = progress.step(name, { total: input?.size, unit: "bytes" });
  const work = { collection, format, key, isDryRun, encoding, parameters: { types, separator } };
  const result: ImportResult = { collection, file: path, isDryRun };
  try {
    let read = 0;
    const chunks = readInput(path, format, (bytes) => {
      read += bytes;
      step.add(bytes);
    });
    const idOf = state && ((line: number) => state.idOf(line));
    const count = await importLines(app, { ...work, idOf }, chunks, (rejected) =>
      report.reject(path, rejected),
    );
    if (input !== undefined && read !== input.size)
      throw new CliError(1, `${path} has changed while it was read.`);
    step.done();
    report.add({ ...result, ...count });
    return state;
  } catch (thrown) {
    if (!(thrown instanceof CliError)) throw thrown;
    // The input or a flag is wrong, and nothing was written.
    if (thrown.code === 2 || thrown instanceof RejectedRequest) {
      if (state?.isResumed === false) state.remove();
      throw thrown;
    }
    const isSafe = state !== undefined || key !== undefined || isDryRun;
    const advice = isSafe
      ? " Run the same command to continue."
      : " Import only the lines after it, or use --key.";
    throw new CliError(1, `${thrown.message}${advice}`, { cause: thrown });
  }
}

/** A collection that does not exist gets the key as a unique field. */
async function prepareKey(
  app: App,
  collection: string,
  { key, dryRun }: ImportOptions,
  { progress }: ImportReport,
): Promise<string | undefined> {
  if (key === undefined || key === "id") return key;
  const found = await app.collections.find(system, collection);
  if (!(found instanceof Problem)) return key;
  const definition = JSON.stringify({ unique: [key] });
  const text = `${collection} does not exist: `;
  if (dryRun) {
    progress.note(`${text}it would be created with unique ${key}. Equal values are not compared.`);
    return undefined;
  }
  const defined = await app.collections.define(system, collection, definition);
  if (defined instanceof Problem) throw new CliError(1, `${text}${defined.detail}`);
  progress.note(`${text}it is created with the definition ${definition}.`);
  return key;
}
