// The input of an import, a file or standard input: its name, its state, a check, and its decoded content with progress.

import { createReadStream, statSync } from "node:fs";
import { BodyError, decode } from "../http/body/decoding.ts";
import { CliError } from "../lib/cli-error.ts";
import { reasonOf } from "../lib/system-error.ts";
import { Problem } from "../model/problem.ts";
import type { DataFormat } from "./data-format.ts";
import type { Progress } from "./progress.ts";

export const isStdin = (path: string): boolean => path === "-";

/** How an input is named in messages. */
export const inputName = (path: string): string => (isStdin(path) ? "standard input" : path);

/** Returns the size and the time of the last change; undefined for what can be read only once, such as a pipe. */
export function inputState(path: string): { size: number; changedAt: number } | undefined {
  if (isStdin(path)) return undefined;
  try {
    const stats = statSync(path);
    return stats.isFile() ? { size: stats.size, changedAt: stats.mtimeMs } : undefined;
  } catch (cause) {
    throw new CliError(1, `Cannot read ${path}: ${reasonOf(cause)}.`, { cause });
  }
}

/** Reads a compressed file to its end, so that nothing of a damaged one is imported. */
export async function checkInput(
  path: string,
  format: DataFormat,
  progress: Progress,
): Promise<void> {
  const input = inputState(path);
  if (input === undefined || format.coding === undefined) return;
  const step = progress.step(`check ${path}`, { total: input.size, unit: "bytes" });
  for await (const _ of readInput(path, format, (bytes) => step.add(bytes)));
  step.done();
}

/** Yields the decoded bytes. `onRead` gets the number of bytes that were read. */
export async function* readInput(
  path: string,
  { coding }: DataFormat,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  const source = isStdin(path) ? process.stdin : createReadStream(path);
  async function* read(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source as AsyncIterable<Uint8Array>) {
      onRead(chunk.length);
      yield chunk;
    }
  }
  try {
    if (coding === undefined) yield* read();
    else yield* decode(read(), coding, noLimit);
  } catch (cause) {
    const isDamaged = cause instanceof BodyError;
    const reason = isDamaged ? `it is not one complete and valid ${coding} file` : reasonOf(cause);
    throw new CliError(1, `Cannot read ${inputName(path)}: ${reason}.`, { cause });
  }
}

/** The operator has chosen the file. */
const noLimit = {
  bytes: Number.POSITIVE_INFINITY,
  maxRatio: Number.POSITIVE_INFINITY,
  problem: new Problem("content-too-large", "The file is too large."),
};
