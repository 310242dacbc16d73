// Defines what is written to a backup: a small record for each backup, and the manifest that it names.

import { createHash } from "node:crypto";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { SourceTable } from "../store/transfer/source-tables.ts";
import type { SourceCollection, StoreState } from "../store/transfer/transfer.ts";

/** From the first release on, later versions of Restante read this format too. */
export const format = 2;

/** Some rows as NDJSON, compressed with zstd. The name of the object is the SHA-256 of the NDJSON. */
export interface ChunkReference {
  readonly sha256: string;
  readonly rows: number;
  /** The size before the compression. */
  readonly bytes: number;
}

/** A file of a resource, as a line of a chunk. */
export type FileLine = readonly [key: string, sha256: string, size: number];

export interface SavedCollection extends SourceCollection {
  readonly tables: Readonly<Record<SourceTable, readonly ChunkReference[]>>;
  readonly files: readonly ChunkReference[];
}

/** A file that the source has lost or damaged, so that the backup does not have it. */
export interface LostFile {
  readonly collection: string;
  readonly id: string;
  readonly name: string;
  readonly key: string;
}

export interface Manifest {
  readonly engine: "sqlite" | "postgres";
  readonly store: StoreState;
  readonly collections: readonly SavedCollection[];
  readonly tokens: readonly ChunkReference[];
  readonly lost: readonly LostFile[];
}

/** The last file that is written: without it there is no backup. */
export interface BackupRecord {
  readonly format: number;
  /** Counts the backups of a place. */
  readonly number: number;
  /** The version of Restante. */
  readonly version: string;
  /** ISO 8601. All that was acknowledged before it is in the backup. */
  readonly createdAt: string;
  /** The SHA-256 of the manifest. */
  readonly manifest: string;
  readonly collections: number;
  readonly resources: number;
  readonly files: number;
  /** The size of all rows and files. */
  readonly bytes: number;
  /** What was written because no earlier backup had it. */
  readonly writtenBytes: number;
  readonly seconds: number;
}

/** Sorts backups by when they were made, the oldest first. */
export const inOrder = (records: readonly BackupRecord[]): readonly BackupRecord[] =>
  records.toSorted((one, other) => one.number - other.number);

/** Identifies a folder of backups and the store they belong to. */
export interface FolderRecord {
  readonly format: number;
  readonly store: string;
}

/** Thrown when a backup cannot be used as it is. The message says why. */
export class InvalidBackup extends Error {}

export const hashOf = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

/** The name of the object with this content, compressed or as it is. */
export const chunkName = (sha256: string): string => `${sha256}.zst`;

export const compress = (bytes: Uint8Array): Uint8Array => zstdCompressSync(bytes);

/** Larger than any chunk, and small enough for the memory. */
const maxChunkBytes = 1024 * 1024 * 1024;

/** Throws when the bytes are not those that the name stands for. */
export function decompress(sha256: string, compressed: Uint8Array): Buffer {
  let bytes: Buffer;
  try {
    bytes = zstdDecompressSync(compressed, { maxOutputLength: maxChunkBytes });
  } catch (error) {
    throw new InvalidBackup(`${chunkName(sha256)} is damaged: ${String(error)}`);
  }
  if (hashOf(bytes) !== sha256) throw new InvalidBackup(`${chunkName(sha256)} is damaged`);
  return bytes;
}

/** Parses the lines of a chunk. */
export function linesOf<T>(chunk: Buffer): readonly T[] {
  const text = chunk.toString("utf8").trimEnd();
  return text === "" ? [] : text.split("\n").map((line) => JSON.parse(line) as T);
}

/** Throws when this version cannot read the backup. */
export function checkFormat(found: unknown, where: string): void {
  const isRecord = typeof found === "object" && found !== null && "format" in found;
  if (!isRecord || typeof found.format !== "number")
    throw new InvalidBackup(`${where} is not a backup of Restante`);
  if (found.format > format)
    throw new InvalidBackup(
      `${where} was written by a newer Restante (its format is ${found.format}, this one reads up to ${format}): update Restante`,
    );
  if (found.format < format)
    throw new InvalidBackup(
      `${where} was written before the first release (its format is ${found.format}, this one reads ${format}): use the version that wrote it, or another place`,
    );
}

/** All chunks of rows, of files and of tokens that a manifest names. */
export const chunksOf = ({ collections, tokens }: Manifest): readonly ChunkReference[] => [
  ...tokens,
  ...collections.flatMap(({ tables, files }) => [...Object.values(tables).flat(), ...files]),
];
