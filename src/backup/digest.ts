// Hashes the bytes of objects, and compares them with their names.

import { createHash } from "node:crypto";
import { decompress, InvalidBackup } from "./manifest.ts";
import type { ObjectReader } from "./objects.ts";

export interface Digest {
  readonly sha256: string;
  readonly size: number;
}

export async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<Digest> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const piece of bytes) {
    hash.update(piece);
    size += piece.byteLength;
  }
  return { sha256: hash.digest("hex"), size };
}

/** Rejects when the object does not have the content that its name stands for. */
export async function checkObject(
  name: string,
  reader: Pick<ObjectReader, "read" | "open">,
): Promise<void> {
  const [sha256 = "", suffix] = name.split(".");
  if (suffix !== undefined) decompress(sha256, await reader.read(name));
  else if ((await digestOf((await reader.open(name)).bytes)).sha256 !== sha256)
    throw new InvalidBackup(`${name} is damaged`);
}
