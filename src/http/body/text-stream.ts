// Texts that come to be one after another, as the body of an answer.

import { type Coding, encodeAll } from "../headers/content-coding.ts";

const encoder = new TextEncoder();

async function* bytesOf(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield encoder.encode(text);
}

/** Nothing is made before it is asked for. Who stops reading ends it. At its end `release` is called. */
export function streamOf(
  texts: AsyncIterable<string>,
  coding: Coding | undefined,
  release: () => void,
): ReadableStream<Uint8Array> {
  const pieces = coding === undefined ? bytesOf(texts) : encodeAll(texts, coding);
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
