// Cuts rows into chunks so that an unchanged range of rows gives the same bytes in every backup.

import { crc32 } from "node:zlib";

/** On average a chunk has this many rows. */
const rowsPerChunk = 1_024;
const maxRows = 8 * rowsPerChunk;
const maxBytes = 4 * 1024 * 1024;

export interface Chunk {
  readonly bytes: Buffer;
  readonly rows: number;
}

/**
 * Collects the lines of one table. The key of a row decides whether a chunk ends with it, so that a row
 * that is added, changed or removed changes one or two chunks only.
 */
export class ChunkBuilder {
  #lines: string[] = [];
  #size = 0;

  /** Returns the chunk that the row completes. */
  add(key: string, row: readonly unknown[]): Chunk | undefined {
    const line = `${JSON.stringify(row)}\n`;
    this.#lines.push(line);
    this.#size += line.length;
    const isEnd = crc32(key) % rowsPerChunk === 0;
    const isFull = this.#lines.length >= maxRows || this.#size >= maxBytes;
    return isEnd || isFull ? this.finish() : undefined;
  }

  /** Returns the rows since the last chunk, if there are any. */
  finish(): Chunk | undefined {
    const lines = this.#lines;
    if (lines.length === 0) return undefined;
    this.#lines = [];
    this.#size = 0;
    return { bytes: Buffer.from(lines.join("")), rows: lines.length };
  }
}
