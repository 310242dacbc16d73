// Keeps a file open until the runtime has opened it by its path, so that it can be removed in between.

import { existsSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";

/** Where Linux shows the open files of a process. A removed file can still be opened there. */
const openFiles = "/proc/self/fd";

export const canHold = existsSync(openFiles);

/**
 * Returns a path that leads to the open file, also when it is removed. A runtime opens the file of a
 * response in the same turn of the event loop, so it is closed in the next one: a longer time would hold
 * too many files at thousands of downloads per second.
 */
export function holdForThisTurn(handle: FileHandle): string {
  setImmediate(() => void handle.close().catch(() => undefined));
  return `${openFiles}/${handle.fd}`;
}
