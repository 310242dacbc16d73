// The sweep removes old files that no resource references, and nothing else.

import assert from "node:assert/strict";
import { mkdir, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Outage } from "../../../src/model/outage.ts";
import { openDisk } from "../../../src/store/disk/disk.ts";
import type { Files } from "../../../src/store/files.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { inDirectory, startChild } from "../sqlite/test-directory.ts";
import { bytesOf, filesIn, read, saveFile } from "./file-helpers.ts";

const hour = 3_600_000;
const day = 24 * hour;

const only = (...keys: readonly string[]) => {
  return async (asked: readonly string[]) => new Set(asked.filter((key) => keys.includes(key)));
};

const nameOf = (key: string): string => `${key.slice(0, 2)}/${key.slice(2)}`;

async function age(folder: string, name: string, ms: number): Promise<void> {
  const at = (Date.now() - ms) / 1_000;
  await utimes(join(folder, name), at, at);
}

describe("the sweep", () => {
  it("removes old files that no resource references", () =>
    inDirectory(async (folder) => {
      const files = openDisk(folder);
      const [named, unnamed, young] = await Promise.all(
        [1, 2, 3].map(() => saveFile(files, bytesOf(9))),
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
      assert.equal(await files.sweep(only(), -1_000), 2);
      assert.deepEqual(await filesIn(folder), []);
    }));

  it("removes old incomplete uploads", () =>
    inDirectory(async (folder) => {
      const files = openDisk(folder);
      const kept = await saveFile(files, bytesOf(9));
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

  it("asks for a few files at a time, and again before it removes them", () =>
    inDirectory(async (folder) => {
      await mkdir(join(folder, "ab"));
      const keys = Array.from({ length: 1_200 }, (_, index) => {
        return `ab${String(index).padStart(30, "0")}`;
      });
      for (const key of keys) await writeFile(join(folder, nameOf(key)), "");
      const isNamed = (key: string) => Number(key.slice(2)) % 2 === 0;
      const asked: string[] = [];
      const named = async (some: readonly string[]) => {
        assert.ok(some.length <= 500, `${some.length} at once`);
        asked.push(...some);
        return new Set(some.filter(isNamed));
      };
      assert.equal(await openDisk(folder).sweep(named, -1_000), 600);
      const unnamed = keys.filter((key) => !isNamed(key));
      assert.deepEqual(asked.toSorted(), [...keys, ...unnamed].toSorted());
      assert.equal((await filesIn(folder)).length, 600);
    }));

  it("ignores other files", () =>
    inDirectory(async (folder) => {
      const otherFiles = ["notes/a.txt", "ab/readme.txt", "restante.db"];
      await mkdir(join(folder, "notes"));
      await mkdir(join(folder, "ab"));
      for (const name of otherFiles) await writeFile(join(folder, name), "mine");
      assert.equal(await openDisk(folder).sweep(only(), 0), 0);
      assert.equal((await filesIn(folder)).length, otherFiles.length);
    }));

  it("removes nothing when references cannot be read", () =>
    inDirectory(async (folder) => {
      const files = openDisk(folder);
      const kept = await saveFile(files, bytesOf(9));
      const error = new Error("the store is gone");
      const named = () => Promise.reject(error);
      await assert.rejects(files.sweep(named, 0), (thrown) => thrown === error);
      assert.deepEqual(await read(files, kept.key, 0, 9), bytesOf(9));
    }));

  it("removes the files of a process that was killed during an upload", () =>
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
      assert.equal(await files.sweep(only(), -1_000), 1);
      assert.deepEqual(await filesIn(folder), []);
    }));

  it("restores files that are referenced meanwhile, and those that a killed sweep has moved", () =>
    inDirectory(async (folder) => {
      const files = openDisk(folder);
      const kept = await saveFile(files, bytesOf(9));
      let times = 0;
      const late = async (keys: readonly string[]) => new Set(times++ === 0 ? [] : keys);
      assert.equal(await files.sweep(late, -1_000), 0);
      assert.equal(times, 2);
      assert.deepEqual(await filesIn(folder), [nameOf(kept.key)]);
      await rename(join(folder, nameOf(kept.key)), join(folder, "removed", `${kept.key}.x`));
      assert.deepEqual(await read(files, kept.key, 0, 9), bytesOf(9));
      assert.equal(await files.sweep(only(kept.key), 0), 0);
      assert.deepEqual(await filesIn(folder), [nameOf(kept.key)]);
    }));

  it("never removes a file of an acknowledged upload, with wrong clocks and stalled processes", async () => {
    const random = randomNumbers(newSeed("sweep"));
    let acknowledged = 0;
    let rejected = 0;
    const rounds = runs(60, 5_000);
    // Chance decides how many uploads a sweep meets, so that a few more rounds may be needed.
    const isMet = () => acknowledged > 100 && rejected > 10;
    for (let round = 0; round < rounds || (!isMet() && round < 10 * rounds); round++)
      await inDirectory(async (folder) => {
        const named = new Set<string>();
        const uploads = [1, 2, 3].map(() => new StepwiseUpload(openDisk(folder), named));
        const advance = async () => {
          for (const upload of uploads) while (random() < 0.4) await upload.step();
        };
        // The only moments when a sweep waits for something else than the disk.
        const ask = async (keys: readonly string[]) => {
          await advance();
          const known = new Set(keys.filter((key) => named.has(key)));
          await advance();
          return known;
        };
        await advance();
        // By its clock every file is a day old. Some die when they have moved files aside.
        const dying = () => {
          let times = 0;
          return (keys: readonly string[]) =>
            times++ === 0 ? ask(keys) : Promise.reject(new Error("killed"));
        };
        const sweeps = [1, 2].map(() =>
          openDisk(folder).sweep(random() < 0.3 ? dying() : ask, -day),
        );
        await Promise.allSettled(sweeps);
        for (const upload of uploads) while (!upload.isOver) await upload.step();
        for (const { state, key } of uploads) {
          if (state === "refused") rejected++;
          if (state !== "acknowledged") continue;
          acknowledged++;
          assert.deepEqual(await read(openDisk(folder), key, 0, 9), bytesOf(9), `round ${round}`);
          await openDisk(folder).sweep(only(...named), -day);
          assert.deepEqual(await read(openDisk(folder), key, 0, 9), bytesOf(9), `round ${round}`);
        }
      });
    assert.ok(acknowledged > 100, "uploads succeed");
    assert.ok(rejected > 10, "sweeps meet uploads");
  });
});

/** What `domain/uploads.ts` does with a file, one step at a time. */
class StepwiseUpload {
  key = "";
  state: "begun" | "kept" | "renewed" | "committed" | "acknowledged" | "refused" = "begun";
  readonly #files: Files;
  readonly #named: Set<string>;
  #last: Promise<void> = Promise.resolve();

  constructor(files: Files, named: Set<string>) {
    this.#files = files;
    this.#named = named;
  }

  get isOver(): boolean {
    return this.state === "acknowledged" || this.state === "refused";
  }

  /** One at a time. */
  step(): Promise<void> {
    this.#last = this.#last.then(() => this.#step());
    return this.#last;
  }

  async #step(): Promise<void> {
    try {
      if (this.state === "begun") {
        this.key = (await saveFile(this.#files, bytesOf(9))).key;
        this.state = "kept";
      } else if (this.state === "kept") {
        await this.#files.touch([this.key]);
        this.state = "renewed";
      } else if (this.state === "renewed") {
        this.#named.add(this.key);
        this.state = "committed";
      } else if (this.state === "committed") {
        await this.#files.confirm([this.key]);
        this.state = "acknowledged";
      }
    } catch (error) {
      assert.ok(error instanceof Outage, String(error));
      this.state = "refused";
    }
  }
}
