// Texts that come to be one after another, as the body of an answer.

import { type Coding, encodeAll } from "../body/codings.ts";

const encoder = new TextEncoder();

async function* bytesOf(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  for await (const text of texts) yield encoder.encode(text);
}

/** Nothing is made before it is asked for. Who stops reading ends it. */
export function streamOf(
  texts: AsyncIterable<string>,
  coding: Coding | undefined,
): ReadableStream<Uint8Array> {
  const pieces = coding === undefined ? bytesOf(texts) : encodeAll(texts, coding);
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      async cancel() {
        await pieces.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
