// Stores files in a folder: a saved file is complete and on disk, and a failed upload leaves nothing behind.

import { createHash } from "node:crypto";
import { constants, existsSync } from "node:fs";
import { type FileHandle, open, rename, stat, unlink, utimes } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { SendFile } from "../../lib/file-access.ts";
import { syncPath } from "../../lib/sync-path.ts";
import { Outage } from "../../model/outage.ts";
import { isKey, newKey } from "../file-key.ts";
import {
  type Files,
  type FindReferenced,
  type OpenedFile,
  type SavedFile,
  saveAs,
} from "../files.ts";
import { PartialUploads } from "../partial-uploads.ts";
import { Directories } from "./directories.ts";
import { ignoreMissing, mapDiskError } from "./errors.ts";
import { bytesIn, piecesOf, writeAll } from "./handle.ts";
import { FilePaths } from "./paths.ts";
import { RangeSource, tooShort } from "./range.ts";
import { Room } from "./room.ts";
import { orphansIn, setAside, settleAside, sweep } from "./sweep.ts";
import { DiskUploadObjects } from "./upload-objects.ts";

/** Creates the folder when the first file is saved. Several processes can use the same folder. */
export const openDisk = (folder: string, sendFile?: SendFile): Files =>
  new Disk(resolve(folder), sendFile);

type RangeStream = ReadableStream<Uint8Array>;

class Disk implements Files {
  readonly #paths: FilePaths;
  readonly #directories = new Directories();
  readonly #room: Room;
  readonly send?: NonNullable<Files["send"]>;
  readonly partial: PartialUploads;

