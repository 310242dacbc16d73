// Stores the objects of uploads that arrive in several requests as files in a folder.

import {
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  unlink,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { syncPath } from "../../lib/sync-path.ts";
import { codeOf } from "../../lib/system-error.ts";
import { isKey, newKey } from "../file-key.ts";
import type { UploadFolder, UploadObjects } from "../partial-uploads.ts";
import type { Directories } from "./directories.ts";
import { ignoreMissing, mapDiskError } from "./errors.ts";
import { bytesIn, piecesOf, writeAll } from "./handle.ts";
import type { FilePaths } from "./paths.ts";
import type { Room } from "./room.ts";
import { batchesOf, removeIfOlder } from "./sweep.ts";

export class DiskUploadObjects implements UploadObjects {
  readonly #paths: FilePaths;
  readonly #directories: Directories;
  readonly #room: Room;

  constructor(paths: FilePaths, directories: Directories, room: Room) {
    this.#paths = paths;
    this.#directories = directories;
    this.#room = room;
  }

  #pathOf(name: string): string {
    return join(this.#paths.folder, name);
  }

  /** A link is made only where there is no file, and a rename replaces one: nobody reads half of a text. */
  async put(name: string, text: string, which: "first" | "new" | "any"): Promise<boolean> {
    const path = this.#pathOf(name);
    const incoming = join(this.#paths.incoming, newKey());
    try {
      await this.#directories.watch(this.#write(incoming, text));
      if (which === "first") await this.#directories.watch(this.#addFolder(dirname(path)));
      if (which === "any") await this.#directories.watch(this.#directories.ensure(dirname(path)));
      if (which !== "new") await mapDiskError(rename(incoming, path));
      else if (!(await mapDiskError(isFree(link(incoming, path))))) return false;
      await mapDiskError(ignoreMissing(syncPath(dirname(path))));
      if (which === "first") await mapDiskError(syncPath(this.#paths.partial));
      return true;
    } finally {
      await unlink(incoming).catch(() => undefined);
    }
  }

  async #write(path: string, text: string): Promise<void> {
    await this.#directories.ensure(this.#paths.folder);
    await this.#directories.ensure(dirname(path));
    await writeFile(path, text, { flag: "wx", mode: 0o600, flush: true });
  }

  async #addFolder(path: string): Promise<void> {
    await this.#directories.ensure(this.#paths.partial);
    await mkdir(path, { mode: 0o700 });
  }

  read(name: string): Promise<string | undefined> {
    return mapDiskError(ignoreMissing(readFile(this.#pathOf(name), "utf8")));
  }

  async claim(name: string): Promise<boolean> {
    const made = writeFile(this.#pathOf(name), "", { flag: "wx", mode: 0o600 });
    return mapDiskError(isFree(made));
  }

  async write(name: string, bytes: AsyncIterable<Uint8Array>): Promise<number> {
    const handle = await mapDiskError(ignoreMissing(open(this.#pathOf(name), "r+")));
    if (handle === undefined) return 0;
    try {
      for await (const chunk of bytes)
        for (const piece of piecesOf(chunk)) {
          await this.#room.take(piece.byteLength);
          await mapDiskError(writeAll(handle, piece));
        }
      // Bytes that another process writes after this do not count.
      const { size } = await mapDiskError(handle.stat());
      await mapDiskError(handle.sync()).catch(async (error: unknown) => {
        // After a failed sync, a second one can succeed although data was lost.
        await handle.truncate();
        throw error;
      });
      return size;
    } finally {
      await handle.close();
    }
  }

  settle(name: string): Promise<number> {
    return this.write(name, nothing());
  }

  async bytes(name: string, size: number): Promise<AsyncIterable<Uint8Array> | undefined> {
    const handle = await mapDiskError(ignoreMissing(open(this.#pathOf(name))));
    return handle && bytesIn(handle, size);
  }

  async empty(name: string): Promise<void> {
    await mapDiskError(ignoreMissing(truncate(this.#pathOf(name))));
  }

  /** An append in progress changes its file, not the directory. */
  async list(folder: string): Promise<UploadFolder | undefined> {
    const path = this.#pathOf(folder);
    const names = (await mapDiskError(ignoreMissing(readdir(path))))?.sort();
    const last = join(path, names?.at(-1) ?? "");
    const [own, file] = await Promise.all(
      [path, last].map((each) => mapDiskError(ignoreMissing(stat(each)))),
    );
    if (names === undefined || own === undefined) return undefined;
    const changedAt = Math.max(own.mtimeMs, file?.mtimeMs ?? 0);
    return { names, changedAt, lastBytes: file?.size ?? 0 };
  }

  async *ids(): AsyncGenerator<string> {
    for await (const names of batchesOf(this.#paths.partial)) yield* names.filter(isKey);
  }

  async remove(name: string): Promise<void> {
    const path = this.#pathOf(name);
    await mapDiskError(ignoreMissing(unlink(path)));
    await mapDiskError(ignoreMissing(syncPath(dirname(path))));
  }

  async removeFolder(folder: string): Promise<void> {
    // An append may add a file meanwhile.
    const options = { recursive: true, force: true, maxRetries: 3 };
    await mapDiskError(rm(this.#pathOf(folder), options));
  }

  async removeOlder(folder: string, olderThanMs: number): Promise<void> {
    const path = this.#pathOf(folder);
    for await (const names of batchesOf(path))
      for (const name of names) await removeIfOlder(join(path, name), Date.now() - olderThanMs);
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** Resolves with false when the name is taken, or its directory is gone. */
async function isFree(made: Promise<void>): Promise<boolean> {
  try {
    await made;
    return true;
  } catch (error) {
    if (["EEXIST", "ENOENT"].includes(codeOf(error))) return false;
    throw error;
  }
}
