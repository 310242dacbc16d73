// Loads a checked backup into a store: files first, then rows, which are published all at once.

import type { Token } from "../model/token.ts";
import { definedVersion } from "../store/core/open-head.ts";
import { bytesOf, type Files } from "../store/files.ts";
import { newParts } from "../store/transfer/publication.ts";
import { type SourceRow, sourceTableNames } from "../store/transfer/source-tables.ts";
import type { Loader, Replaced } from "../store/transfer/transfer.ts";
import { type CheckedBackup, readChunks } from "./check.ts";
import type { FileLine } from "./manifest.ts";
import type { Track } from "./track.ts";

export interface RestoreInput {
  readonly loader: Loader;
  readonly files: Files;
  readonly replaces: Replaced;
  readonly track: Track;
}

export interface Restored {
  readonly collections: number;
  readonly resources: number;
  readonly files: number;
}

/**
 * Collections get new parts, so that positions in feeds from before are not valid any more, and their
 * definitions are set again, so that the version of the contract does not go back.
 */
export async function restoreBackup(backup: CheckedBackup, input: RestoreInput): Promise<Restored> {
  const saved: string[] = [];
  try {
    const files = await restoreFiles(backup, input, saved);
    const resources = await restoreRows(backup, input);
    const { store } = backup.manifest;
    const whole = backup.isWhole ? { store, tokens: await readTokens(backup) } : undefined;
    await input.loader.publish({ replaces: input.replaces, ...(whole && { whole }) });
    return { collections: backup.collections.length, resources, files };
  } catch (error) {
    await input.files.remove(saved).catch(() => undefined);
    throw error;
  }
}

/** Returns the number of files. Adds the keys of those that were not there yet. */
async function restoreFiles(
  { reader, collections }: CheckedBackup,
  { files, track }: RestoreInput,
  saved: string[],
): Promise<number> {
  const total = collections.reduce(
    (sum, each) => sum + each.files.reduce((rows, chunk) => rows + chunk.rows, 0),
    0,
  );
  const step = track("files", { total, unit: "files" });
  for (const collection of collections)
    for await (const lines of readChunks<FileLine>(reader, collection.files))
      for (const [key, sha256] of lines) {
        const bytes = bytesOf(() => reader.open(sha256));
        const isNew = await files.saveAs(key, bytes, sha256);
        if (isNew) saved.push(key);
        step.add(1);
      }
  step.done();
  return total;
}

/** Returns the number of resources. */
async function restoreRows(
  { reader, collections }: CheckedBackup,
  { loader, track }: RestoreInput,
): Promise<number> {
  const total = collections.reduce((sum, { head }) => sum + head.total, 0);
  const parts = newParts(collections.map(({ part }) => part));
  const step = track("rows", { total, unit: "resources" });
  for (const { tables, files: _, ...collection } of collections) {
    const part = parts.get(collection.part) ?? collection.part;
    const version = definedVersion(collection.version, Date.now());
    const head = { ...collection.head, version };
    const load = await loader.begin({ ...collection, part, version, head });
    for (const table of sourceTableNames)
      for await (const rows of readChunks<SourceRow>(reader, tables[table])) {
        await load.add(table, rows);
        if (table === "resources") step.add(rows.length);
      }
    await load.finish();
  }
  step.done();
  return total;
}

async function readTokens({ reader, manifest }: CheckedBackup): Promise<readonly Token[]> {
  const tokens: Token[] = [];
  for await (const lines of readChunks<readonly [Token]>(reader, manifest.tokens))
    tokens.push(...lines.map(([token]) => token));
  return tokens;
}
