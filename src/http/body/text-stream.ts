// Turns an async iterable of texts and bytes into a response body stream.

import { inTurns, turnBytes } from "../../lib/turns.ts";
import { type Coding, encodeStream } from "../headers/content-coding.ts";

/** Texts are sent in UTF-8. Bytes have a buffer of their own, which is freed when they are sent. */
export type Piece = string | Uint8Array;

const encoder = new TextEncoder();

/** What an encoder gets at once, outside of the event loop. With less, zstd compresses worse. */
const encodedBytes = 4 * turnBytes;

async function* bytesOf(
  pieces: AsyncIterable<Piece>,
  copyBytes: number,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces)
    if (typeof piece === "string") yield encoder.encode(piece);
    else yield* copiesOf(piece, copyBytes);
}

/**
 * Yields copies, because their reader may keep them, and then frees the bytes. The garbage collector
 * leaves several large pages in memory before it runs.
 */
function* copiesOf(bytes: Uint8Array, copyBytes: number): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += copyBytes)
    yield bytes.slice(start, start + copyBytes);
  if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
}

/** Pulls a piece only when the client reads. `release` is called at the end, on errors and on cancel. */
export function streamOf(
  pieces: AsyncIterable<Piece>,
  coding: Coding | undefined,
  release: () => void,
): ReadableStream<Uint8Array> {
  const bytes = bytesOf(pieces, coding === undefined ? turnBytes : encodedBytes);
  const chunks = inTurns<never>(coding === undefined ? bytes : encodeStream(bytes, coding));
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (!done) return controller.enqueue(value);
          controller.close();
          release();
        } catch (thrown) {
          release();
          throw thrown;
        }
      },
      async cancel() {
        release();
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
