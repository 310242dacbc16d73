// Removes what a crashed process has left behind: incomplete files, and files that no resource references.

import { randomBytes } from "node:crypto";
import { lstat, mkdir, opendir, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { isKey } from "../file-key.ts";
import type { FindReferenced } from "../files.ts";
import { ignoreMissing, mapDiskError } from "./errors.ts";
import { type FilePaths, isKeyDirectory } from "./paths.ts";

/** How many files are checked at once; bounds the memory use. */
const batchSize = 500;
const keyLength = 32;

/**
 * Returns how many files were removed. An unreferenced file is moved first, and removed only when it is
 * still unreferenced after that. A commit that references it in between finds it moved and moves it back
 * (see `confirm`), so nothing depends on clocks or on timing.
 */
export async function sweep(
  paths: FilePaths,
  findReferenced: FindReferenced,
  olderThanMs: number,
): Promise<number> {
  const before = Date.now() - olderThanMs;
  const id = newSweepId();
  let count = 0;
  for await (const names of batchesOf(paths.incoming))
    for (const name of names) count += await removeIfOlder(join(paths.incoming, name), before);
  count += await settleAside(paths, findReferenced, id);
  for await (const keys of orphansIn(paths, findReferenced, olderThanMs)) {
    const files = keys.map((key) => [key, paths.pathOf(key)] as const);
    count += await moveAndRemove(paths, files, findReferenced, id);
  }
  return count;
}

/** Yields the keys of files that no resource references and that are older than this. */
export async function* orphansIn(
  paths: FilePaths,
  findReferenced: FindReferenced,
  olderThanMs: number,
): AsyncGenerator<readonly string[]> {
  const before = Date.now() - olderThanMs;
  for await (const directories of batchesOf(paths.folder))
    for (const directory of directories.filter(isKeyDirectory))
      for await (const names of batchesOf(join(paths.folder, directory))) {
        const keys = names.map((name) => directory + name).filter(isKey);
        const referenced = await findReferenced(keys);
        const old: string[] = [];
        for (const key of keys.filter((each) => !referenced.has(each)))
          if (await isOlder(paths.pathOf(key), before)) old.push(key);
        if (old.length > 0) yield old;
      }
}

const newSweepId = (): string => randomBytes(6).toString("hex");

/** Moves files as a sweep does, before they are unreferenced. */
export async function setAside(paths: FilePaths, keys: readonly string[]): Promise<void> {
  await moveAll(
    paths,
    keys.map((key) => [key, paths.pathOf(key)] as const),
    newSweepId(),
  );
}

/** Removes the files that were set aside, also by an interrupted sweep. Returns how many were removed. */
export async function settleAside(
  paths: FilePaths,
  findReferenced: FindReferenced,
  id = newSweepId(),
): Promise<number> {
  let count = 0;
  for await (const names of batchesOf(paths.removed)) {
    const leftovers = names.map(
      (name) => [name.slice(0, keyLength), join(paths.removed, name)] as const,
    );
    count += await moveAndRemove(paths, leftovers, findReferenced, id);
  }
  return count;
}

/** Only this sweep knows the new name, so no other sweep removes or moves the file. */
async function moveAndRemove(
  paths: FilePaths,
  files: readonly (readonly [key: string, path: string])[],
  findReferenced: FindReferenced,
  id: string,
): Promise<number> {
  const moved = await moveAll(paths, files, id);
  if (moved.length === 0) return 0;
  const referenced = await findReferenced(moved);
  for (const key of moved) {
    const path = paths.removedPathOf(key, id);
    await ignoreMissing(referenced.has(key) ? rename(path, paths.pathOf(key)) : unlink(path));
  }
  return moved.filter((key) => !referenced.has(key)).length;
}

/** Returns the keys of the files that were there. */
async function moveAll(
  paths: FilePaths,
  files: readonly (readonly [key: string, path: string])[],
  id: string,
): Promise<readonly string[]> {
  const moved: string[] = [];
  for (const [key, path] of files.filter(([each]) => isKey(each))) {
    await mkdir(paths.removed, { recursive: true, mode: 0o700 });
    const isMoved = await ignoreMissing(
      rename(path, paths.removedPathOf(key, id)).then(() => true),
    );
    if (isMoved) moved.push(key);
  }
  return moved;
}

export async function removeIfOlder(path: string, before: number): Promise<number> {
  if (!(await isOlder(path, before))) return 0;
  await ignoreMissing(unlink(path));
  return 1;
}

/** Yields the names in a directory in batches; none when the directory does not exist. */
export async function* batchesOf(directory: string): AsyncIterable<readonly string[]> {
  let names: string[] = [];
  const opened = opendir(directory, { bufferSize: batchSize });
  const entries = await mapDiskError(ignoreMissing(opened));
  if (!entries) return;
  for await (const { name } of entries) {
    names.push(name);
    if (names.length < batchSize) continue;
    yield names;
    names = [];
  }
  if (names.length > 0) yield names;
}

export async function isOlder(path: string, than: number): Promise<boolean> {
  const stats = await ignoreMissing(lstat(path));
  return stats !== undefined && stats.mtimeMs <= than;
}
