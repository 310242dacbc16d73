// Readers of a feed, while collections are deleted, recreated and restored from backups.

import assert from "node:assert/strict";
import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  type FeedPosition,
  readFeedPosition,
  writeFeedPosition,
} from "../../../src/model/feed-position.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change, Store } from "../../../src/store/store.ts";
import { newSeed, randomNumbers, runs, within } from "../../seeds.ts";
import { create, put, remove } from "../contract/change-helpers.ts";
import { inDirectory } from "./test-directory.ts";

const ids = ["a", "b", "c", "d", "e"];

/** A client that keeps a copy, and starts again only when its position is gone. */
class Follower {
  readonly #limit: number;
  readonly #copy = new Map<string, string>();
  #position: FeedPosition | 0 = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Follows to the end; says how often it had to begin again. */
  async follow(store: Store): Promise<number> {
    for (let restarts = 0; ; ) {
      const feed = await store.since("things", this.#position, { limit: this.#limit });
      if (typeof feed !== "object") {
        this.#copy.clear();
        this.#position = 0;
        if (feed === undefined) return restarts;
        restarts++;
        continue;
      }
      for (const entry of feed.entries)
        if ("kind" in entry) this.#copy.delete(entry.id);
        else this.#copy.set(entry.id, entry.fields);
      const last = feed.entries.at(-1);
      const isEnd = feed.entries.length < this.#limit;
      const revision = last && !isEnd ? last.revision : feed.collection.revision;
      const next = { epoch: feed.epoch, revision, time: 0 };
      // As the client has it.
      this.#position = readFeedPosition(writeFeedPosition(next)) ?? 0;
      if (isEnd) return restarts;
    }
  }

  async assertSame(store: Store, words: string): Promise<void> {
    const slice = await store.slice("things", { offset: 0, limit: 100, order: "created" });
    const there = new Map(slice?.resources.map(({ id, fields }) => [id, fields]));
    assert.deepEqual(new Map([...this.#copy].sort()), new Map([...there].sort()), words);
  }
}

class Run {
  readonly #path: string;
  readonly #random: () => number;
  readonly #followers = [1, 2, 100].map((limit) => new Follower(limit));
  readonly #log: string[] = [];
  #backups = 0;
  #n = 0;
  #store: Store;

  private constructor(path: string, random: () => number, store: Store) {
    this.#path = path;
    this.#random = random;
    this.#store = store;
  }

  static async start(path: string, random: () => number): Promise<Run> {
    return new Run(path, random, await openSqlite({ path: join(path, "data") }));
  }

  async steps(count: number): Promise<void> {
    await this.#write();
    for (let step = 0; step < count; step++) {
      const action = this.#random();
      if (action < 0.5) await this.#write();
      else if (action < 0.6) await this.#reopen(() => this.#backUp());
      else if (action < 0.72) await this.#reopen(() => this.#restore());
      else if (action < 0.8) await this.#drop();
      else if (action < 0.85) await this.#reopen(async () => undefined);
      else await this.#follow();
    }
    await this.#follow();
    await this.#store.close();
  }

  /** Few ids, so that most revisions are replaced soon. */
  async #write(): Promise<void> {
    const changes = Array.from({ length: 1 + Math.floor(this.#random() * 6) }, (): Change => {
      const id = ids[Math.floor(this.#random() * ids.length)] ?? "a";
      if (this.#random() < 0.3) return remove(id);
      return put(id, { fields: `{"n":${++this.#n}}` });
    });
    this.#log.push(`write ${changes.length}`);
    await this.#store.commit([create(), ...changes]);
  }

  async #drop(): Promise<void> {
    this.#log.push("drop");
    await this.#store.commit([{ kind: "drop", collection: "things", isEmptyOnly: false }]);
    if (this.#random() < 0.7) await this.#write();
  }

  async #reopen(meanwhile: () => Promise<void>): Promise<void> {
    this.#log.push("reopen");
    await this.#store.close();
    await meanwhile();
    this.#store = await openSqlite({ path: join(this.#path, "data") });
  }

  async #backUp(): Promise<void> {
    this.#log.push(`back up ${this.#backups}`);
    await cp(join(this.#path, "data"), join(this.#path, `backup-${this.#backups++}`), {
      recursive: true,
    });
  }

  async #restore(): Promise<void> {
    if (this.#backups === 0) return;
    const number = Math.floor(this.#random() * this.#backups);
    this.#log.push(`restore ${number}`);
    await rm(join(this.#path, "data"), { recursive: true });
    await cp(join(this.#path, `backup-${number}`), join(this.#path, "data"), { recursive: true });
  }

  /** Not all of them each time, so that some are far behind. */
  async #follow(): Promise<void> {
    for (const follower of this.#followers) {
      if (this.#random() < 0.3) continue;
      const restarts = await follower.follow(this.#store);
      assert.ok(restarts <= 1, "a position that was just given is not gone");
      await follower.assertSame(this.#store, this.#log.join(", "));
    }
  }
}

describe("a reader of a feed", () => {
  it(
    "ends up with the collection, or is told to start again, whatever happens",
    within(600_000),
    () =>
      inDirectory(async (path) => {
        const random = randomNumbers(newSeed("histories of a feed"));
        for (let run = 0; run < runs(1, 150); run++) {
          const place = join(path, `${run}`);
          await (await Run.start(place, random)).steps(40);
          await rm(place, { recursive: true });
        }
      }),
  );

  it("is not told to start again because of restarts", () =>
    inDirectory(async (path) => {
      const follower = new Follower(2);
      for (let round = 0; round < 5; round++) {
        const store = await openSqlite({ path });
        await store.commit([create(), put("a"), put(`b${round}`)]);
        assert.equal(await follower.follow(store), 0);
        await follower.assertSame(store, `round ${round}`);
        await store.close();
      }
    }));
});
