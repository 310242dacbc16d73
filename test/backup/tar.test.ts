// Tar archives: what we write others read, and what is cut off or foreign is noticed.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { InvalidBackup } from "../../src/backup/manifest.ts";
import { unpack } from "../../src/backup/unpack.ts";
import { readTar, TarError, tarEnd, tarHeader, tarPadding } from "../../src/lib/tar.ts";

const archive = (entries: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat([
    ...Object.entries(entries).flatMap(([name, text]) => [
      tarHeader(name, text.length, 1_000_000),
      Buffer.from(text),
      tarPadding(text.length),
    ]),
    tarEnd(),
  ]);

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size)
    yield bytes.subarray(start, start + size);
}

async function entriesIn(bytes: Buffer, size = 100): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for await (const entry of readTar(inPieces(bytes, size))) {
    let text = "";
    for await (const piece of entry.bytes) text += Buffer.from(piece).toString();
    found[entry.name] = text;
  }
  return found;
}

describe("a tar archive", () => {
  const entries = { a: "", "b/c.txt": "x".repeat(512), d: "y".repeat(513) };

  it("comes back in pieces of any size", async () => {
    for (const size of [1, 7, 511, 512, 513, 100_000])
      assert.deepEqual(await entriesIn(archive(entries), size), entries);
  });

  it("is refused when it ends too early or is something else", async () => {
    const whole = archive(entries);
    for (const length of [0, 1, 511, 512, 700, 1_500, whole.length - 1])
      await assert.rejects(entriesIn(whole.subarray(0, length)), TarError, `${length}`);
    await assert.rejects(entriesIn(Buffer.alloc(2_000, 65)), TarError);
  });

  it("has the header that POSIX defines, also for more than 8 GiB", async () => {
    const header = Buffer.from(tarHeader("name", 5, 1_000_000));
    assert.equal(header.toString("latin1", 0, 5), "name\0");
    assert.equal(header.toString("latin1", 124, 136), "00000000005\0");
    assert.equal(header.toString("latin1", 257, 265), "ustar\x0000");
    const size = 9 * 2 ** 30;
    for await (const entry of readTar(inPieces(Buffer.from(tarHeader("large", size, 0)), 512))) {
      assert.equal(entry.size, size);
      break;
    }
  });
});

const noStep = { add: () => undefined, done: () => undefined };

describe("an archive of backups", () => {
  it("that is cut off anywhere is no whole backup", async () => {
    const folder = await mkdtemp(join(tmpdir(), "restante-archive-"));
    const whole = archive({ [`objects/ab/${"c".repeat(62)}`]: "x".repeat(200_000) });
    for (const [name, bytes] of [
      ["b.tar", whole],
      ["b.tar.gz", gzipSync(whole, { level: 0 })],
      ["b.tar.zst", zstdCompressSync(whole)],
    ] as const)
      for (const part of [0.01, 0.5, 0.9]) {
        const path = join(folder, name);
        await writeFile(path, bytes.subarray(0, bytes.length * part));
        const unpacking = unpack(path, join(folder, "unpacked"), () => noStep);
        await assert.rejects(unpacking, InvalidBackup, `${name} ${part}`);
      }
    await rm(folder, { recursive: true });
  });
});
