// Writes the output of a command: to stdout, or to a file or folder that gets its name when it is complete and on disk.

import {
  createWriteStream,
  existsSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from "node:fs";
import { mkdir, open, rename } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Transform, type TransformCallback } from "node:stream";
import { pipeline } from "node:stream/promises";
import { encodeStream } from "../http/headers/content-coding.ts";
import { CliError } from "../lib/cli-error.ts";
import { syncPath } from "../lib/sync-path.ts";
import { reasonOf } from "../lib/system-error.ts";
import type { DataFormat } from "./data-format.ts";

const suffix = ".part";

/**
 * Calls `write` with a temporary path beside `path`, and renames it when it resolves. A killed command
 * leaves only the temporary file, which the next command with the same path removes.
 */
export async function writeThenRename(
  path: string,
  write: (temporary: string) => Promise<void>,
): Promise<void> {
  // A symbolic link stays, and what it points to is replaced.
  const target = existsSync(path) ? realpathSync(path) : resolve(path);
  const temporary = `${target}.${process.pid}${suffix}`;
  try {
    removeAbandoned(target);
    await write(temporary);
    await rename(temporary, target);
    await syncPath(dirname(target));
  } catch (thrown) {
    rmSync(temporary, { recursive: true, force: true });
    throw isSystemError(thrown) ? cannotWrite(path, thrown) : thrown;
  }
}

/** Removes what commands that do not run any more have left. */
function removeAbandoned(target: string): void {
  const [folder, start] = [dirname(target), `${basename(target)}.`];
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const middle = name.slice(start.length, -suffix.length);
    const isOurs = name.startsWith(start) && name.endsWith(suffix) && /^\d{1,10}$/.test(middle);
    if (isOurs && !isRunning(Number(middle))) rmSync(join(folder, name), { recursive: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    // A process of another user.
    return isSystemError(thrown) && thrown.code === "EPERM";
  }
}

const isSystemError = (thrown: unknown): thrown is NodeJS.ErrnoException =>
  thrown instanceof Error && "syscall" in thrown;

const cannotWrite = (path: string, cause: unknown): CliError =>
  new CliError(1, `Cannot write ${path}: ${reasonOf(cause)}. Nothing is left under this name.`, {
    cause,
  });

/** Writes the bytes to a new file, compressed if the format says so, and syncs it. */
export async function writeFile(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  format: DataFormat,
): Promise<number> {
  const counter = new ByteCounter();
  const file = await open(path, "wx");
  await pipeline([encoded(chunks, format), counter, file.createWriteStream()]);
  await syncPath(path);
  return counter.bytes;
}

/** Writes a small text to a new file, and creates its folder. */
export async function writeText(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const format = { type: "ndjson", coding: undefined, extension: "" } as const;
  const bytes = new TextEncoder().encode(text);
  await writeFile(
    path,
    (async function* () {
      yield bytes;
    })(),
    format,
  );
}

/** Whether something is there that a file must not replace: a named pipe, a device or /dev/stdout. */
export function isPipeOrDevice(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && !stats.isFile() && !stats.isDirectory();
}

/** Writes the bytes to a named pipe or a device, which cannot be renamed or synced. */
export async function writeToDevice(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  format: DataFormat,
): Promise<number> {
  const counter = new ByteCounter();
  try {
    await pipeline([encoded(chunks, format), counter, createWriteStream(path)]);
  } catch (thrown) {
    if (!isSystemError(thrown)) throw thrown;
    throw new CliError(1, `Cannot write ${path}: ${reasonOf(thrown)}.`, { cause: thrown });
  }
  return counter.bytes;
}

/** Writes the bytes to standard output. */
export async function writeToStdout(
  chunks: AsyncIterable<Uint8Array>,
  format: DataFormat,
): Promise<number> {
  const counter = new ByteCounter();
  try {
    await pipeline([encoded(chunks, format), counter, process.stdout], { end: false });
  } catch (thrown) {
    if (!(isSystemError(thrown) && thrown.code === "EPIPE")) throw thrown;
    throw new CliError(1, "Standard output was closed before the end of the export.");
  }
  return counter.bytes;
}

const encoded = (
  chunks: AsyncIterable<Uint8Array>,
  { coding }: DataFormat,
): AsyncIterable<Uint8Array> => (coding === undefined ? chunks : encodeStream(chunks, coding));

class ByteCounter extends Transform {
  bytes = 0;

  override _transform(chunk: Uint8Array, _: BufferEncoding, done: TransformCallback): void {
    this.bytes += chunk.length;
    done(null, chunk);
  }
}
