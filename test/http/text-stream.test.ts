// Streamed bodies: texts and bytes, sent in turns of the event loop of a limited size.
// @runtimes both

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { type BodyPiece, streamOf } from "../../src/http/body/text-stream.ts";
import { turnBytes } from "../../src/lib/turns.ts";
import { turnsOf } from "../turns-of.ts";

async function* all(pieces: readonly BodyPiece[]): AsyncGenerator<BodyPiece> {
  yield* pieces;
}

async function read(stream: ReadableStream<Uint8Array>): Promise<readonly Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const noop = (): void => undefined;

describe("a streamed body", () => {
  it("has the texts and the bytes in their order, with any coding", async () => {
    const pieces = () => [
      ...["ä", new Uint8Array(Buffer.from("é☃".repeat(50_000))), ""],
      ...["x".repeat(100_000), new Uint8Array(), "🙂"],
    ];
    const whole = Buffer.concat(pieces().map((piece) => Buffer.from(piece as string)));
    assert.ok(Buffer.concat(await read(streamOf(all(pieces()), undefined, noop))).equals(whole));
    const encoded = Buffer.concat(await read(streamOf(all(pieces()), "gzip", noop)));
    assert.ok(gunzipSync(encoded).equals(whole));
  });

  it("frees the bytes that were sent, and no others", async () => {
    const sent = new Uint8Array(2 * turnBytes);
    const next = new Uint8Array(2 * turnBytes);
    const reader = streamOf(all([sent, next]), undefined, noop).getReader();
    const chunks = [await reader.read(), await reader.read()];
    assert.equal(sent.length, 2 * turnBytes);
    chunks.push(await reader.read());
    assert.equal(sent.length, 0);
    assert.equal(next.length, 2 * turnBytes);
    assert.ok(chunks.every(({ value }) => value?.length === turnBytes));
    await reader.cancel();
  });

  it("has no copies of bytes for a client that gets them one by one, and frees them as well", async () => {
    const client = { peerAddress: () => "", sendsOneByOne: true };
    const sent = new Uint8Array(2 * turnBytes);
    const next = new Uint8Array(2 * turnBytes);
    const reader = streamOf(all([sent, next]), undefined, noop, client).getReader();
    const first = await reader.read();
    assert.equal(first.value?.buffer, sent.buffer);
    await reader.read();
    assert.equal(sent.length, 2 * turnBytes);
    await reader.read();
    assert.equal(sent.length, 0);
    assert.equal(next.length, 2 * turnBytes);
    await reader.cancel();
  });

  it("has copies for an encoder, which may keep them", async () => {
    const client = { peerAddress: () => "", sendsOneByOne: true };
    const bytes = new Uint8Array(Buffer.from("é☃".repeat(500_000)));
    const whole = Buffer.from(bytes);
    const encoded = Buffer.concat(await read(streamOf(all([bytes]), "gzip", noop, client)));
    assert.ok(gunzipSync(encoded).equals(whole));
  });

  for (const coding of [undefined, "gzip", "br", "zstd"] as const)
    it(`frees all bytes with the coding ${coding}`, async () => {
      const pieces = Array.from({ length: 5 }, () => new Uint8Array(3 * turnBytes));
      await read(streamOf(all(pieces), coding, noop));
      assert.ok(pieces.every(({ length }) => length === 0));
    });

  for (const [name, pieces] of [
    ["one large piece", () => [new Uint8Array(20 * turnBytes)]],
    ["one large text", () => ["x".repeat(20 * turnBytes)]],
    ["many small texts", () => Array.from({ length: 2_000 }, () => "x".repeat(turnBytes / 100))],
  ] as const)
    it(`lets others have a turn after every ${turnBytes} bytes of ${name}`, async () => {
      let chunks: Awaited<ReturnType<typeof read>> = [];
      const turns = await turnsOf(async () => {
        chunks = await read(streamOf(all(pieces()), undefined, noop));
      });
      const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
      assert.equal(
        bytes,
        pieces().reduce((sum, piece) => sum + piece.length, 0),
      );
      assert.ok(chunks.every((chunk) => chunk.length <= turnBytes));
      assert.ok(turns >= Math.ceil(bytes / turnBytes) - 1, `${turns} turns`);
    });

  it("releases once at the end, and when the client leaves", async () => {
    let released = 0;
    const release = () => void released++;
    await read(streamOf(all(["a"]), undefined, release));
    assert.equal(released, 1);
    await streamOf(all(["a", "b"]), undefined, release).cancel();
    assert.equal(released, 2);
  });
});
