// Reads a whole backup and checks that every byte is there, before anything is restored.

import { createHash } from "node:crypto";
import {
  type BackupRecord,
  type ChunkReference,
  chunkName,
  decompress,
  type FileLine,
  InvalidBackup,
  linesOf,
  type Manifest,
  type SavedCollection,
} from "./manifest.ts";
import type { ObjectReader } from "./objects.ts";
import type { Track } from "./track.ts";

export interface Choice {
  /** The newest backup that is not newer; undefined for the newest of all. */
  readonly at?: number | undefined;
  /** The names of collections; undefined for the whole store. */
  readonly collections?: readonly string[] | undefined;
}

export interface CheckedBackup {
  readonly reader: ObjectReader;
  readonly record: BackupRecord;
  readonly manifest: Manifest;
  /** The chosen collections. */
  readonly collections: readonly SavedCollection[];
  readonly isWhole: boolean;
}

/** Rejects with InvalidBackup when something is missing or damaged. */
export async function checkBackup(
  reader: ObjectReader,
  choice: Choice,
  track: Track,
): Promise<CheckedBackup> {
  const record = chooseRecord(await reader.records(), choice.at);
  const manifest = await readManifest(reader, record);
  const collections = chooseCollections(manifest, choice.collections);
  const isWhole = choice.collections === undefined;
  const checked = { reader, record, manifest, collections, isWhole };
  await checkObjects(checked, track);
  return checked;
}

function chooseRecord(records: readonly BackupRecord[], at: number | undefined): BackupRecord {
  const found = records.findLast(
    ({ createdAt }) => at === undefined || Date.parse(createdAt) <= at,
  );
  if (found !== undefined) return found;
  const [oldest] = records;
  throw new InvalidBackup(
    oldest === undefined
      ? "there is no complete backup"
      : `the oldest backup is of ${oldest.createdAt}`,
  );
}

export async function readManifest(
  reader: ObjectReader,
  { manifest }: BackupRecord,
): Promise<Manifest> {
  const bytes = decompress(manifest, await reader.read(chunkName(manifest)));
  return JSON.parse(bytes.toString("utf8")) as Manifest;
}

function chooseCollections(
  { collections }: Manifest,
  names: readonly string[] | undefined,
): readonly SavedCollection[] {
  return (names ?? collections.map(({ name }) => name)).map((name) => {
    const found = collections.find((collection) => collection.name === name);
    if (found !== undefined) return found;
    const all = collections.map((collection) => collection.name).join(", ");
    throw new InvalidBackup(`the backup has no collection ${name}; it has ${all || "none"}`);
  });
}

async function checkObjects(checked: CheckedBackup, track: Track): Promise<void> {
  const { reader, manifest, collections, isWhole } = checked;
  const chunks = [
    ...(isWhole ? manifest.tokens : []),
    ...collections.flatMap(({ tables }) => Object.values(tables).flat()),
  ];
  const rows = track("check rows", { total: sumOf(chunks), unit: "bytes" });
  for (const chunk of chunks) {
    await readChunk(reader, chunk);
    rows.add(chunk.bytes);
  }
  rows.done();
  const step = track("check files", { unit: "bytes" });
  const seen = new Set<string>();
  for (const { files } of collections)
    for await (const lines of readChunks<FileLine>(reader, files))
      for (const [, sha256, size] of lines) {
        if (seen.has(sha256)) continue;
        seen.add(sha256);
        await checkFile(reader, sha256, size);
        step.add(size);
      }
  step.done();
}

const sumOf = (chunks: readonly ChunkReference[]): number =>
  chunks.reduce((sum, { bytes }) => sum + bytes, 0);

async function checkFile(reader: ObjectReader, sha256: string, size: number): Promise<void> {
  const opened = await reader.open(sha256);
  const hash = createHash("sha256");
  for await (const piece of opened.bytes) hash.update(piece);
  if (opened.size !== size || hash.digest("hex") !== sha256)
    throw new InvalidBackup(`the file ${sha256} is damaged`);
}

/** Yields the lines of each chunk. */
export async function* readChunks<T>(
  reader: ObjectReader,
  chunks: readonly ChunkReference[],
): AsyncGenerator<readonly T[]> {
  for (const chunk of chunks) yield await readChunk<T>(reader, chunk);
}

async function readChunk<T>(
  reader: ObjectReader,
  { sha256, rows }: ChunkReference,
): Promise<readonly T[]> {
  const lines = linesOf<T>(decompress(sha256, await reader.read(chunkName(sha256))));
  if (lines.length !== rows) throw new InvalidBackup(`${chunkName(sha256)} is damaged`);
  return lines;
}

/** Returns the hashes of the files of the newest backup, by key, as far as it can be read. */
export async function knownFiles(reader: ObjectReader): Promise<ReadonlyMap<string, string>> {
  const known = new Map<string, string>();
  const record = (await reader.records()).at(-1);
  if (record === undefined) return known;
  try {
    for (const { files } of (await readManifest(reader, record)).collections)
      for await (const lines of readChunks<FileLine>(reader, files))
        for (const [key, sha256] of lines) known.set(key, sha256);
  } catch (error) {
    // The other files are read again.
    if (!(error instanceof InvalidBackup)) throw error;
  }
  return known;
}
