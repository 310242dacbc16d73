// Forms with files as bytes, written by hand: also those that no client would send.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { ProblemKind } from "../../src/model/problem.ts";
import type { Client } from "./client.ts";
import type { Answer } from "./expect.ts";

export interface Piece {
  /** The header lines as they are. */
  readonly head: readonly string[];
  readonly bytes: Uint8Array | string;
}

export interface Form {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer<ArrayBuffer>;
}

/** A view of a file in a representation. */
export interface Shown {
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly sha256: string;
  readonly url: string;
}

const disposition = (rest: string) => `Content-Disposition: form-data; ${rest}`;

export const text = (name: string, value: string): Piece => ({
  head: [disposition(`name="${name}"`)],
  bytes: value,
});

/** The file name between the quotes. */
export const file = (
  name: string,
  fileName: string,
  bytes: Uint8Array | string,
  type = "application/octet-stream",
): Piece => ({
  head: [disposition(`name="${name}"; filename="${fileName}"`), `Content-Type: ${type}`],
  bytes,
});

export function form(pieces: readonly Piece[], boundary = "a-boundary", end = "--\r\n"): Form {
  const parts = pieces.flatMap(({ head, bytes }) => [
    Buffer.from(`--${boundary}\r\n${head.join("\r\n")}\r\n\r\n`),
    Buffer.from(bytes as Uint8Array),
    Buffer.from("\r\n"),
  ]);
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    body: Buffer.concat([...parts, Buffer.from(`--${boundary}${end}`)]),
  };
}

export const hashOf = (bytes: Uint8Array | string): string =>
  createHash("sha256").update(bytes).digest("hex");

/** Every file below the folder, half-written ones included; not those of the folder's lock. */
export async function filesIn(folder: string): Promise<readonly string[]> {
  if (!existsSync(folder)) return [];
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(
    () => undefined,
  );
  // A folder was removed while it was read.
  if (entries === undefined) return filesIn(folder);
  return entries
    .filter((entry) => entry.isFile() && !entry.name.startsWith("restante."))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

interface Rejection {
  readonly kind: ProblemKind;
  readonly collection: string;
  /** The folder with the files. */
  readonly files: string;
}

/** Expects this problem, and no change of the collection and its files. */
export async function rejectsWithoutChange(
  client: Client,
  { kind, collection, files }: Rejection,
  ask: () => Promise<Answer>,
) {
  const before = await filesIn(files);
  const problem = await client.rejects(collection, kind, ask);
  assert.deepEqual(await filesIn(files), before);
  return problem;
}
