// Appends to an incomplete upload: writes a new piece as its bytes arrive, and seals it at the end.

import { type FileHandle, open, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { syncPath } from "../../lib/sync-path.ts";
import { codeOf } from "../../lib/system-error.ts";
import type { NotAppended, UploadEnd } from "../files.ts";
import { ignoreMissing, mapDiskError } from "./errors.ts";
import { piecesOf, writeAll } from "./handle.ts";
import { endName, openName, piecesIn, sealedName } from "./pieces.ts";
import type { Room } from "./room.ts";

/** After so many bytes an append looks whether a later request has ended it. */
const lookBytes = 1024 * 1024;

export class Append {
  readonly #directory: string;
  readonly #number: number;
  readonly #path: string;
  readonly #room: Room;
  #size = 0;

  constructor(directory: string, number: number, room: Room) {
    this.#directory = directory;
    this.#number = number;
    this.#path = join(directory, openName(number));
    this.#room = room;
  }

  /** Returns how many bytes were appended. */
  async run(
    bytes: AsyncIterable<Uint8Array>,
    isValid: () => boolean,
  ): Promise<number | NotAppended> {
    const handle = await this.#create();
    if (typeof handle === "string") return handle;
    try {
      const isEnded = await this.#receive(handle, bytes);
      if (isEnded) return "superseded";
      if (isValid()) return (await this.#seal(handle)) ? this.#size : "superseded";
      this.#size = 0;
      return (await this.#seal(handle)) ? "invalid" : "superseded";
    } catch (error) {
      await this.#seal(handle).catch(() => undefined);
      throw error;
    } finally {
      await handle.close();
    }
  }

  /** Appends nothing, and ends the upload. Returns whether no other request has taken the number. */
  async end(how: UploadEnd): Promise<boolean> {
    const handle = await this.#create();
    if (typeof handle === "string") return false;
    await handle.close();
    return this.#rename(endName(this.#number, how));
  }

  async #create(): Promise<FileHandle | NotAppended> {
    try {
      const handle = await open(this.#path, "wx", 0o600);
      const isOnly = await this.#isOnly().catch(async (error: unknown) => {
        await handle.close();
        throw error;
      });
      if (isOnly) return handle;
      await handle.close();
      await ignoreMissing(unlink(this.#path));
      return "superseded";
    } catch (error) {
      if (codeOf(error) === "EEXIST") return "superseded";
      if (codeOf(error) === "ENOENT") return "missing";
      return mapDiskError(Promise.reject(error));
    }
  }

  /** A directory that is read during a rename may show neither name, so the number may be taken. */
  async #isOnly(): Promise<boolean> {
    const pieces = await piecesIn(this.#directory);
    return pieces?.filter(({ number }) => number >= this.#number).length === 1;
  }

  /** Resolves with true as soon as it sees that a later request has ended this append. */
  async #receive(handle: FileHandle, bytes: AsyncIterable<Uint8Array>): Promise<boolean> {
    let looked = 0;
    for await (const chunk of bytes)
      for (const piece of piecesOf(chunk)) {
        await this.#room.take(piece.byteLength);
        await mapDiskError(writeAll(handle, piece));
        this.#size += piece.byteLength;
        if (this.#size - looked < lookBytes) continue;
        looked = this.#size;
        if ((await mapDiskError(ignoreMissing(stat(this.#path)))) === undefined) return true;
      }
    return false;
  }

  /** Nothing of it counts when it cannot be synced. Returns whether no later request has ended it. */
  async #seal(handle: FileHandle): Promise<boolean> {
    try {
      await mapDiskError(handle.sync());
    } catch (error) {
      this.#size = 0;
      await this.#rename();
      throw error;
    }
    const isSealed = await this.#rename();
    if (isSealed && this.#size === 0) await mapDiskError(handle.truncate(0));
    return isSealed;
  }

  async #rename(name = sealedName(this.#number, this.#size)): Promise<boolean> {
    const renamed = rename(this.#path, join(this.#directory, name)).then(() => true);
    if (!(await mapDiskError(ignoreMissing(renamed)))) return false;
    await mapDiskError(ignoreMissing(syncPath(this.#directory)));
    return true;
  }
}
