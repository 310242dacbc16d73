// A stream that frees its chunks as they are sent, and ends its source when it is left unread.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { releasedStream } from "../../src/lib/released-stream.ts";

function numbered() {
  const state = { sent: 0, isCancelled: false };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (state.sent === 3) controller.close();
        else controller.enqueue(Uint8Array.of(++state.sent));
      },
      cancel() {
        state.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, state };
}

describe("a released stream", () => {
  it("has the bytes of its source, and releases each chunk once, after it was read", async () => {
    const released: number[] = [];
    const reader = releasedStream(numbered().stream, ([first = 0]) => released.push(first));
    const read: number[] = [];
    for await (const [first = 0] of reader) {
      assert.deepEqual(released, read);
      read.push(first);
    }
    assert.deepEqual(
      [read, released],
      [
        [1, 2, 3],
        [1, 2, 3],
      ],
    );
  });

  it("ends its source when it is cancelled, after any number of chunks", async () => {
    for (let chunks = 0; chunks < 3; chunks++) {
      const { stream, state } = numbered();
      const reader = releasedStream(stream, () => undefined).getReader();
      for (let count = 0; count < chunks; count++) await reader.read();
      await reader.cancel();
      assert.deepEqual(state, { sent: chunks, isCancelled: true });
    }
  });
});
