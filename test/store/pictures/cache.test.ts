// The cache of rendered pictures: its limit, what it removes first, and several processes on one folder.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { PictureCache } from "../../../src/store/pictures/cache.ts";
import { filesIn } from "../../http/multipart.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
});
after(() => rm(folder, { recursive: true }));

const keyOf = (n: number): string => createHash("md5").update(`${n}`).digest("hex");

async function add(cache: PictureCache, name: string, size: number) {
  const bytes = Buffer.alloc(size - 32, name);
  const path = await cache.newPath();
  await writeFile(path, Buffer.concat([createHash("sha256").update(bytes).digest(), bytes]));
  return cache.add(path, name);
}

describe("the cache", () => {
  it("keeps what is used, and removes the rest when it is full, for several processes", async () => {
    const caches = [new PictureCache(folder, 10_000), new PictureCache(folder, 10_000)];
    const names = Array.from({ length: 40 }, (_, n) => `${keyOf(n)}.1.x`);
    for (const [n, name] of names.entries()) {
      await add(caches[n % 2] ?? assert.fail(), name, 1_000);
      // An old one, unless it is read below.
      const at = new Date(Date.now() - 10 * 3_600_000 + n * 1_000);
      await utimes(join(folder, name.slice(0, 2), name), at, at).catch(() => undefined);
      assert.ok((await caches[0]?.read(names[0] ?? "")) !== undefined, `${n}`);
    }
    const kept = await filesIn(folder);
    assert.ok(kept.length <= 11 && kept.length >= 8, `${kept.length}`);
    assert.equal(await caches[1]?.read(names[5] ?? ""), undefined);
  });

  it("returns what it does not keep, and does not count what is being rendered", async () => {
    const place = join(folder, "small");
    const cache = new PictureCache(place, 1_000);
    await writeFile(await cache.newPath(), Buffer.alloc(5_000));
    assert.equal((await add(cache, `${keyOf(1)}.1.a`, 400))?.bytes.length, 368);
    assert.equal((await cache.read(`${keyOf(1)}.1.a`))?.bytes.length, 368);
    assert.equal((await add(cache, `${keyOf(2)}.1.a`, 2_000))?.bytes.length, 1_968);
    assert.equal(await cache.read(`${keyOf(2)}.1.a`), undefined);
  });

  it("reads nothing for which there is no room", async () => {
    const cache = new PictureCache(join(folder, "room"), 1_000_000);
    const name = `${keyOf(1)}.1.a`;
    await add(cache, name, 400);
    const asked: number[] = [];
    const ask = (isThere: boolean) => (bytes: number) => {
      asked.push(bytes);
      return isThere;
    };
    assert.equal(await cache.read(name, ask(false)), "no-room");
    const read = await cache.read(name, ask(true));
    assert.equal(read === "no-room" ? 0 : read?.bytes.length, 368);
    assert.deepEqual(asked, [400, 400]);
  });

  it("removes what was made from a file, and nothing else", async () => {
    const cache = new PictureCache(join(folder, "other"), 1_000_000);
    const [one, other] = [keyOf(1), keyOf(2)];
    for (const name of [`${one}.1.a`, `${one}.1.b`, `${other}.1.a`]) await add(cache, name, 100);
    await cache.remove([one, keyOf(3)]);
    assert.equal(await cache.read(`${one}.1.a`), undefined);
    assert.equal(await cache.read(`${one}.1.b`), undefined);
    assert.equal((await cache.read(`${other}.1.a`))?.bytes.length, 68);
  });

  it("removes the temporary files of a process that died, not those of others", async () => {
    const place = join(folder, "third");
    const cache = new PictureCache(place, 1_000);
    const [old, young] = [await cache.newPath(), await cache.newPath()];
    for (const path of [old, young]) await writeFile(path, "x");
    const at = new Date(Date.now() - 10 * 3_600_000);
    await utimes(old, at, at);
    await add(cache, `${keyOf(1)}.1.a`, 200);
    const left = await filesIn(join(place, "incoming"));
    assert.deepEqual(left, [young]);
  });
});
