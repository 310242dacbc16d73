// Turns an async iterable of texts and bytes into a response body stream.

import { noClient } from "../../lib/client.ts";
import { inTurns, turnBytes } from "../../lib/turns.ts";
import { type Coding, encodeStream } from "../headers/content-coding.ts";

/** Texts are sent in UTF-8. Bytes have a buffer of their own, which is freed when they are sent. */
export type BodyPiece = string | Uint8Array;

const encoder = new TextEncoder();

/** What an encoder gets at once, outside of the event loop. With less, zstd compresses worse. */
const encodedBytes = 4 * turnBytes;

async function* bytesOf(
  pieces: AsyncIterable<BodyPiece>,
  options: SliceOptions,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces)
    if (typeof piece === "string") yield encoder.encode(piece);
    else yield* slicesOf(piece, options);
}

interface SliceOptions {
  readonly sliceBytes: number;
  /** Whether the reader may still use a slice when it reads the next one. */
  readonly isKept: boolean;
}

/**
 * Frees the bytes after the last slice. The garbage collector leaves several large pages in memory before
 * it runs.
 */
function* slicesOf(bytes: Uint8Array, { sliceBytes, isKept }: SliceOptions): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += sliceBytes) {
    const end = start + sliceBytes;
    yield isKept ? bytes.slice(start, end) : bytes.subarray(start, end);
  }
  if (bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0);
}

/** Pulls a piece only when the client reads. `release` is called at the end, on errors and on cancel. */
export function streamOf(
  pieces: AsyncIterable<BodyPiece>,
  coding: Coding | undefined,
  release: () => void,
  client = noClient,
): ReadableStream<Uint8Array> {
  const chunks = inTurns<never>(
    coding === undefined
      ? bytesOf(pieces, { sliceBytes: turnBytes, isKept: client.sendsOneByOne !== true })
      : encodeStream(bytesOf(pieces, { sliceBytes: encodedBytes, isKept: true }), coding),
  );
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
