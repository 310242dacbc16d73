// Keeps rendered pictures in a folder, up to a number of bytes: those that were not used for the longest time go first.

import { createHash, randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, readFile, rename, stat, unlink, utimes } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { ignoreMissing, mapDiskError } from "../disk/errors.ts";
import { Room } from "../disk/room.ts";
import { digestBytes } from "./job.ts";

export interface CachedPicture {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Of the bytes, in hex. */
  readonly sha256: string;
}

/** Whether so many bytes may be in memory. */
export type HasRoom = (bytes: number) => boolean;

/** The folder of temporary files. */
const incoming = "incoming";
/** Uses are noted to the hour, so that few reads write. */
const useResolutionMs = 60 * 60 * 1000;
/** More than most pictures have; the size of one is not known before. */
const largeBytes = 1024 * 1024;
/** What is removed at once, as a part of the limit. */
const slack = 0.1;

/** A name begins with the key of its file. Several processes can use the same folder. */
export class PictureCache {
  readonly #folder: string;
  readonly #room: Room;
  maxBytes: number;
  /** The bytes that were added since the folder was last measured. */
  #added = Number.POSITIVE_INFINITY;
  #trimming: Promise<void> | undefined;

  constructor(folder: string, maxBytes: number) {
    this.#folder = folder;
    this.#room = new Room(folder);
    this.maxBytes = maxBytes;
  }

  /**
   * Returns undefined when there is none, or when it is damaged, as after a power cut. `hasRoom` is asked
   * before its bytes are read.
   */
  async read(name: string): Promise<CachedPicture | undefined>;
  async read(name: string, hasRoom: HasRoom): Promise<CachedPicture | "no-room" | undefined>;
  async read(
    name: string,
    hasRoom: HasRoom = () => true,
  ): Promise<CachedPicture | "no-room" | undefined> {
    const path = this.#pathOf(name);
    const { size = 0 } = (await mapDiskError(ignoreMissing(stat(path)))) ?? {};
    if (size < digestBytes) return undefined;
    if (!hasRoom(size)) return "no-room";
    const entry = await mapDiskError(ignoreMissing(readFile(path)));
    if (entry === undefined || entry.length < digestBytes) return undefined;
    const { buffer, byteOffset, length } = entry;
    const bytes = new Uint8Array(buffer, byteOffset + digestBytes, length - digestBytes);
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    if (entry.subarray(0, digestBytes).toString("hex") !== sha256) return undefined;
    await noteUse(path);
    return { bytes, sha256 };
  }

  /** Writes a temporary file, and returns its path. */
  async write(bytes: AsyncIterable<Uint8Array>): Promise<string> {
    const path = await this.newPath();
    try {
      await mapDiskError(pipeline(bytes, createWriteStream(path, { mode: 0o600 })));
      return path;
    } catch (error) {
      await this.discard(path);
      throw error;
    }
  }

  /** Returns a path for a temporary file. */
  async newPath(): Promise<string> {
    await mapDiskError(mkdir(this.#incoming, { recursive: true, mode: 0o700 }));
    await this.#room.take(largeBytes);
    return join(this.#incoming, randomBytes(16).toString("hex"));
  }

  async discard(path: string): Promise<void> {
    await unlink(path).catch(() => undefined);
  }

  /** Moves a complete temporary file to its name, and returns it: a small cache may not keep it. */
  async add(path: string, name: string): Promise<CachedPicture | undefined> {
    const target = this.#pathOf(name);
    const { size } = await mapDiskError(stat(path));
    await mapDiskError(mkdir(dirname(target), { recursive: true, mode: 0o700 }));
    await mapDiskError(rename(path, target));
    const picture = await this.read(name);
    this.#added += size;
    if (this.#added > this.maxBytes * slack) await this.#trim();
    return picture;
  }

  /** Removes what was rendered from files. */
  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const directory = dirname(this.#pathOf(key));
      const names = (await ignoreMissing(readdir(directory))) ?? [];
      for (const name of names.filter((each) => each.startsWith(`${key}.`)))
        await this.discard(join(directory, name));
    }
  }

  /** Yields the keys of the files that something was rendered from, some at once. */
  async *keys(): AsyncGenerator<readonly string[]> {
    for (const directory of (await ignoreMissing(readdir(this.#folder))) ?? []) {
      if (directory === incoming) continue;
      const names = (await ignoreMissing(readdir(join(this.#folder, directory)))) ?? [];
      const keys = new Set(names.map((name) => name.split(".", 1)[0] ?? ""));
      if (keys.size > 0) yield [...keys];
    }
  }

  get #incoming(): string {
    return join(this.#folder, incoming);
  }

  #pathOf(name: string): string {
    return join(this.#folder, name.slice(0, 2), name);
  }

  async #trim(): Promise<void> {
    this.#trimming ??= this.#removeUnused().finally(() => {
      this.#trimming = undefined;
    });
    await this.#trimming;
  }

  /** Also removes the temporary files of a process that died. */
  async #removeUnused(): Promise<void> {
    const entries = await this.#measure();
    this.#added = 0;
    const before = Date.now() - useResolutionMs;
    const kept = entries.filter(({ isIncoming }) => !isIncoming);
    let sum = kept.reduce((total, { size }) => total + size, 0);
    for (const { path, size, usedAt, isIncoming } of entries) {
      if (isIncoming ? usedAt > before : sum <= this.maxBytes * (1 - slack)) continue;
      await this.discard(path);
      if (!isIncoming) sum -= size;
    }
  }

  /** Returns all files, those that were not used for the longest time first. */
  async #measure() {
    const entries = [];
    for (const directory of (await ignoreMissing(readdir(this.#folder))) ?? [])
      for (const name of (await ignoreMissing(readdir(join(this.#folder, directory)))) ?? []) {
        const path = join(this.#folder, directory, name);
        const stats = await ignoreMissing(stat(path));
        const isIncoming = directory === incoming;
        if (stats !== undefined)
          entries.push({ path, size: stats.size, usedAt: stats.mtimeMs, isIncoming });
      }
    return entries.sort((one, other) => one.usedAt - other.usedAt);
  }
}

/** A picture that is removed meanwhile is no error. */
async function noteUse(path: string): Promise<void> {
  const now = new Date();
  const stats = await ignoreMissing(stat(path));
  if (stats !== undefined && now.getTime() - stats.mtimeMs > useResolutionMs)
    await utimes(path, now, now).catch(() => undefined);
}
