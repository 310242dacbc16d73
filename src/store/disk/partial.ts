// Stores incomplete uploads on disk: each append is a file of its own, which is sealed when it ends.

import { mkdir, open, readFile, rename, rm, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { syncPath } from "../../lib/sync-path.ts";
import { Outage } from "../../model/outage.ts";
import { isKey, newKey } from "../file-key.ts";
import {
  type IsAllowed,
  type NotAppended,
  type OpenedFile,
  type PartialUpload,
  type PartialUploads,
  type UploadEnd,
  UploadEnded,
} from "../files.ts";
import { Append } from "./append.ts";
import type { Directories } from "./directories.ts";
import { ignoreMissing, mapDiskError } from "./errors.ts";
import { bytesIn } from "./handle.ts";
import type { FilePaths } from "./paths.ts";
import { endOf, nextNumber, piecesIn, sealSynced, sizeOf, type UploadPiece } from "./pieces.ts";
import type { Room } from "./room.ts";
import { batchesOf, isOlder, removeIfOlder } from "./sweep.ts";

const description = "description";
const removed = ".removed";

export class DiskPartialUploads implements PartialUploads {
  readonly #paths: FilePaths;
  readonly #directories: Directories;
  readonly #room: Room;

  constructor(paths: FilePaths, directories: Directories, room: Room) {
    this.#paths = paths;
    this.#directories = directories;
    this.#room = room;
  }

  async create(id: string, text: string): Promise<void> {
    if (!isKey(id)) throw new Error(`${id} is not the id of an upload`);
    await this.#ensure(this.#paths.partial);
    const directory = this.#directoryOf(id);
    await mapDiskError(mkdir(directory, { mode: 0o700 }));
    try {
      await mapDiskError(replaceFile(directory, description, text));
      await mapDiskError(syncPath(this.#paths.partial));
    } catch (error) {
      // What cannot be removed now is removed by the sweep.
      await rm(directory, { recursive: true, force: true }).catch(() => undefined);
      throw error;
    }
  }

  async describe(id: string, text: string): Promise<void> {
    if (isKey(id))
      await mapDiskError(ignoreMissing(replaceFile(this.#directoryOf(id), description, text)));
  }

  async find(id: string, isAllowed?: IsAllowed): Promise<PartialUpload | undefined> {
    if (!isKey(id)) return undefined;
    const findFinished = () => mapDiskError(ignoreMissing(this.#readFinished(id)));
    const findUnfinished = () => this.#findUnfinished(id, isAllowed);
    // One that is finished meanwhile is found at the end.
    return (await findFinished()) ?? (await findUnfinished()) ?? (await findFinished());
  }

  async #findUnfinished(id: string, isAllowed: IsAllowed = () => true) {
    const text = await mapDiskError(ignoreMissing(this.#readDescription(id)));
    if (text === undefined || !isAllowed(text)) return undefined;
    const pieces = await mapDiskError(this.#endAppend(id));
    return pieces && mapDiskError(this.#read(id, pieces));
  }

  async append(
    id: string,
    offset: number,
    bytes: AsyncIterable<Uint8Array>,
    isValid: () => boolean = () => true,
  ): Promise<number | NotAppended> {
    const pieces = isKey(id) ? await mapDiskError(this.#endAppend(id)) : undefined;
    if (pieces === undefined) return "missing";
    if (endOf(pieces) !== undefined) return "superseded";
    if (sizeOf(pieces) !== offset) return "mismatch";
    const size = await this.#nextAppend(id, pieces).run(bytes, isValid);
    return typeof size === "number" ? offset + size : size;
  }

  #nextAppend(id: string, pieces: readonly UploadPiece[]): Append {
    return new Append(this.#directoryOf(id), nextNumber(pieces), this.#room);
  }

  async end(id: string, how: UploadEnd, size?: number): Promise<boolean> {
    const list = how === "cancelled" ? this.#endAppend(id) : piecesIn(this.#directoryOf(id));
    const pieces = isKey(id) ? await mapDiskError(list) : undefined;
    if (pieces === undefined) return false;
    const end = endOf(pieces);
    if (end !== undefined) return end === how;
    const isChanged = pieces.at(-1)?.isOpen || sizeOf(pieces) !== size;
    if (how === "completed" && isChanged) return false;
    // Another request may have taken the number.
    return (await this.#nextAppend(id, pieces).end(how)) || this.end(id, how, size);
  }

  async reopen(id: string): Promise<void> {
    const pieces = isKey(id) ? await mapDiskError(piecesIn(this.#directoryOf(id))) : undefined;
    if (pieces === undefined || endOf(pieces) !== "completed") return;
    await this.#nextAppend(id, pieces).run(nothing(), () => true);
  }

  async open(id: string): Promise<OpenedFile | undefined> {
    const pieces = isKey(id) ? await mapDiskError(piecesIn(this.#directoryOf(id))) : undefined;
    if (pieces === undefined || endOf(pieces) === "cancelled") return undefined;
    const sealed = pieces.filter(({ isOpen, size }) => !isOpen && size > 0);
    return { size: sizeOf(sealed), bytes: this.#bytesOf(id, sealed) };
  }

  async *#bytesOf(id: string, pieces: readonly UploadPiece[]): AsyncGenerator<Uint8Array> {
    for (const { name, size } of pieces) {
      const handle = await mapDiskError(ignoreMissing(open(join(this.#directoryOf(id), name))));
      let left = size;
      for await (const chunk of handle === undefined ? nothing() : bytesIn(handle, size)) {
        left -= chunk.byteLength;
        yield chunk;
      }
      if (left > 0) throw await this.#missing(id);
    }
  }

  async #missing(id: string): Promise<Error> {
    const isThere = (await mapDiskError(piecesIn(this.#directoryOf(id)))) !== undefined;
    const text = "a part of an unfinished upload is missing";
    return isThere ? new Outage("damaged", text) : new UploadEnded();
  }

  async finish(id: string, text: string): Promise<void> {
    if (!isKey(id)) return;
    await this.#ensure(this.#paths.finished);
    await mapDiskError(replaceFile(this.#paths.finished, id, text));
    await this.#removeDirectory(id);
  }

  async remove(id: string): Promise<void> {
    if (!isKey(id)) return;
    await this.#removeDirectory(id);
    await mapDiskError(rm(join(this.#paths.finished, id), { force: true }));
  }

  async *list(): AsyncGenerator<PartialUpload & { readonly id: string }> {
    for await (const names of batchesOf(this.#paths.partial))
      for (const id of names.filter(isKey)) {
        const pieces = await mapDiskError(piecesIn(this.#directoryOf(id)));
        const upload = pieces && (await mapDiskError(this.#read(id, pieces)));
        if (upload !== undefined && !(await this.#isFinished(id))) yield { id, ...upload };
      }
  }

  async sweep(unfinishedMs: number, finishedMs: number): Promise<number> {
    const now = Date.now();
    let count = 0;
    for await (const names of batchesOf(this.#paths.partial))
      for (const name of names) count += await this.#sweepOne(name, now - unfinishedMs);
    // Last: without it, what a killed process has left would be an unfinished upload again.
    for await (const names of batchesOf(this.#paths.finished))
      for (const name of names)
        await removeIfOlder(join(this.#paths.finished, name), now - finishedMs);
    return count;
  }

  /** Also removes what a process that was killed has left while it created, finished or removed an upload. */
  async #sweepOne(name: string, before: number): Promise<number> {
    const directory = join(this.#paths.partial, name);
    if (name.endsWith(removed)) await rm(directory, { recursive: true, force: true });
    if (!isKey(name)) return 0;
    const pieces = (await piecesIn(directory)) ?? [];
    const isEnded = endOf(pieces) === "cancelled" || (await this.#isFinished(name));
    if (!isEnded && !(await isExpired(directory, pieces, before))) return 0;
    await this.#removeDirectory(name);
    return isEnded ? 0 : 1;
  }

  async #isFinished(id: string): Promise<boolean> {
    const stats = await mapDiskError(ignoreMissing(stat(join(this.#paths.finished, id))));
    return stats !== undefined;
  }

  /** Renamed first, so that no append finds a part of the upload. */
  async #removeDirectory(id: string): Promise<void> {
    const directory = this.#directoryOf(id);
    const isThere = await mapDiskError(
      ignoreMissing(rename(directory, directory + removed).then(() => true)),
    );
    if (!isThere) return;
    await mapDiskError(syncPath(this.#paths.partial));
    await mapDiskError(rm(directory + removed, { recursive: true, force: true }));
  }

  /** Seals the piece that is being written. Returns undefined when there is no such upload. */
  async #endAppend(id: string): Promise<readonly UploadPiece[] | undefined> {
    const directory = this.#directoryOf(id);
    const pieces = await piecesIn(directory);
    const open = pieces?.find(({ isOpen }) => isOpen);
    if (open === undefined) return pieces;
    await ignoreMissing(sealSynced(directory, open));
    return this.#endAppend(id);
  }

  /** A directory without a description is of a process that was killed while it created the upload. */
  async #read(id: string, pieces: readonly UploadPiece[]): Promise<PartialUpload | undefined> {
    const directory = this.#directoryOf(id);
    const latest = pieces.findLast(({ isOpen }) => isOpen)?.name ?? "";
    const times = [directory, join(directory, latest)].map((path) => ignoreMissing(stat(path)));
    const changedAt = Math.max(...(await Promise.all(times)).map((each) => each?.mtimeMs ?? 0));
    // Read last: what is removed meanwhile has no time.
    const text = await ignoreMissing(this.#readDescription(id));
    if (text === undefined || endOf(pieces) === "cancelled") return undefined;
    const more = { pieces: pieces.length, changedAt, isFinished: false };
    return { description: text, size: sizeOf(pieces), ...more };
  }

  #readDescription(id: string): Promise<string> {
    return readFile(join(this.#directoryOf(id), description), "utf8");
  }

  async #readFinished(id: string): Promise<PartialUpload> {
    const path = join(this.#paths.finished, id);
    const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
    return { description: text, size: 0, pieces: 0, changedAt: mtimeMs, isFinished: true };
  }

  async #ensure(directory: string): Promise<void> {
    try {
      await this.#directories.ensure(this.#paths.folder);
      await mapDiskError(this.#directories.ensure(directory));
    } catch (error) {
      this.#directories.forget();
      throw error;
    }
  }

  #directoryOf(id: string): string {
    return join(this.#paths.partial, id);
  }
}

/** An append in progress changes its piece, not the directory. */
async function isExpired(
  directory: string,
  pieces: readonly UploadPiece[],
  before: number,
): Promise<boolean> {
  const open = pieces.find(({ isOpen }) => isOpen)?.name ?? "";
  return (await isOlder(directory, before)) && isOlder(join(directory, open), before);
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** The rename is atomic: a reader finds the former text or the new one. */
async function replaceFile(directory: string, name: string, text: string): Promise<void> {
  const path = join(directory, `${name}.${newKey()}`);
  try {
    await writeSynced(path, text);
    await rename(path, join(directory, name));
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error;
  }
  await syncPath(directory);
}

async function writeSynced(path: string, text: string): Promise<void> {
  const handle = await open(path, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}
