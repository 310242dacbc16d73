// Writes the whole server to a folder: the definitions, the access document, and a file for each collection.

import { existsSync, readdirSync, rmSync } from "node:fs";
import { mkdir, rename } from "node:fs/promises";
import { join, resolve } from "node:path";
import { CliError } from "../lib/cli-error.ts";
import { version } from "../lib/program.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { App } from "../server/app.ts";
import { accessFile } from "../server/definitions-folder.ts";
import { chooseFormat } from "./data-format.ts";
import { writeFile, writeText, writeThenRename } from "./output-file.ts";
import type { Progress } from "./progress.ts";
import {
  type ExportedCollection,
  type ExportOptions,
  ownerFields,
  readCollection,
} from "./read-collection.ts";

/** The file that says what a folder has. It is written last. */
export const manifestName = "restante-export.json";

/** The folder of the definitions. `--collections` accepts it. */
export const definitionsName = "collections";
const dataName = "data";

export interface ExportManifest {
  readonly format: 1;
  readonly version: string;
  readonly exportedAt: string;
  readonly collections: readonly ExportedCollection[];
  /** The definition of a collection with the name of the file of the access document. */
  readonly accessCollection?: unknown;
}

export async function exportFolder(
  app: App,
  { to, format: named, overwrite: isOverwritten = false }: ExportOptions,
  progress: Progress,
): Promise<readonly ExportedCollection[]> {
  const format = chooseFormat("", named, "ndjson");
  const target = resolve(to);
  const isUsed = existsSync(target) && readdirSync(target).length > 0;
  if (isUsed && !(isOverwritten && existsSync(join(target, manifestName))))
    throw new CliError(
      1,
      `${to} is not empty. Choose another folder, or replace an earlier export with --overwrite.`,
    );
  const collections = await app.collections.list(system);
  const access = await app.accessDocuments.find(system);
  if (collections instanceof Problem) throw new CliError(1, collections.detail);
  if (access instanceof Problem) throw new CliError(1, access.detail);

  const exported: ExportedCollection[] = [];
  await writeThenRename(target, async (folder) => {
    await mkdir(join(folder, dataName), { recursive: true });
    await writeText(join(folder, definitionsName, `${accessFile}.json`), pretty(access));
    for (const { name, definition } of collections)
      if (name !== accessFile)
        await writeText(
          join(folder, definitionsName, `${name}.json`),
          pretty(JSON.parse(definition)),
        );
    for (const { name } of collections) {
      const file = join(dataName, `${name}.${format.extension}`);
      const source = { name, query: ownerFields, format };
      await readCollection(app, source, progress, async (chunks, counter) => {
        const bytes = await writeFile(join(folder, file), chunks, format);
        exported.push({ name, file, resources: counter.rows, bytes });
      });
    }
    const named = collections.find(({ name }) => name === accessFile);
    const manifest: ExportManifest = {
      format: 1,
      version,
      exportedAt: new Date().toISOString(),
      collections: exported,
      ...(named && { accessCollection: JSON.parse(named.definition) }),
    };
    await writeText(join(folder, manifestName), pretty(manifest));
    if (isUsed) await rename(target, `${folder}.old`);
    else rmSync(target, { recursive: true, force: true });
  });
  rmSync(`${target}.${process.pid}.part.old`, { recursive: true, force: true });
  return exported;
}

const pretty = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;
