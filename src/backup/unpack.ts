// Unpacks an archive into a folder of backups.

import { createWriteStream } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { readArchive } from "./archive.ts";
import type { Track } from "./track.ts";

/** Replaces the folder. What is damaged is noticed when the backup is checked. */
export async function unpack(archive: string, folder: string, track: Track): Promise<void> {
  const step = track("unpack", { unit: "files" });
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for await (const { name, bytes } of readArchive(archive)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await pipeline(bytes, createWriteStream(path, { mode: 0o600 }));
    step.add(1);
  }
  step.done();
}
