// Clears away what a process that died has left: half of a file, or a file that no resource names.

import { randomBytes } from "node:crypto";
import { lstat, mkdir, opendir, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Files } from "../files.ts";
import { ifThere } from "./errors.ts";
import { isDrawer, isKey, type Places } from "./paths.ts";

type Named = Parameters<Files["sweep"]>[0];

/** So many are looked at together: memory must have an end. */
const portionSize = 500;
const keyLength = 32;

/**
 * Says how many were removed. A file that looks forgotten is moved aside first, and removed only when
 * still nobody names it: whoever names it meanwhile has looked for it after its commit (see `confirm`),
 * so no clock has to be right, and no process has to be quick.
 */
export async function sweep(places: Places, named: Named, olderThanMs: number): Promise<number> {
  const before = Date.now() - olderThanMs;
  const id = randomBytes(6).toString("hex");
  let count = 0;
  for await (const names of portionsOf(places.incoming))
    for (const name of names) count += await removeIfOlder(join(places.incoming, name), before);
  // What another sweep had moved aside when it ended.
  for await (const names of portionsOf(places.removed)) {
    const left = names.map(
      (name) => [name.slice(0, keyLength), join(places.removed, name)] as const,
    );
    count += await moveAndSettle(places, left, named, id);
  }
  for await (const drawers of portionsOf(places.folder))
    for (const drawer of drawers.filter(isDrawer))
      for await (const names of portionsOf(join(places.folder, drawer))) {
        const keys = names.map((name) => drawer + name).filter(isKey);
        const known = await named(keys);
        const old: (readonly [string, string])[] = [];
        for (const key of keys.filter((each) => !known.has(each)))
          if (await isOlder(places.at(key), before)) old.push([key, places.at(key)]);
        count += await moveAndSettle(places, old, named, id);
      }
  return count;
}

/** Under a name of its own a file is removed by this sweep alone, and only after it has asked again. */
async function moveAndSettle(
  places: Places,
  files: readonly (readonly [key: string, path: string])[],
  named: Named,
  id: string,
): Promise<number> {
  const moved: string[] = [];
  for (const [key, path] of files.filter(([each]) => isKey(each))) {
    await mkdir(places.removed, { recursive: true, mode: 0o700 });
    const isMoved = await ifThere(rename(path, places.removedAt(key, id)).then(() => true));
    if (isMoved) moved.push(key);
  }
  if (moved.length === 0) return 0;
  const known = await named(moved);
  for (const key of moved) {
    const path = places.removedAt(key, id);
    await ifThere(known.has(key) ? rename(path, places.at(key)) : unlink(path));
  }
  return moved.filter((key) => !known.has(key)).length;
}

async function removeIfOlder(path: string, before: number): Promise<number> {
  if (!(await isOlder(path, before))) return 0;
  await ifThere(unlink(path));
  return 1;
}

/** The names in a directory, a few at a time; none when it is not there. */
async function* portionsOf(directory: string): AsyncIterable<readonly string[]> {
  let names: string[] = [];
  const entries = await ifThere(opendir(directory, { bufferSize: portionSize }));
  if (!entries) return;
  for await (const { name } of entries) {
    names.push(name);
    if (names.length < portionSize) continue;
    yield names;
    names = [];
  }
  if (names.length > 0) yield names;
}

async function isOlder(path: string, than: number): Promise<boolean> {
  const stats = await ifThere(lstat(path));
  return stats !== undefined && stats.mtimeMs <= than;
}
