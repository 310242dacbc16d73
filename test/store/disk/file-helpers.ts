// Helpers for the tests of files on disk: random bytes, saving, reading, and the files in a folder.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, readlinkSync } from "node:fs";
import { readdir } from "node:fs/promises";
import type { Files, SavedFile } from "../../../src/store/files.ts";

export const hashOf = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

/** Bytes without a pattern, the same each time. */
export function bytesOf(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let state = size + 1;
  for (let index = 0; index < size; index++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}

export async function* inChunks(bytes: Uint8Array, size = 60_000): AsyncIterable<Uint8Array> {
  for (let start = 0; start < bytes.byteLength; start += size)
    yield bytes.subarray(start, start + size);
}

export async function saveFile(files: Files, bytes: Uint8Array): Promise<SavedFile> {
  const kept = await files.save(inChunks(bytes), bytes.byteLength);
  assert.ok(kept !== "too-large");
  return kept;
}

export async function read(
  files: Files,
  key: string,
  start: number,
  end: number,
): Promise<Uint8Array> {
  const stream = await files.read(key, start, end);
  assert.ok(stream, `${key} is not there`);
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** The files in the folder, however deep, in order. */
export async function filesIn(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => `${parentPath.slice(folder.length + 1)}/${name}`)
    .sort();
}

/** How many files of the folder this process has open, where that can be counted. */
export function countOpen(folder: string): number {
  return readdirSync("/proc/self/fd").filter((number) => {
    try {
      return readlinkSync(`/proc/self/fd/${number}`).startsWith(folder);
    } catch {
      return false;
    }
  }).length;
}
