// Keeps files open until the runtime has opened them by their path, so that a file can be removed in between.

import { existsSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";

/** Where Linux shows the open files of a process. A removed file can still be opened there. */
const openFiles = "/proc/self/fd";

/** A runtime opens the file of a response in the same turn of the event loop, before any timer. */
const holdMs = 100;
/** Beyond it, files are opened by their own path, so that not too many are open. */
export const maxHeld = 512;

const isSupported = existsSync(openFiles);

export class HeldFiles {
  #count = 0;

  /** Returns a path that leads to the open file for a moment, also when it is removed. Closes the file afterwards. */
  async pathOf(handle: FileHandle, path: string): Promise<string> {
    if (!isSupported || this.#count >= maxHeld) {
      await handle.close();
      return path;
    }
    this.#count += 1;
    setTimeout(() => {
      this.#count -= 1;
      handle.close().catch(() => undefined);
    }, holdMs).unref();
    return `${openFiles}/${handle.fd}`;
  }
}
