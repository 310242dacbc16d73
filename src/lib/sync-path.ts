// Syncs a file or a directory to disk.

import { open } from "node:fs/promises";

/** Until its directory is synced, a new file can be lost in a power cut, even if the file itself is synced. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
