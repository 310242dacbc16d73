// The texts of a PNG are left out before it is rendered, however its bytes arrive.

import assert from "node:assert/strict";
import { it } from "node:test";
import { withoutTexts } from "../../../src/store/pictures/png-texts.ts";
import { chunk, plain, withChunks } from "../../http/picture-samples.ts";
import { newSeed, randomNumbers } from "../../seeds.ts";

async function read(bytes: Buffer, pieceBytes: () => number): Promise<Buffer> {
  async function* pieces() {
    for (let at = 0; at < bytes.length; ) {
      const size = pieceBytes();
      yield bytes.subarray(at, at + size);
      at += size;
    }
  }
  return Buffer.concat(await Array.fromAsync(withoutTexts(pieces())));
}

const texts = ["tEXt", "zTXt", "iTXt"].map((type) => chunk(type, Buffer.from("a\0 long text")));
const kept = [
  chunk("gAMA", Buffer.alloc(4)),
  chunk("eXIf", Buffer.from("tEXt")),
  chunk("tIME", Buffer.alloc(0)),
];
const random = randomNumbers(newSeed("pieces of pictures"));
const anyBytes = () => Math.floor(random() * 30);

it("a PNG has all but its texts", async () => {
  const mixed = withChunks(...kept.flatMap((each) => [...texts, each]), ...texts);
  const whole = withChunks(...kept);
  for (const pieceBytes of [() => 1, () => 1_000_000, anyBytes, anyBytes, anyBytes])
    assert.deepEqual(await read(mixed, pieceBytes), whole);
});

it("what is cut off or no PNG is passed on", async () => {
  const noPng = Buffer.concat([Buffer.from("x"), withChunks(...texts)]);
  for (const bytes of [Buffer.alloc(0), plain.subarray(0, 5), plain.subarray(0, 20), noPng])
    for (const pieceBytes of [() => 1, () => 1_000_000, anyBytes])
      assert.deepEqual(await read(bytes, pieceBytes), bytes);
});
