// Syncs a file, and shows that the disk has the bytes that the page cache has.

import { closeSync, constants, fstatSync, fsyncSync, openSync, readSync } from "node:fs";
import { Outage } from "../store.ts";

const wasmPages = 16;
const chunkBytes = wasmPages * 65_536;

/** Only Linux reads past the page cache this way. */
const direct = constants.O_DIRECT;

/** Throws when the bytes on the disk are others. Where the page cache cannot be passed, a sync is all. */
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
    // Its memory starts at a page, as reads past the page cache demand.
    const onDisk = new Uint8Array(new WebAssembly.Memory({ initial: wasmPages }).buffer);
    const inCache = new Uint8Array(chunkBytes);
    for (let start = 0; start < size; start += chunkBytes) {
      const length = Math.min(chunkBytes, size - start);
      const isRead = readSync(uncached, onDisk, 0, chunkBytes, start) === length;
      readSync(cached, inCache, 0, length, start);
      const isSame =
        isRead && Buffer.compare(onDisk.subarray(0, length), inCache.subarray(0, length)) === 0;
      if (!isSame) throw new Outage("suspect", `the disk did not keep the copy at byte ${start}`);
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
    // Not every file system can.
    return undefined;
  }
}
