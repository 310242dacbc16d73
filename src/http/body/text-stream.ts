// Turns an async iterable of texts into a response body stream.

import { type Coding, encodeStream } from "../headers/content-coding.ts";

const encoder = new TextEncoder();

async function* bytesOf(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield encoder.encode(text);
}

/** Pulls a text only when the client reads. `release` is called at the end, on errors and on cancel. */
export function streamOf(
  texts: AsyncIterable<string>,
  coding: Coding | undefined,
  release: () => void,
): ReadableStream<Uint8Array> {
  const pieces = coding === undefined ? bytesOf(texts) : encodeStream(texts, coding);
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const { done, value } = await pieces.next();
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
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
