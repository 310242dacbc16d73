// Writes several ranges of a file as one body, multipart/byteranges (RFC 9110 §14.6).

import { randomUUID } from "node:crypto";
import { pulledStream } from "../../lib/pulled-stream.ts";
import { Problem } from "../../model/problem.ts";
import { type ByteRange, contentRange } from "../headers/range.ts";

export interface ByteRanges {
  readonly type: string;
  readonly length: number;
  readonly body: ReadableStream<Uint8Array>;
}

/** `open` opens one range after another, when the client has read the one before. */
export function writeByteRanges(
  ranges: readonly ByteRange[],
  file: { readonly type: string; readonly size: number },
  open: (range: ByteRange) => Promise<ReadableStream<Uint8Array> | Problem | undefined>,
): ByteRanges {
  // Nobody can upload a file that contains a boundary that is chosen now.
  const boundary = randomUUID();
  const parts = ranges.map((range, index) => {
    const fields = `Content-Type: ${file.type}\r\nContent-Range: ${contentRange(range, file.size)}`;
    const start = index === 0 ? "" : "\r\n";
    return { range, head: Buffer.from(`${start}--${boundary}\r\n${fields}\r\n\r\n`) };
  });
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);

  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (const { range, head } of parts) {
      yield head;
      // Not before: a client that leaves at the head would leave the file open, and Bun ends the process then.
      const bytes = await open(range);
      // The connection is cut, so that the client does not take a part for the whole.
      if (bytes === undefined || bytes instanceof Problem)
        throw new Error(bytes?.detail ?? "the file was removed while it was sent");
      yield* bytes;
    }
    yield tail;
  }

  const lengths = parts.map(({ range, head }) => head.byteLength + range.end - range.start);
  return {
    type: `multipart/byteranges; boundary=${boundary}`,
    length: lengths.reduce((sum, length) => sum + length, tail.byteLength),
    body: pulledStream(pieces()),
  };
}
