// Bytes to text, without the silent U+FFFD that stands for what was lost.

import { Buffer } from "node:buffer";
import type { FieldError } from "./error-report.ts";

const strict = new TextDecoder("utf-8", { fatal: true });
const exact = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** The text without a leading byte order mark (RFC 8259 §8.1), or where it is not UTF-8. */
export const decodeUtf8 = (bytes: Uint8Array): string | FieldError => decode(bytes, strict);

/** The text with a leading U+FEFF, which is a character like others in a form; or where it is not UTF-8. */
export const decodeExactUtf8 = (bytes: Uint8Array): string | FieldError => decode(bytes, exact);

function decode(bytes: Uint8Array, decoder: TextDecoder): string | FieldError {
  try {
    return decoder.decode(bytes);
  } catch {
    const detail = `not valid UTF-8: the byte at offset ${badByteOffset(bytes)} fits no character`;
    return { pointer: "", detail };
  }
}

/** The first replacement character that was not sent as one marks the place. */
function badByteOffset(bytes: Uint8Array): number {
  const text = lenient.decode(bytes);
  let offset = 0;
  let from = 0;
  for (;;) {
    const mark = text.indexOf("\ufffd", from);
    offset += Buffer.byteLength(text.slice(from, mark));
    const wasSent =
      bytes[offset] === 0xef && bytes[offset + 1] === 0xbf && bytes[offset + 2] === 0xbd;
    if (!wasSent) return offset;
    offset += 3;
    from = mark + 1;
  }
}
