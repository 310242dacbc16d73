// Deletes old backups, and the objects that no other backup needs.

import { readChunks, readManifest } from "./check.ts";
import { objectPattern } from "./folder.ts";
import { chunkName, chunksOf, type FileLine, InvalidBackup } from "./manifest.ts";
import type { BackupPlace, ObjectReader } from "./objects.ts";

export interface Pruned {
  readonly backups: number;
  readonly bytes: number;
}

/**
 * The newest backup stays, however old it is. At most half of the old ones and one more go at once,
 * the oldest first: a clock that is ahead for one backup must not delete all others. The caller has locked
 * the place.
 */
export async function prune(place: BackupPlace, before: number): Promise<Pruned> {
  const reader = await place.open();
  const records = await reader.records();
  const allOld = records.slice(0, -1).filter(({ createdAt }) => Date.parse(createdAt) < before);
  const old = allOld.slice(0, Math.floor(allOld.length / 2) + 1);
  if (old.length === 0) return { backups: 0, bytes: 0 };
  // Records go first: a backup without its objects would not be one.
  await place.removeRecords(old);
  const used = await usedObjects(reader);
  return { backups: old.length, bytes: used ? await removeOthers(place, used) : 0 };
}

/** Returns undefined when a backup is damaged, so that it is not known what it needs. */
async function usedObjects(reader: ObjectReader): Promise<ReadonlySet<string> | undefined> {
  const used = new Set<string>();
  try {
    for (const record of await reader.records()) {
      used.add(chunkName(record.manifest));
      const manifest = await readManifest(reader, record);
      for (const { sha256 } of chunksOf(manifest)) used.add(chunkName(sha256));
      for (const { files } of manifest.collections)
        for await (const lines of readChunks<FileLine>(reader, files))
          for (const [, sha256] of lines) used.add(sha256);
    }
    return used;
  } catch (error) {
    if (error instanceof InvalidBackup) return undefined;
    throw error;
  }
}

/** Returns how many bytes are free now. */
async function removeOthers(place: BackupPlace, used: ReadonlySet<string>): Promise<number> {
  let bytes = 0;
  for await (const { name, size } of place.objects()) {
    if (used.has(name) || !objectPattern.test(name)) continue;
    await place.removeObject(name);
    bytes += size;
  }
  return bytes;
}
