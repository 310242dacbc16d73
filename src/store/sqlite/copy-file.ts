// Copies a file: by sharing its blocks where the file system can, else in pieces with progress.

import { constants } from "node:fs";
import { copyFile as copyWhole, type FileHandle, open } from "node:fs/promises";

const pieceBytes = 4 * 1024 * 1024;

/** Writes the target anew, for the owner only, and syncs it. Reports how much is copied, from 0 to 1. */
export async function copyFile(
  from: string,
  to: string,
  report: (done: number) => void,
): Promise<void> {
  const isCloned = await clone(from, to);
  const target = await open(to, isCloned ? "r+" : "w", 0o600);
  try {
    if (!isCloned) await copyPieces(from, target, report);
    await target.sync();
  } finally {
    await target.close();
  }
}

/** Returns whether the file system could do it. If not, there is no target. */
async function clone(from: string, to: string): Promise<boolean> {
  try {
    await copyWhole(from, to, constants.COPYFILE_FICLONE_FORCE);
    return true;
  } catch {
    return false;
  }
}

async function copyPieces(
  from: string,
  target: FileHandle,
  report: (done: number) => void,
): Promise<void> {
  const source = await open(from, "r");
  try {
    const { size } = await source.stat();
    const piece = new Uint8Array(pieceBytes);
    for (let place = 0; place < size; ) {
      const { bytesRead } = await source.read(piece, 0, pieceBytes, place);
      if (bytesRead === 0) throw new Error(`${from} became shorter while it was copied`);
      await target.writeFile(piece.subarray(0, bytesRead));
      place += bytesRead;
      report(place / size);
    }
  } finally {
    await source.close();
  }
}
