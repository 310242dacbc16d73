// The command `export`: writes a collection, a query or the whole server to files, beside a running server.

import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { CliError, usageError } from "../lib/cli-error.ts";
import { definitionOf } from "../model/definition.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import { validatorOf } from "../model/validator.ts";
import type { App } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { chooseFormat } from "./data-format.ts";
import { exportFolder } from "./export-folder.ts";
import {
  isPipeOrDevice,
  writeFile,
  writeThenRename,
  writeToDevice,
  writeToStdout,
} from "./output-file.ts";
import { countOf, formatBytes, Progress } from "./progress.ts";
import { type ExportedCollection, type ExportOptions, readCollection } from "./read-collection.ts";
import { operatorConfig } from "./system-request.ts";
import { withStoreToRead } from "./with-store.ts";

export const exportData = (config: Config, options: ExportOptions): Promise<void> => {
  const { collection, to, query, json: isJson } = options;
  const wrong = wrongUse(options);
  if (wrong.length > 0) throw usageError(wrong);
  return withStoreToRead(operatorConfig(config), async (app) => {
    const startedAt = performance.now();
    const progress = new Progress({ isJson });
    try {
      const exported =
        collection === undefined
          ? await exportFolder(app, options, progress)
          : [await exportFile(app, { ...options, collection, query: query ?? "" }, progress)];
      const missing = await notExported(app, collection);
      for (const text of missing) progress.note(`Not exported: ${text}.`);
      const seconds = Math.round(performance.now() - startedAt) / 1_000;
      const text = isJson
        ? JSON.stringify({ to, collections: exported, missing, seconds })
        : summary(to, exported);
      (isStream(to) && !isJson ? process.stderr : process.stdout).write(`${text}\n`);
    } finally {
      progress.close();
    }
  });
};

/** What is written to directly, and may be standard output. */
const isStream = (to: string): boolean => to === "-" || isPipeOrDevice(to);

function wrongUse({ collection, to, query, json }: ExportOptions) {
  const errors: { where: string; detail: string }[] = [];
  const add = (where: string, detail: string) => errors.push({ where, detail });
  if (query !== undefined && collection === undefined) add("--query", "needs --collection");
  if (to === "-" && collection === undefined)
    add("--to -", "needs --collection: the whole server is a folder of files");
  if (to === "-" && json) add("--json", "needs a file in --to: standard output has the resources");
  return errors;
}

function summary(to: string, exported: readonly ExportedCollection[]): string {
  const sum = (count: (each: ExportedCollection) => number) =>
    exported.reduce((total, each) => total + count(each), 0);
  const [only] = exported;
  const what = exported.length === 1 && only ? only.name : `${exported.length} collections`;
  const resources = countOf(
    sum((each) => each.resources),
    "resources",
  );
  const target = to === "-" ? "standard output" : to;
  return `Exported ${resources} of ${what} to ${target} (${formatBytes(sum((each) => each.bytes))}).`;
}

/** Says what an export never has, where the store has it. */
async function notExported(app: App, name: string | undefined): Promise<readonly string[]> {
  const all = await app.collections.list(system);
  if (all instanceof Problem) throw new CliError(1, all.detail);
  const hidden = all
    .filter((collection) => name === undefined || collection.name === name)
    .filter((collection) => validatorOf(definitionOf(collection)).hasHidden)
    .map((collection) => `the writeOnly fields of ${collection.name}`);
  const hint = "the content of uploaded files; `restante backup` has everything";
  return app.hasFiles() ? [...hidden, hint] : hidden;
}

interface FileExport {
  readonly collection: string;
  readonly to: string;
  readonly query: string;
  readonly format?: string;
}

async function exportFile(
  app: App,
  { collection, to, query, format: named }: FileExport,
  progress: Progress,
): Promise<ExportedCollection> {
  const format = chooseFormat(to, named, to === "-" ? "ndjson" : undefined);
  const source = { name: collection, query, format };
  const counts = { resources: 0, bytes: 0 };
  if (isStream(to)) {
    await readCollection(app, source, progress, async (chunks, counter) => {
      counts.bytes = await (to === "-"
        ? writeToStdout(chunks, format)
        : writeToDevice(to, chunks, format));
      counts.resources = counter.rows;
    });
    return { name: collection, file: to, ...counts };
  }
  if (!existsSync(dirname(resolve(to))))
    throw new CliError(1, `There is no folder ${dirname(resolve(to))}.`);
  await writeThenRename(to, (path) =>
    readCollection(app, source, progress, async (chunks, counter) => {
      counts.bytes = await writeFile(path, chunks, format);
      counts.resources = counter.rows;
    }),
  );
  return { name: collection, file: to, ...counts };
}
