// Syncs a file, and verifies that the disk has the same bytes as the page cache.

import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync } from "node:fs";
import { Outage } from "../../model/outage.ts";

const wasmPages = 16;
const chunkBytes = wasmPages * 65_536;

/** Only Linux has O_DIRECT, which bypasses the page cache. */
const direct = constants.O_DIRECT;

/** Throws when the bytes on the disk differ. Without O_DIRECT it only syncs. */
export function assertOnDisk(path: string): void {
  const cached = openSync(path, "r+");
  try {
    fsyncSync(cached);
    compareDirectly(path, cached);
  } finally {
    closeSync(cached);
  }
}

function compareDirectly(path: string, cached: number): void {
  const uncached = openDirectly(path);
  if (uncached === undefined) return;
  try {
    const { size } = fstatSync(cached);
    // WebAssembly memory is page-aligned, which O_DIRECT requires.
    const onDisk = new Uint8Array(new WebAssembly.Memory({ initial: wasmPages }).buffer);
    const inCache = new Uint8Array(chunkBytes);
    for (let start = 0; start < size; start += chunkBytes) {
      const length = Math.min(chunkBytes, size - start);
      const isRead = readSync(uncached, onDisk, 0, chunkBytes, start) === length;
      readSync(cached, inCache, 0, length, start);
      const isSame =
        isRead && Buffer.compare(onDisk.subarray(0, length), inCache.subarray(0, length)) === 0;
      if (!isSame)
        throw new Outage("suspect", `the disk did not store the copy correctly at byte ${start}`);
    }
  } finally {
    closeSync(uncached);
  }
}

function openDirectly(path: string): number | undefined {
  if (!direct) return undefined;
  try {
    return openSync(path, constants.O_RDONLY | direct);
  } catch {
    // Not every file system supports O_DIRECT.
    return undefined;
  }
}
