// Stores one backup in an archive file, which has the same content as a folder of backups.

import { createHash } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { type Duplex, PassThrough, type Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import {
  createGunzip,
  createGzip,
  createZstdCompress,
  createZstdDecompress,
  zstdDecompressSync,
} from "node:zlib";
import { messageOf } from "../lib/cli-error.ts";
import { syncPath } from "../lib/sync-path.ts";
import { readTar, tarEnd, tarHeader, tarPadding } from "../lib/tar.ts";
import { folderRecordPath, objectPath, recordPath } from "./folder.ts";
import { type BackupRecord, format, hashOf, InvalidBackup } from "./manifest.ts";
import type { ObjectWriter, OpenFile, WrittenFile } from "./objects.ts";

const compressors: readonly (readonly [suffix: string, make: () => Duplex])[] = [
  [".tar", () => new PassThrough()],
  [".tar.gz", createGzip],
  [".tgz", createGzip],
  [".tar.zst", createZstdCompress],
];

const compressorOf = (path: string) => compressors.find(([suffix]) => path.endsWith(suffix))?.[1];

/** Whether a path is that of an archive, not of a folder. */
export const isArchivePath = (path: string): boolean => compressorOf(path) !== undefined;

/** The archive gets its name when it is complete and was read back. */
export class ArchiveWriter implements ObjectWriter {
  readonly #path: string;
  readonly #partial: string;
  readonly #stream: Duplex;
  readonly #written: Promise<void>;
  readonly #names = new Set<string>();
  readonly #modifiedAt = Date.now();

  private constructor(path: string) {
    this.#path = path;
    this.#partial = `${path}.partial`;
    this.#stream = compressorOf(path)?.() ?? new PassThrough();
    this.#written = pipeline(this.#stream, createWriteStream(this.#partial, { mode: 0o600 }));
    // It is awaited with each write.
    this.#written.catch(() => undefined);
  }

  static async create(path: string, store: string): Promise<ArchiveWriter> {
    const writer = new ArchiveWriter(path);
    await writer.#add(folderRecordPath, Buffer.from(`${JSON.stringify({ format, store })}\n`));
    return writer;
  }

  async has(name: string): Promise<boolean> {
    return this.#names.has(name);
  }

  async write(name: string, bytes: Uint8Array): Promise<void> {
    await this.#add(objectPath(name), bytes);
    this.#names.add(name);
  }

  /** The header needs the hash and the size, so the file is read twice. */
  async writeFile(openFile: OpenFile): Promise<WrittenFile | undefined> {
    const first = await openFile();
    if (first === undefined) return undefined;
    const hash = createHash("sha256");
    for await (const piece of first.bytes) hash.update(piece);
    const { size } = first;
    const sha256 = hash.digest("hex");
    if (this.#names.has(sha256)) return { sha256, size, isNew: false };
    const second = await openFile();
    if (second === undefined) return undefined;
    const header = tarHeader(objectPath(sha256), size, this.#modifiedAt);
    for await (const piece of withHeader(header, second.bytes)) await this.#send(piece);
    await this.#send(tarPadding(size));
    this.#names.add(sha256);
    return { sha256, size, isNew: true };
  }

  async finish(record: BackupRecord): Promise<void> {
    await this.#add(recordPath(record), Buffer.from(`${JSON.stringify(record, undefined, 2)}\n`));
    this.#stream.end(tarEnd());
    await this.#written;
    const handle = await open(this.#partial, "r+");
    await handle.sync().finally(() => handle.close());
    await checkArchive(this.#partial);
    await rename(this.#partial, this.#path);
    await syncPath(dirname(this.#path));
  }

  /** Removes an archive that is not complete. */
  async close(): Promise<void> {
    this.#stream.destroy();
    await this.#written.catch(() => undefined);
    await rm(this.#partial, { force: true });
  }

  async #add(name: string, bytes: Uint8Array): Promise<void> {
    await this.#send(tarHeader(name, bytes.length, this.#modifiedAt));
    await this.#send(bytes);
    await this.#send(tarPadding(bytes.length));
  }

  async #send(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0 || this.#stream.write(bytes)) return;
    // An error of the file ends the wait.
    await Promise.race([once(this.#stream, "drain"), this.#written]);
  }
}

/** Begins to read at once, so that the file is closed also when the header cannot be written. */
async function* withHeader(
  header: Uint8Array,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let isFirst = true;
  for await (const piece of bytes) {
    if (isFirst) yield header;
    isFirst = false;
    yield piece;
  }
  if (isFirst) yield header;
}

const names =
  /^(?:restante-backup\.json|backups\/[\dTZ.-]{1,40}\.json|objects\/[\da-f]{2}\/[\da-f]{62}(?:\.zst)?)$/;

export interface ArchiveEntry {
  readonly name: string;
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** Yields the content of an archive. Rejects with InvalidBackup when it is damaged, cut off or something else. */
export async function* readArchive(path: string): AsyncGenerator<ArchiveEntry> {
  const source = createReadStream(path);
  const stream = await decompressed(path, source);
  try {
    for await (const entry of readTar(stream)) {
      if (!names.test(entry.name))
        throw new InvalidBackup(`${path} is not a backup of Restante: it has ${entry.name}`);
      yield { ...entry, bytes: contentOf(path, entry.bytes) };
    }
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    source.destroy();
  }
}

/** What is wrong inside of a file is thrown to whoever reads it. */
async function* contentOf(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes;
  } catch (error) {
    throw unreadable(path, error);
  }
}

const unreadable = (path: string, error: unknown): unknown =>
  error instanceof InvalidBackup || isSystemError(error)
    ? error
    : new InvalidBackup(`${path} is no whole backup: ${messageOf(error)}`);

const isSystemError = (error: unknown): boolean => error instanceof Error && "syscall" in error;

/** Chooses by the first bytes, not by the name. */
async function decompressed(path: string, source: Readable): Promise<AsyncIterable<Uint8Array>> {
  const handle = await open(path, "r");
  const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0).finally(() => handle.close());
  const make =
    buffer.readUInt32BE() === 0x28b52ffd
      ? createZstdDecompress
      : buffer.readUInt16BE() === 0x1f8b
        ? createGunzip
        : undefined;
  if (make === undefined) return source;
  const stream = make();
  source.on("error", (error) => stream.destroy(error));
  return source.pipe(stream);
}

async function checkArchive(path: string): Promise<void> {
  for await (const { name, bytes } of readArchive(path)) {
    const hash = createHash("sha256");
    const pieces: Uint8Array[] = [];
    const isChunk = name.endsWith(".zst");
    for await (const piece of bytes) {
      hash.update(piece);
      if (isChunk) pieces.push(piece.slice());
    }
    if (!name.startsWith("objects/")) continue;
    const expected = name.slice("objects/".length).replace("/", "").replace(".zst", "");
    const actual = isChunk ? hashOf(zstdDecompressSync(Buffer.concat(pieces))) : hash.digest("hex");
    if (actual !== expected) throw new Error(`${path} does not have what was written to it`);
  }
}
