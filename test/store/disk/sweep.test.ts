// Sweeping: what nobody names goes when it is old enough, and nothing else does.

import assert from "node:assert/strict";
import { mkdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openDisk } from "../../../src/store/disk/disk.ts";
import { inDirectory, startChild } from "../sqlite/house.ts";
import { bytesOf, filesIn, keep, read } from "./house.ts";

const hour = 3_600_000;

const only = (...keys: readonly string[]) => {
  return async (asked: readonly string[]) => new Set(asked.filter((key) => keys.includes(key)));
};

const nameOf = (key: string): string => `${key.slice(0, 2)}/${key.slice(2)}`;

async function age(folder: string, name: string, ms: number): Promise<void> {
  const at = (Date.now() - ms) / 1_000;
  await utimes(join(folder, name), at, at);
}

describe("sweeping", () => {
  it("removes what nobody names and is old", () =>
    inDirectory(async (folder) => {
      const files = openDisk(folder);
      const [named, unnamed, young] = await Promise.all(
        [1, 2, 3].map(() => keep(files, bytesOf(9))),
      );
      assert.ok(named && unnamed && young);
      await age(folder, nameOf(named.key), 3 * hour);
      await age(folder, nameOf(unnamed.key), 3 * hour);
      await age(folder, nameOf(young.key), hour);
      assert.equal(await files.sweep(only(named.key), 4 * hour), 0);
      assert.equal(await files.sweep(only(named.key), 2 * hour), 1);
      assert.deepEqual(await filesIn(folder), [nameOf(named.key), nameOf(young.key)].sort());
      assert.deepEqual(await read(files, named.key, 0, 9), bytesOf(9));
      assert.equal(await files.sweep(only(named.key, young.key), 0), 0);
      assert.equal(await files.sweep(only(), 0), 2);
      assert.deepEqual(await filesIn(folder), []);
    }));

  it("removes what began to arrive and is old", () =>
    inDirectory(async (folder) => {
      const files = openDisk(folder);
      const kept = await keep(files, bytesOf(9));
      for (const [name, ms] of [
        ["old", 3 * hour],
        ["young", hour],
      ] as const) {
        await writeFile(join(folder, "incoming", name), "half of");
        await age(folder, `incoming/${name}`, ms);
      }
      assert.equal(await files.sweep(only(kept.key), 2 * hour), 1);
      assert.deepEqual(await filesIn(folder), [nameOf(kept.key), "incoming/young"].sort());
    }));

  it("asks for a few at a time, and for each once", () =>
    inDirectory(async (folder) => {
      await mkdir(join(folder, "ab"));
      const keys = Array.from({ length: 1_200 }, (_, index) => {
        return `ab${String(index).padStart(30, "0")}`;
      });
      for (const key of keys) await writeFile(join(folder, nameOf(key)), "");
      const asked: string[] = [];
      const named = async (some: readonly string[]) => {
        assert.ok(some.length <= 500, `${some.length} at once`);
        asked.push(...some);
        return new Set(some.filter((_, index) => index % 2 === 0));
      };
      assert.equal(await openDisk(folder).sweep(named, 0), 600);
      assert.deepEqual(asked.sort(), keys);
      assert.equal((await filesIn(folder)).length, 600);
    }));

  it("leaves alone what is not ours", () =>
    inDirectory(async (folder) => {
      const strangers = ["notes/a.txt", "ab/readme.txt", "restante.db"];
      await mkdir(join(folder, "notes"));
      await mkdir(join(folder, "ab"));
      for (const name of strangers) await writeFile(join(folder, name), "mine");
      assert.equal(await openDisk(folder).sweep(only(), 0), 0);
      assert.equal((await filesIn(folder)).length, strangers.length);
    }));

  it("removes nothing when it cannot be told what is named", () =>
    inDirectory(async (folder) => {
      const files = openDisk(folder);
      const kept = await keep(files, bytesOf(9));
      const error = new Error("the store is gone");
      const named = () => Promise.reject(error);
      await assert.rejects(files.sweep(named, 0), (thrown) => thrown === error);
      assert.deepEqual(await read(files, kept.key, 0, 9), bytesOf(9));
    }));

  it(
    "clears what a process has left that was killed while it kept a file",
    { timeout: 60_000 },
    () =>
      inDirectory(async (folder) => {
        const child = startChild(new URL("./children/keep.ts", import.meta.url), folder);
        await new Promise<void>((resolve) => child.onLine(() => resolve()));
        child.kill();
        await child.gone;
        const left = await filesIn(folder);
        assert.equal(left.length, 1);
        assert.match(left[0] ?? "", /^incoming\//);
        const files = openDisk(folder);
        assert.equal(await files.sweep(only(), hour), 0);
        assert.equal(await files.sweep(only(), 0), 1);
        assert.deepEqual(await filesIn(folder), []);
      }),
  );
});
