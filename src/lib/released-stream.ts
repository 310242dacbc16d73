// A stream that frees each of its chunks when the next one is asked for.

/** Ends the source when it is cancelled, also before the first chunk. */
export function releasedStream(
  source: ReadableStream<Uint8Array>,
  release: (chunk: Uint8Array) => void,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let last: Uint8Array | undefined;
  return new ReadableStream(
    {
      async pull(controller) {
        if (last !== undefined) release(last);
        const { done, value } = await reader.read();
        last = value;
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
