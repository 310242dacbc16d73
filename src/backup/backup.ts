// Makes a backup: rows and files of one point in time, while others write.

import { crc32 } from "node:zlib";
import { readFiles } from "../model/file.ts";
import { isVolatile } from "../model/system-collections.ts";
import type { Files } from "../store/files.ts";
import { keyOf, sourceTableNames } from "../store/transfer/source-tables.ts";
import type { Snapshot, SourceCollection, TransferSource } from "../store/transfer/transfer.ts";
import { CopiedFiles } from "./copied-files.ts";
import {
  type BackupRecord,
  type ChunkReference,
  chunkName,
  compress,
  type FileLine,
  format,
  hashOf,
  type LostFile,
  type Manifest,
  type SavedCollection,
} from "./manifest.ts";
import type { ObjectWriter } from "./objects.ts";
import type { Track } from "./track.ts";

export interface BackupInput {
  readonly source: TransferSource;
  readonly files: Files;
  readonly writer: ObjectWriter;
  /** The hashes of files that an earlier backup has, by key. */
  readonly known: ReadonlyMap<string, string>;
  readonly version: string;
  /** Greater than those of the backups before it. */
  readonly number: number;
  readonly track: Track;
}

export interface MadeBackup {
  readonly record: BackupRecord;
  readonly lost: readonly LostFile[];
  /** How long writes had to wait, if they had to. */
  readonly heldMs: number | undefined;
}

export async function makeBackup(input: BackupInput): Promise<MadeBackup> {
  const startedAt = performance.now();
  const { writer, source, version, number } = input;
  const files = new CopiedFiles(input);
  const snapshot = await files.copyAll(source);
  try {
    const rows = new RowsWriter(input, files);
    const manifest = await rows.writeAll(snapshot);
    const bytes = Buffer.from(JSON.stringify(manifest));
    const sha256 = await rows.writeChunk({ bytes, rows: 1 }).then((chunk) => chunk.sha256);
    const record: BackupRecord = {
      format,
      number,
      version,
      createdAt: new Date(files.snapshotAt).toISOString(),
      manifest: sha256,
      collections: manifest.collections.length,
      resources: manifest.collections.reduce((sum, { head }) => sum + head.total, 0),
      files: rows.fileCount,
      bytes: rows.bytes + rows.fileBytes,
      writtenBytes: rows.writtenBytes + files.writtenBytes,
      seconds: Math.round(performance.now() - startedAt) / 1_000,
    };
    await writer.finish(record);
    return { record, lost: manifest.lost, heldMs: files.heldMs };
  } finally {
    await snapshot.close();
  }
}

/** Writes the rows of a snapshot whose files are copied. */
class RowsWriter {
  readonly #writer: ObjectWriter;
  readonly #track: Track;
  readonly #files: CopiedFiles;
  readonly #lost: LostFile[] = [];
  bytes = 0;
  writtenBytes = 0;
  fileCount = 0;
  fileBytes = 0;

  constructor({ writer, track }: BackupInput, files: CopiedFiles) {
    this.#writer = writer;
    this.#track = track;
    this.#files = files;
  }

  async writeAll(snapshot: Snapshot): Promise<Manifest> {
    const { engine, store } = snapshot;
    const lasting = snapshot.collections.filter(({ name }) => !isVolatile(name));
    const total = lasting.reduce((sum, { head }) => sum + head.total, 0);
    const step = this.#track("rows", { total, unit: "resources" });
    const collections: SavedCollection[] = [];
    for (const collection of lasting)
      collections.push(await this.#writeCollection(snapshot, collection, step.add));
    step.done();
    const builder = new ChunkBuilder();
    const tokens: ChunkReference[] = [];
    for (const token of snapshot.tokens.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
      await this.#save(tokens, builder.add(token.id, [token]));
    await this.#save(tokens, builder.finish());
    return { engine, store, collections, tokens, lost: this.#lost };
  }

  async writeChunk({ bytes, rows }: Chunk): Promise<ChunkReference> {
    const sha256 = hashOf(bytes);
    const name = chunkName(sha256);
    this.bytes += bytes.length;
    if (!(await this.#writer.has(name))) {
      const compressed = compress(bytes);
      this.writtenBytes += compressed.length;
      await this.#writer.write(name, compressed);
    }
    return { sha256, rows, bytes: bytes.length };
  }

  async #writeCollection(
    { rows }: Snapshot,
    collection: SourceCollection,
    add: (count: number) => void,
  ): Promise<SavedCollection> {
    const fileLines = new ChunkBuilder();
    const files: ChunkReference[] = [];
    const tables: Record<string, ChunkReference[]> = {};
    for (const table of sourceTableNames) {
      const chunks: ChunkReference[] = [];
      const builder = new ChunkBuilder();
      for await (const step of rows(collection.part, table)) {
        for (const row of step) {
          await this.#save(chunks, builder.add(keyOf(table, row).join(), row));
          if (table !== "resources" || row[7] === null) continue;
          for (const line of this.#fileLines(collection.name, String(row[1]), String(row[7])))
            await this.#save(files, fileLines.add(line[0], line));
        }
        if (table === "resources") add(step.length);
      }
      await this.#save(chunks, builder.finish());
      tables[table] = chunks;
    }
    await this.#save(files, fileLines.finish());
    return { ...collection, tables: tables as unknown as SavedCollection["tables"], files };
  }

  /** Returns the files of a resource that the backup has. */
  #fileLines(collection: string, id: string, files: string): readonly FileLine[] {
    return readFiles(files).flatMap(({ key, sha256, size, slot: name }): readonly FileLine[] => {
      if (this.#files.hashOf(key) !== sha256) {
        this.#lost.push({ collection, id, name, key });
        return [];
      }
      this.fileCount++;
      this.fileBytes += size;
      return [[key, sha256, size]];
    });
  }

  async #save(chunks: ChunkReference[], chunk: Chunk | undefined): Promise<void> {
    if (chunk) chunks.push(await this.writeChunk(chunk));
  }
}

/** On average a chunk has this many rows. */
const rowsPerChunk = 1_024;
const maxRows = 8 * rowsPerChunk;
const maxBytes = 4 * 1024 * 1024;

interface Chunk {
  readonly bytes: Buffer;
  readonly rows: number;
}

/**
 * Collects the lines of one table. The key of a row decides whether a chunk ends with it, so that a row
 * that is added, changed or removed changes one or two chunks only.
 */
class ChunkBuilder {
  #lines: string[] = [];
  #size = 0;

  /** Returns the chunk that the row completes. */
  add(key: string, row: readonly unknown[]): Chunk | undefined {
    const line = `${JSON.stringify(row)}\n`;
    this.#lines.push(line);
    this.#size += line.length;
    const isEnd = crc32(key) % rowsPerChunk === 0;
    const isFull = this.#lines.length >= maxRows || this.#size >= maxBytes;
    return isEnd || isFull ? this.finish() : undefined;
  }

  /** Returns the rows since the last chunk, if there are any. */
  finish(): Chunk | undefined {
    const lines = this.#lines;
    if (lines.length === 0) return undefined;
    this.#lines = [];
    this.#size = 0;
    return { bytes: Buffer.from(lines.join("")), rows: lines.length };
  }
}
