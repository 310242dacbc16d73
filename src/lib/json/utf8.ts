// Decodes UTF-8 and reports invalid bytes instead of replacing them with U+FFFD.

import { Buffer } from "node:buffer";
import type { FieldError } from "./error-report.ts";

const strict = new TextDecoder("utf-8", { fatal: true });
const exact = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** Returns the text without a byte order mark (RFC 8259 §8.1), or the offset of the first invalid byte. */
export const decodeUtf8 = (bytes: Uint8Array): string | FieldError => decode(bytes, strict);

/** Keeps a leading U+FEFF, which is an ordinary character in a form field. */
export const decodeUtf8KeepingBom = (bytes: Uint8Array): string | FieldError =>
  decode(bytes, exact);

function decode(bytes: Uint8Array, decoder: TextDecoder): string | FieldError {
  try {
    return decoder.decode(bytes);
  } catch {
    const detail = `not valid UTF-8: the byte at offset ${badByteOffset(bytes)} is not part of a character`;
    return { pointer: "", detail };
  }
}

/** Finds the first replacement character in the lenient decoding that is not in the bytes. */
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
