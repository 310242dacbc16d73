// Makes the folder for the temporary files of a test run: in memory where there is room.

import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const memory = "/dev/shm";
/** A run has less than a tenth of it at a time. */
const neededBytes = 6 * 1024 ** 3;

/** Tests end processes and not machines, so that they need no disk. With `isOnDisk` they have one. */
export function makeTestFolder(isOnDisk) {
  const kept = isOnDisk || !hasRoom() ? undefined : makeFolder(memory);
  if (kept !== undefined && runsPrograms(kept)) return kept;
  if (kept !== undefined) rmSync(kept, { recursive: true });
  return makeFolder(tmpdir());
}

function makeFolder(parent) {
  const folder = mkdtempSync(join(parent, "restante-test-"));
  // Postgres runs as another user when root runs the tests.
  chmodSync(folder, 0o755);
  return folder;
}

function hasRoom() {
  if (!existsSync(memory) || process.availableMemory() < neededBytes) return false;
  const { bavail, bsize } = statfsSync(memory);
  return bavail * bsize > neededBytes;
}

/** In a container, programs there may be forbidden. */
function runsPrograms(folder) {
  const program = join(folder, "program");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  const { status } = spawnSync(program);
  rmSync(program);
  return status === 0;
}
