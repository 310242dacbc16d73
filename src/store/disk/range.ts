// The source of a stream: a byte range of a file, read at the pace of the reader.

import type { FileHandle } from "node:fs/promises";
import { Outage } from "../../model/outage.ts";
import { mapDiskError } from "./errors.ts";

export const tooShort = "a file on disk is shorter than its recorded size: restore it";
const chunkBytes = 64 * 1024;

/** Closes the file at the end, after an error, and when the reader cancels. */
export class RangeSource {
  readonly #handle: FileHandle;
  readonly #end: number;
  #position: number;
  #reading: Promise<Uint8Array> | undefined;
  #closed: Promise<void> | undefined;

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
        if (this.#closed !== undefined) return;
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
    const { bytesRead } = await mapDiskError(
      this.#handle.read(buffer, 0, buffer.byteLength, this.#position),
    );
    // Content-Length has been sent already: the client must not mistake a part for the whole file.
    if (bytesRead === 0) throw new Outage("damaged", tooShort);
    this.#position += bytesRead;
    return buffer.subarray(0, bytesRead);
  }

  #close(): Promise<void> {
    this.#closed ??= this.#closeAfterRead();
    return this.#closed;
  }

  /** Waits for a read in progress: after closing, another file can get the same file descriptor. */
  async #closeAfterRead(): Promise<void> {
    await Promise.allSettled([this.#reading]);
    await this.#handle.close();
  }
}
