// The last free bytes of a disk, which are left to deletions: they write before they free anything.

import { statfsSync } from "node:fs";
import { statfs } from "node:fs/promises";

const mib = 1024 * 1024;

/** A disk of 1 GiB or more reserves these, a smaller one the same part of its size. */
const fullSize = 1024 * mib;
/** The WAL has 16 MiB, or more while it is read, before it is copied and written again. */
const rowsBytes = 24 * mib;
/** Uploads end before rows do, so that their resources can still be changed. */
const filesBytes = 48 * mib;

interface FileSystem {
  readonly bavail: number;
  readonly blocks: number;
  readonly bsize: number;
}

/** The bytes that are free beyond the reserve. Without an end where the file system does not say it. */
function beyond(reserve: number, { bavail, blocks, bsize }: FileSystem): number {
  if (blocks === 0) return Number.POSITIVE_INFINITY;
  const part = Math.min(1, (blocks * bsize) / fullSize);
  return bavail * bsize - reserve * part;
}

export const roomForRows = (folder: string): number => beyond(rowsBytes, statfsSync(folder));

export const roomForFiles = async (folder: string): Promise<number> =>
  beyond(filesBytes, await statfs(folder));
