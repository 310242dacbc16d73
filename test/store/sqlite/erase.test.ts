// Deleted content is removed from the files: rows, indexes, search words, stored outcomes and the WAL.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change, Store } from "../../../src/store/store.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { answerTo, ask, wordsLike } from "../contract/query-helpers.ts";
import { inDirectory } from "./test-directory.ts";

const define: Change = {
  kind: "define",
  collection: "things",
  definition: '{"indexed":["text"],"searchable":["text"]}',
  at: 1,
};

/** The words of a set that are in any file of the folder; only their ends, as indexes share beginnings. */
async function foundIn(path: string, words: ReadonlySet<string>): Promise<readonly string[]> {
  const names = await readdir(path);
  // Read by another process: closing the file in this one would drop SQLite's locks.
  const read = (name: string) => execFileSync("cat", [join(path, name)], { maxBuffer: 2 ** 28 });
  const files = names.map(read);
  return [...words].filter((word) => files.some((bytes) => bytes.includes(word.slice(4))));
}

async function untilErased(path: string, words: ReadonlySet<string>): Promise<void> {
  while ((await foundIn(path, words)).length > 0) await sleep(100);
}

interface Alive {
  readonly word: string;
  /** Those that a stored outcome may contain until the resource is deleted. */
  readonly kept: readonly string[];
}

/** A random sequence of writes, and the words that are there and those that are not any more. */
class Writes {
  readonly dead = new Set<string>();
  readonly #alive = new Map<string, Alive>();
  readonly #store: Store;
  readonly #random: () => number;
  #count = 0;

  constructor(store: Store, random: () => number) {
    this.#store = store;
    this.#random = random;
  }

  get alive(): ReadonlySet<string> {
    return new Set([...this.#alive.values()].map(({ word }) => word));
  }

  async run(count: number): Promise<void> {
    for (let batch = 0; batch < count; batch++)
      await this.#store.commit(Array.from({ length: 20 }, () => this.#next()));
  }

  #next(): Change {
    const ids = [...this.#alive.keys()];
    const id = ids[Math.floor(this.#random() * ids.length)];
    if (id === undefined || this.#random() < 0.5) return this.#put(`id-${++this.#count}`);
    if (this.#random() < 0.3) return this.#put(id);
    const { word = "", kept = [] } = this.#alive.get(id) ?? {};
    for (const each of [word, ...kept]) this.dead.add(each);
    this.#alive.delete(id);
    return { kind: "remove", collection: "things", id, at: this.#count, expect: "anything" };
  }

  #put(id: string): Change {
    const at = ++this.#count;
    const word = `word${Math.floor(this.#random() * 2 ** 52).toString(36)}${at}x`;
    const isKept = this.#random() < 0.5;
    const before = this.#alive.get(id);
    if (before && !before.kept.includes(before.word)) this.dead.add(before.word);
    this.#alive.set(id, { word, kept: [...(before?.kept ?? []), ...(isKept ? [word] : [])] });
    const length = [1, 1, 3, 40, 400][Math.floor(this.#random() * 5)] ?? 1;
    const fields = JSON.stringify({ text: `${word} `.repeat(length) });
    const put = { kind: "put", collection: "things", id, fields, at, expect: "anything" } as const;
    if (!isKept) return put;
    const once = { owner: "o", key: `${this.#random()}`, fingerprint: "f", at, expiresAt: 1e12 };
    return { kind: "all", changes: [put], once };
  }
}

describe("deleted content", () => {
  it("is removed from every file, and existing content can still be found", () =>
    inDirectory(async (path) => {
      const random = randomNumbers(newSeed("erase"));
      for (let run = 0; run < runs(1, 20); run++) {
        const store = await openSqlite({ path, eraseAfterMs: 0 });
        await store.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
        await store.commit([define]);
        const writes = new Writes(store, random);
        await writes.run(20);
        const replaced = new Set(writes.dead);
        assert.ok(replaced.size > 50);
        await untilErased(path, writes.dead);
        const { alive } = writes;
        assert.equal((await foundIn(path, alive)).length, alive.size);
        for (const word of [...alive].slice(0, 20)) {
          const found = await answerTo(store, ask({ words: wordsLike(word) }));
          assert.equal(found.resources.length, 1);
        }
        // Once more, in an index that is merged already.
        await writes.run(5);
        await untilErased(path, writes.dead);
        // And the end of a collection.
        const all = writes.alive;
        await store.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
        await untilErased(path, all);
        await store.close();
      }
    }));

  it("that a process left behind is removed after the next start", () =>
    inDirectory(async (path) => {
      const random = randomNumbers(newSeed("erase later"));
      const store = await openSqlite({ path });
      await store.commit([define]);
      const writes = new Writes(store, random);
      await writes.run(5);
      await store.close();
      const again = await openSqlite({ path, eraseAfterMs: 0 });
      await untilErased(path, writes.dead);
      await again.close();
    }));
});