  constructor(folder: string, sendFile: SendFile | undefined) {
    this.#paths = new FilePaths(folder);
    this.#room = new Room(folder);
    // A path by which a removed file is not found would make its download an error.
    if (sendFile && canHold) this.send = (...range) => this.#send(sendFile, ...range);
    const objects = new DiskUploadObjects(this.#paths, this.#directories, this.#room);
    this.partial = new PartialUploads(objects);
  }

  save(bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<SavedFile | "too-large"> {
    return this.#save(newKey(), bytes, maxBytes);
  }

  saveAs(key: string, bytes: AsyncIterable<Uint8Array>, sha256: string): Promise<boolean> {
    return saveAs(this, key, sha256, () => this.#save(key, bytes, Number.POSITIVE_INFINITY));
  }

  async open(key: string): Promise<OpenedFile | undefined> {
    const handle = await this.#open(key);
    if (handle === undefined) return undefined;
    return { size: await sizeOf(handle), bytes: bytesIn(handle) };
  }

  async size(key: string): Promise<number | undefined> {
    const path = this.#paths.parse(key);
    if (path === undefined) return undefined;
    return (await this.#find(path, key, (location) => stat(location)))?.size;
  }

  async #save(
    key: string,
    bytes: AsyncIterable<Uint8Array>,
    maxBytes: number,
  ): Promise<SavedFile | "too-large"> {
    // A name of its own: a process that was killed may have left a part of the same file.
    const incomingPath = join(this.#paths.incoming, newKey());
    const path = this.#paths.pathOf(key);
    try {
      const received = await receive(
        await this.#directories.watch(this.#create(incomingPath)),
        bytes,
        maxBytes,
        this.#room,
      );
      if (received === "too-large") await mapDiskError(unlink(incomingPath));
      else await this.#directories.watch(this.#publish(incomingPath, path));
      return received === "too-large" ? received : { key, ...received };
    } catch (error) {
      // A file that cannot be removed now is removed by the sweep. The first error is the one to report.
      await Promise.allSettled([unlink(incomingPath), unlink(path)]);
      throw error;
    }
  }

  async read(key: string, start: number, end: number): Promise<RangeStream | undefined> {
    const handle = await this.#open(key);
    return handle && new ReadableStream(new RangeSource(handle, start, end));
  }

  async #send(
    sendFile: SendFile,
    ...[key, start, end]: Parameters<Files["read"]>
  ): Promise<Blob | undefined> {
    const handle = await this.#open(key);
    if (handle === undefined) return undefined;
    // Content-Length is sent before the bytes, so a file that is too short must be detected here.
    await sizeOf(handle, end);
    return sendFile(holdOpen(handle), start, end);
  }

  async #open(key: string): Promise<FileHandle | undefined> {
    const path = this.#paths.parse(key);
    if (path === undefined) return undefined;
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW;
    return this.#find(path, key, (location) => open(location, flags));
  }

  /** Also looks in the folder where sweeps move files before they remove them or put them back. */
  async #find<T>(
    path: string,
    key: string,
    access: (location: string) => Promise<T>,
  ): Promise<T | undefined> {
    const look = (location: string) => mapDiskError(ignoreMissing(access(location)));
    const lookAside = async () => {
      const removedPath = await mapDiskError(this.#paths.findRemoved(key));
      return removedPath === undefined ? undefined : look(removedPath);
    };
    // A sweep moves it twice meanwhile: to a name of its own, and back.
    for (let round = 0; round < 2; round++) {
      const found = (await look(path)) ?? (await lookAside());
      if (found !== undefined) return found;
    }
    return look(path);
  }

  async touch(keys: readonly string[]): Promise<void> {
    const now = new Date();
    for (const key of keys) await mapDiskError(utimes(this.#paths.pathOf(key), now, now));
  }

  async confirm(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const path = this.#paths.pathOf(key);
      if ((await mapDiskError(ignoreMissing(stat(path)))) !== undefined) continue;
      const removedPath = await mapDiskError(this.#paths.findRemoved(key));
      if (removedPath !== undefined) await mapDiskError(ignoreMissing(rename(removedPath, path)));
      if ((await mapDiskError(ignoreMissing(stat(path)))) === undefined)
        throw new Outage("unknown", "a file was removed while its resource was being written");
    }
  }

  async remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const path = this.#paths.parse(key);
      if (path !== undefined) await mapDiskError(ignoreMissing(unlink(path)));
    }
  }

  setAside(keys: readonly string[]): Promise<void> {
    return mapDiskError(setAside(this.#paths, keys.filter(isKey)));
  }

  async settleAside(findReferenced: FindReferenced): Promise<void> {
    await mapDiskError(settleAside(this.#paths, findReferenced));
  }

  sweep(findReferenced: FindReferenced, olderThanMs: number): Promise<number> {
    return mapDiskError(sweep(this.#paths, findReferenced, olderThanMs));
  }

  orphans(findReferenced: FindReferenced, olderThanMs: number): AsyncIterable<readonly string[]> {
    return orphansIn(this.#paths, findReferenced, olderThanMs);
  }

  async #create(incomingPath: string): Promise<FileHandle> {
    await this.#directories.ensure(this.#paths.folder);
    await this.#directories.ensure(dirname(incomingPath));
    return open(incomingPath, "wx", 0o600);
  }

  /** Moves a complete file to its final path. The rename is atomic. */
  async #publish(incomingPath: string, path: string): Promise<void> {
    const directory = dirname(path);
    await this.#directories.ensure(directory);
    await rename(incomingPath, path);
    await syncPath(directory);
  }
}

/** Closes the file when its size cannot be read, or is below `least`. */
async function sizeOf(handle: FileHandle, least = 0): Promise<number> {
  try {
    const { size } = await mapDiskError(handle.stat());
    if (size < least) throw new Outage("damaged", tooShort);
    return size;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Reads the next chunk only after the last one is written, so memory use does not depend on the file size. */
async function receive(
  handle: FileHandle,
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  room: Room,
): Promise<Omit<SavedFile, "key"> | "too-large"> {
  try {
    const hash = createHash("sha256");
    let size = 0;
    for await (const chunk of bytes) {
      size += chunk.byteLength;
      if (size > maxBytes) return "too-large";
      for (const piece of piecesOf(chunk)) {
        await room.take(piece.byteLength);
        const written = writeAll(handle, piece);
        hash.update(piece);
        await mapDiskError(written);
      }
    }
    // Synced only once: after a failed fsync, a second one can succeed although data was lost.
    await mapDiskError(handle.sync());
    return { size, sha256: hash.digest("hex") };
  } finally {
    await mapDiskError(handle.close());
  }
}

/** Where Linux shows the open files of a process. A removed file can still be opened there. */
const openFiles = "/proc/self/fd";

const canHold = existsSync(openFiles);

/** For a caller in the same process, which reads the body of the response later than a socket does. */
const holdMs = 100;
/** Beyond it files are held for one turn only, because thousands of downloads per second would hold too many. */
const maxHeldLonger = 512;
let heldLonger = 0;

/**
 * Returns a path that leads to the open file, also when it is removed. A runtime opens the file of a
 * response in the same turn of the event loop, so it can be closed in the next one.
 */
function holdOpen(handle: FileHandle): string {
  const close = () => void handle.close().catch(() => undefined);
  if (heldLonger === maxHeldLonger) setImmediate(close);
  else {
    heldLonger++;
    setTimeout(() => {
      heldLonger--;
      close();
    }, holdMs).unref();
  }
  return `${openFiles}/${handle.fd}`;
}
