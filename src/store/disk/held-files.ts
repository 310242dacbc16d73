// Keeps a file open until the runtime has opened it by its path, so that it can be removed in between.

import { existsSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";

/** Where Linux shows the open files of a process. A removed file can still be opened there. */
const openFiles = "/proc/self/fd";

export const canHold = existsSync(openFiles);

/** For a caller in the same process, which reads the body of the response later than a socket does. */
const holdMs = 100;
/** Beyond it files are held for one turn only, because thousands of downloads per second would hold too many. */
const maxHeldLonger = 512;
let heldLonger = 0;

/**
 * Returns a path that leads to the open file, also when it is removed. A runtime opens the file of a
 * response in the same turn of the event loop, so it can be closed in the next one.
 */
export function holdOpen(handle: FileHandle): string {
  const close = () => void handle.close().catch(() => undefined);
  if (heldLonger === maxHeldLonger) setImmediate(close);
  else {
    heldLonger++;
    setTimeout(() => {
      heldLonger--;
      close();
    }, holdMs).unref();
  }
  return `${openFiles}/${handle.fd}`;
}
