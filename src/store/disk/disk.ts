// Keeps files in a folder: what is acknowledged is on disk whole, and what fails leaves nothing.

import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, stat, unlink, utimes } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { FileBytes, Files, KeptFile } from "../files.ts";
import { Outage } from "../store.ts";
import { Directories, syncDirectory } from "./directories.ts";
import { ifThere, orOutage } from "./errors.ts";
import { newKey, Places } from "./paths.ts";
import { RangeSource } from "./range.ts";
import { sweep } from "./sweep.ts";

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
    const found = await this.#find(path, key, (place) => open(place, flags));
    if (found === undefined) return undefined;
    const [place, handle] = found;
    if (this.#sendFile === undefined)
      return new ReadableStream(new RangeSource(handle, start, end));
    await refuseShorter(handle, end);
    return this.#sendFile(place, start, end);
  }

  /** Also where a sweep has moved it aside, which looks at it once more and puts it back. */
  async #find<T>(
    path: string,
    key: string,
    look: (place: string) => Promise<T>,
  ): Promise<[string, T] | undefined> {
    const there = await orOutage(ifThere(look(path)));
    if (there !== undefined) return [path, there];
    const aside = await orOutage(this.#places.findRemoved(key));
    if (aside === undefined) return undefined;
    const found = await orOutage(ifThere(look(aside)));
    return found === undefined ? undefined : [aside, found];
  }

  async renew(keys: readonly string[]): Promise<void> {
    const now = new Date();
    for (const key of keys) await orOutage(utimes(this.#places.at(key), now, now));
  }

  async confirm(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const place = this.#places.at(key);
      if ((await orOutage(ifThere(stat(place)))) !== undefined) continue;
      const aside = await orOutage(this.#places.findRemoved(key));
      if (aside !== undefined) await orOutage(ifThere(rename(aside, place)));
      if ((await orOutage(ifThere(stat(place)))) === undefined)
        throw new Outage("unknown", "a file was removed while its resource was written");
    }
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
