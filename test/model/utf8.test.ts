// Decoding of UTF-8: exact, or an error.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeUtf8 } from "../../src/lib/json/utf8.ts";
import fc, { anyText } from "../fast-check.ts";

const encoder = new TextEncoder();

/** The offset of the error, or undefined for a valid text. */
function badOffset(bytes: Uint8Array): number | undefined {
  const decoded = decodeUtf8(bytes);
  if (typeof decoded === "string") return undefined;
  const offset = /^not valid UTF-8: the byte at offset (\d+) is not part of a character$/.exec(
    decoded.detail,
  );
  assert.equal(decoded.pointer, "");
  assert.ok(offset, decoded.detail);
  return Number(offset[1]);
}

describe("UTF-8", () => {
  it("decodes every text", () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        fc.pre(!text.startsWith("\ufeff"));
        assert.equal(decodeUtf8(encoder.encode(text)), text);
      }),
    );
  });

  it("drops one byte order mark, and only at the beginning", () => {
    assert.equal(decodeUtf8(encoder.encode("\ufeff\ufeffa\ufeff")), "\ufeffa\ufeff");
    assert.equal(decodeUtf8(encoder.encode("\ufeff")), "");
  });

  it("keeps a replacement character that was sent", () => {
    assert.equal(decodeUtf8(encoder.encode("a\ufffdb")), "a\ufffdb");
  });

  const bad: readonly [what: string, bytes: readonly number[], offset: number][] = [
    ["a byte that never occurs", [0x61, 0xff], 1],
    ["a continuation without a start", [0x80], 0],
    ["a start without a continuation", [0x61, 0xc3, 0x28], 1],
    ["an end within a character", [0x61, 0xf0, 0x9f, 0x98], 1],
    ["a character written too long", [0x61, 0x62, 0xc0, 0xaf], 2],
    ["half of a surrogate pair", [0xed, 0xa0, 0x80], 0],
    ["what is past the last character", [0xf4, 0x90, 0x80, 0x80], 0],
    ["a fault after a byte order mark", [0xef, 0xbb, 0xbf, 0x61, 0xff], 4],
    ["a fault after characters of two, three and four bytes", [...encoder.encode("ä€😀"), 0xff], 9],
    [
      "a fault after replacement characters that were sent",
      [...encoder.encode("\ufffda\ufffd"), 0xff],
      7,
    ],
    ["UTF-16", [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00], 0],
  ];
  for (const [what, bytes, offset] of bad)
    it(`rejects ${what}`, () => assert.equal(badOffset(new Uint8Array(bytes)), offset));

  it("finds the first invalid byte after any text", () => {
    fc.assert(
      fc.property(anyText(), fc.uint8Array({ maxLength: 5 }), (text, rest) => {
        const start = encoder.encode(text);
        assert.equal(badOffset(new Uint8Array([...start, 0xff, ...rest])), start.length);
      }),
    );
  });

  it("reads a view, not its whole buffer", () => {
    const bytes = new Uint8Array([0xff, 0x61, 0x62, 0xff]);
    assert.equal(decodeUtf8(bytes.subarray(1, 3)), "ab");
    assert.equal(badOffset(bytes.subarray(1)), 2);
  });
});
