// Measures how long a disk takes to sync a small write.

import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { Latencies, type Summary } from "./latencies.ts";

/** A page of the database. */
const block = Buffer.alloc(4096, 1);

export async function measureSyncs(
  folder: string,
  ms: number,
  onSync: () => void,
): Promise<Summary> {
  const path = join(folder, "sync-test");
  const file = await open(path, "w");
  const latencies = new Latencies();
  try {
    for (const end = performance.now() + ms; performance.now() < end || latencies.count === 0; ) {
      const startedAt = performance.now();
      await file.write(block);
      await file.datasync();
      latencies.add(performance.now() - startedAt);
      onSync();
    }
    return latencies.summary();
  } finally {
    await file.close();
    await rm(path);
  }
}
