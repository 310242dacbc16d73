// Keeps files in a folder: what is acknowledged is on disk whole, and what fails leaves nothing.

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, unlink, utimes } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { FileBytes, Files, KeptFile } from "../files.ts";
import { Directories, syncDirectory } from "./directories.ts";
import { newKey, Places } from "./places.ts";
import { RangeSource } from "./range.ts";
import { sweep } from "./sweep.ts";
import { ifThere, orOutage } from "./trouble.ts";

/** A part of a file as a body whose length is known; where any stream may have one, it is not needed. */
export type SendFile = (path: string, start: number, end: number) => Blob;

/** The folder is made when the first file comes. Several processes may have it open. */
export const openDisk = (folder: string, sendFile?: SendFile): Files =>
  new Disk(resolve(folder), sendFile);

/** A chunk that is larger is hashed and written piece by piece, so that others get their turn. */
const pieceBytes = 1024 * 1024;

class Disk implements Files {
  readonly #places: Places;
  readonly #directories = new Directories();
  readonly #sendFile: SendFile | undefined;

  constructor(folder: string, sendFile: SendFile | undefined) {
    this.#places = new Places(folder);
    this.#sendFile = sendFile;
  }

  async keep(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<KeptFile | "too-large"> {
    const key = newKey();
    const arriving = join(this.#places.incoming, key);
    const place = this.#places.at(key);
    try {
      const received = await receive(await this.#watch(this.#make(arriving)), bytes, maxBytes);
      if (received === "too-large") await orOutage(unlink(arriving));
      else await this.#watch(this.#place(arriving, place));
      return received === "too-large" ? received : { key, ...received };
    } catch (error) {
      // What cannot be removed now is left to the sweep; the error that led here is the one to tell.
      await Promise.allSettled([unlink(arriving), unlink(place)]);
      throw error;
    }
  }

  async read(key: string, start: number, end: number): Promise<FileBytes | undefined> {
    const path = this.#places.of(key);
    if (path === undefined) return undefined;
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW;
    const handle = await orOutage(ifThere(open(path, flags)));
    if (handle === undefined) return undefined;
    if (this.#sendFile === undefined)
      return new ReadableStream(new RangeSource(handle, start, end));
    await refuseShorter(handle, end);
    return this.#sendFile(path, start, end);
  }

  async renew(keys: readonly string[]): Promise<void> {
    const now = new Date();
    for (const key of keys) await orOutage(utimes(this.#places.at(key), now, now));
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const path = this.#places.of(key);
      if (path !== undefined) await orOutage(ifThere(unlink(path)));
    }
  }

  sweep(
    named: (keys: readonly string[]) => Promise<ReadonlySet<string>>,
    olderThanMs: number,
  ): Promise<number> {
    return orOutage(sweep(this.#places, named, olderThanMs));
  }

  async #make(arriving: string): Promise<FileHandle> {
    await this.#directories.ensure(this.#places.folder);
    await this.#directories.ensure(dirname(arriving));
    return open(arriving, "wx", 0o600);
  }

  /** From here on it is there for good, or for nobody. */
  async #place(arriving: string, place: string): Promise<void> {
    const drawer = dirname(place);
    await this.#directories.ensure(drawer);
    await rename(arriving, place);
    await syncDirectory(drawer);
  }

  /** After a failure no directory is taken for granted. */
  async #watch<T>(deed: Promise<T>): Promise<T> {
    try {
      return await orOutage(deed);
    } catch (error) {
      this.#directories.forget();
      throw error;
    }
  }
}

/** Whoever sends it tells its length first, and can no longer say that something is missing. */
async function refuseShorter(handle: FileHandle, end: number): Promise<void> {
  try {
    const { size } = await orOutage(handle.stat());
    if (size < end) throw new Error("a file on disk is shorter than it was");
  } finally {
    await handle.close();
  }
}

/** Takes the next chunk only when the last is written: however large the file, memory stays small. */
async function receive(
  handle: FileHandle,
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<Omit<KeptFile, "key"> | "too-large"> {
  try {
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of bytes) {
      size += chunk.byteLength;
      if (size > maxBytes) return "too-large";
      for (const piece of piecesOf(chunk)) {
        const written = writeAll(handle, piece);
        hash.update(piece);
        await orOutage(written);
      }
    }
    // Asked once: a disk that fails to sync may say the next time that all is well.
    await orOutage(handle.sync());
    return { size, sha256: hash.digest("hex") };
  } finally {
    await orOutage(handle.close());
  }
}

function* piecesOf(chunk: Uint8Array): Iterable<Uint8Array> {
  for (let start = 0; start < chunk.byteLength; start += pieceBytes)
    yield chunk.subarray(start, start + pieceBytes);
}

async function writeAll(handle: FileHandle, piece: Uint8Array): Promise<void> {
  for (let start = 0; start < piece.byteLength; ) {
    const { bytesWritten } = await handle.write(piece, start, piece.byteLength - start);
    start += bytesWritten;
  }
}
