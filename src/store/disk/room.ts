// Rejects bytes of files when only the reserve of the disk is left, without asking the system each time.

import { roomForFiles } from "../disk-reserve.ts";
import { diskOutage, mapDiskError } from "./errors.ts";

/** Other processes write, too, so only a part of the room is used before the next look. */
const partOfRoom = 1 / 16;

export class Room {
  readonly #folder: string;
  #left = 0;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Throws an Outage when there is no room for so many bytes. */
  async take(bytes: number): Promise<void> {
    this.#left -= bytes;
    if (this.#left >= 0) return;
    const room = await mapDiskError(roomForFiles(this.#folder));
    if (room < bytes) throw diskOutage("ENOSPC", "the rest is reserved for deletions");
    this.#left = room * partOfRoom - bytes;
  }
}
