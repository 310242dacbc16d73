// A part of a file as a stream, read as fast as it is taken.

import type { FileHandle } from "node:fs/promises";
import { orOutage } from "./errors.ts";

const chunkBytes = 64 * 1024;

/** Closes the file at the end, after a failure, and when nobody wants the rest. */
export class RangeSource {
  readonly #handle: FileHandle;
  readonly #end: number;
  #position: number;
  #reading: Promise<Uint8Array> | undefined;
  #isClosed = false;

  constructor(handle: FileHandle, start: number, end: number) {
    this.#handle = handle;
    this.#position = start;
    this.#end = end;
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      if (this.#position < this.#end) {
        this.#reading = this.#read();
        const chunk = await this.#reading;
        if (this.#isClosed) return;
        controller.enqueue(chunk);
      }
      if (this.#position < this.#end) return;
      await this.#close();
      controller.close();
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  async cancel(): Promise<void> {
    await this.#close();
  }

  async #read(): Promise<Uint8Array> {
    const buffer = new Uint8Array(Math.min(chunkBytes, this.#end - this.#position));
    const { bytesRead } = await orOutage(
      this.#handle.read(buffer, 0, buffer.byteLength, this.#position),
    );
    // Its end is told to the client already: it must not take a part for the whole.
    if (bytesRead === 0) throw new Error("a file on disk is shorter than it was");
    this.#position += bytesRead;
    return buffer.subarray(0, bytesRead);
  }

  /** Not under a read: another file could be opened under the same number. */
  async #close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.allSettled([this.#reading]);
    await this.#handle.close();
  }
}
