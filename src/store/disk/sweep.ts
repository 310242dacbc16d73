// Clears away what a process that died has left: half of a file, or a file that no resource names.

import { lstat, opendir, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Files } from "../files.ts";
import { isDrawer, isKey, type Places } from "./places.ts";
import { ifThere } from "./trouble.ts";

type Named = Parameters<Files["sweep"]>[0];

/** So many are looked at together: memory must have an end. */
const portionSize = 500;

/** Says how many were removed. */
export async function sweep(places: Places, named: Named, olderThanMs: number): Promise<number> {
  const before = Date.now() - olderThanMs;
  let count = 0;
  for await (const path of unnamedIn(places, named))
    if (await isOlder(path, before)) {
      await ifThere(unlink(path));
      count++;
    }
  return count;
}

async function* unnamedIn(places: Places, named: Named): AsyncIterable<string> {
  for await (const names of portionsOf(places.incoming))
    for (const name of names) yield join(places.incoming, name);
  for await (const drawers of portionsOf(places.folder))
    for (const drawer of drawers.filter(isDrawer))
      for await (const names of portionsOf(join(places.folder, drawer))) {
        const keys = names.map((name) => drawer + name).filter(isKey);
        const known = await named(keys);
        for (const key of keys) if (!known.has(key)) yield places.at(key);
      }
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
