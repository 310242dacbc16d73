// Reads the messages of Postgres from a connection.

import type { Socket } from "node:net";

/** Calls `onMessage` with each whole message. The first one of a client has no kind before its length. */
export function readMessages(
  socket: Socket,
  onMessage: (message: Buffer, isFirst: boolean) => void,
  isOfClient = false,
): void {
  let received: Buffer = Buffer.alloc(0);
  let isFirst = isOfClient;
  socket.on("error", () => undefined);
  socket.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
    for (;;) {
      const at = isFirst ? 0 : 1;
      const end = received.length < at + 4 ? Infinity : at + received.readInt32BE(at);
      if (received.length < end) return;
      onMessage(received.subarray(0, end), isFirst);
      isFirst = false;
      received = received.subarray(end);
    }
  });
}
