// Reads and writes an open file in pieces, so that neither memory nor the event loop depends on its size.

import type { FileHandle } from "node:fs/promises";
import { mapDiskError } from "./errors.ts";

/** A larger chunk is hashed and written in pieces, so that it does not block the event loop. */
const pieceBytes = 1024 * 1024;
const readBytes = 256 * 1024;

/** Yields the bytes up to `end`, and closes the file. */
export async function* bytesIn(
  handle: FileHandle,
  end = Number.POSITIVE_INFINITY,
): AsyncGenerator<Uint8Array> {
  try {
    for (let left = end; left > 0; ) {
      const length = Math.min(left, readBytes);
      const { bytesRead, buffer } = await mapDiskError(
        handle.read(Buffer.allocUnsafe(length), 0, length),
      );
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      left -= bytesRead;
    }
  } finally {
    await handle.close();
  }
}

export function* piecesOf(chunk: Uint8Array): Iterable<Uint8Array> {
  for (let start = 0; start < chunk.byteLength; start += pieceBytes)
    yield chunk.subarray(start, start + pieceBytes);
}

export async function writeAll(handle: FileHandle, piece: Uint8Array): Promise<void> {
  for (let start = 0; start < piece.byteLength; ) {
    const { bytesWritten } = await handle.write(piece, start, piece.byteLength - start);
    start += bytesWritten;
  }
}
