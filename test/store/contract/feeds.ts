// Feeds: what changed since a revision, in order, each resource once and in its newest state.

import assert from "node:assert/strict";
import type { Feed } from "../../../src/model/feed.ts";
import type { Resource } from "../../../src/model/resource.ts";
import type { Store } from "../../../src/store/store.ts";
import { runs } from "../../seeds.ts";
import {
  all,
  create,
  define,
  feedSince,
  idsFrom,
  put,
  remove,
  revisionOf,
  written,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

type Entry = Feed["entries"][number];

const nameOf = (entry: Entry): string => ("kind" in entry ? `no ${entry.id}` : entry.id);

async function namesSince(store: Store, revision: number, limit = 100_000) {
  return (await feedSince(store, revision, limit))?.entries.map(nameOf);
}

function withoutEpoch(feed: Feed | undefined): Omit<Feed, "epoch"> | undefined {
  if (feed === undefined) return undefined;
  const { epoch, ...rest } = feed;
  assert.match(epoch, /^[0-9a-z]+\.[0-9a-z]+$/);
  return rest;
}

/** A client's copy, which reads the changes in pages of at most `limit`. */
class Copy {
  readonly resources = new Map<string, Resource>();
  revision = 0;
  #epoch = "";

  async follow(store: Store, limit: number): Promise<void> {
    for (;;) {
      const { revision } = this;
      const position = revision === 0 ? 0 : { epoch: this.#epoch, revision, time: 0 };
      const feed = await store.since("things", position, { limit });
      assert.ok(typeof feed === "object" && feed.entries.length <= limit);
      this.#epoch = feed.epoch;
      for (const entry of feed.entries) this.#take(entry);
      assert.ok(this.revision <= feed.collection.revision);
      if (feed.entries.length < limit) return;
    }
  }

  #take(entry: Entry): void {
    assert.ok(entry.revision > this.revision, "in order, none twice");
    this.revision = entry.revision;
    if ("kind" in entry) this.resources.delete(entry.id);
    else this.resources.set(entry.id, entry);
  }

  async assertSameAs(store: Store): Promise<void> {
    const slice = await store.slice("things", { offset: 0, limit: 100_000, order: "created" });
    const byId = (one: Resource, other: Resource) => (one.id < other.id ? -1 : 1);
    assert.deepEqual([...this.resources.values()].sort(byId), slice?.resources.toSorted(byId));
  }
}

export function feeds(contractTest: ContractTest): void {
  contractTest("contain whole resources and removals, and the collection", async ({ store }) => {
    await store.commit([create()]);
    const start = await store.collection("things");
    assert.deepEqual(withoutEpoch(await feedSince(store, 0, 10)), {
      collection: start,
      entries: [],
    });
    const [a, b, , gone, a2] = await store.commit([
      put("a"),
      put("b", { fields: '{"n":1}', at: 11 }),
      put("c"),
      remove("c"),
      put("a", { fields: '{"n":2}', at: 12 }),
    ]);
    const removal = { kind: "removal", id: "c", revision: revisionOf(gone), removedAt: 20 };
    const collection = await store.collection("things");
    const entries = [written(b), removal, written(a2)];
    assert.deepEqual(withoutEpoch(await feedSince(store, 0, 10)), { collection, entries });
    for (const [revision, count] of [
      [revisionOf(a), 3],
      [revisionOf(b) - 1, 3],
      [revisionOf(b), 2],
      [revisionOf(gone), 1],
      [revisionOf(a2), 0],
    ] as const)
      assert.deepEqual(
        withoutEpoch(await feedSince(store, revision, 10)),
        { collection, entries: entries.slice(entries.length - count) },
        `since ${revision}`,
      );
    assert.deepEqual(withoutEpoch(await feedSince(store, 0, 2)), {
      collection,
      entries: entries.slice(0, 2),
    });
  });

  contractTest("have positions of one epoch: those of another are gone", async (engine) => {
    const { store } = engine;
    await store.commit([
      create(),
      put("a"),
      put("b"),
      create("others"),
      put("a", { collection: "others" }),
    ]);
    const feed = await feedSince(store, 0, 10);
    assert.ok(feed);
    const { epoch, collection } = feed;
    const position = { epoch, revision: collection.revision, time: 10 };
    const isGone = async (more: Partial<typeof position>, name = "things") =>
      (await store.since(name, { ...position, ...more }, { limit: 10 })) === "gone";
    assert.equal(await isGone({}), false);
    assert.equal(await isGone({ time: 0 }), false);
    assert.equal(await isGone({ time: 11 }), true);
    assert.equal(await isGone({ revision: collection.revision + 1, time: 0 }), true);
    assert.equal(await isGone({}, "others"), true);
    assert.equal(await isGone({ epoch: "zz.1" }), true);
    const [key] = epoch.split(".");
    assert.equal(await isGone({ epoch: `${key}.1` }), true);
    // What was written over has no time any more.
    await store.commit([put("b")]);
    assert.equal(await isGone({ time: 11 }), false);
    await store.commit([
      { kind: "drop", collection: "things", isEmptyOnly: false },
      ...[create(), put("c"), put("d"), put("e"), put("f")],
    ]);
    assert.equal(await isGone({}), true);
  });

  contractTest("never let the times of resources go back", async (engine) => {
    const stores = [engine.store, await engine.second()];
    await engine.store.commit([create(), put("a", { at: 5_000 })]);
    const times = [9_000, 2_000, 9_001, 9_001, 1, 12_000];
    const seen: unknown[] = [];
    for (const [index, at] of times.entries()) {
      const [outcome] = (await stores[index % 2]?.commit([put("a", { at })])) ?? [];
      const resource = written(outcome);
      for (const store of stores) assert.deepEqual(await store.find("things", "a"), resource);
      seen.push([resource.createdAt, resource.updatedAt, resource.sharesDate ?? false]);
    }
    assert.deepEqual(seen, [
      [5_000, 9_000, false],
      [5_000, 9_000, true],
      [5_000, 9_001, true],
      [5_000, 9_001, true],
      [5_000, 9_001, true],
      [5_000, 12_000, false],
    ]);
    // A removal, and what comes to its place, are not earlier either.
    await engine.store.commit([{ ...remove("a"), at: 3_000 }]);
    const [again] = await engine.store.commit([put("a", { at: 4_000 })]);
    const { createdAt, updatedAt, sharesDate } = written(again);
    assert.deepEqual([createdAt, updatedAt, sharesDate], [12_000, 12_000, true]);
    const collection = await engine.store.collection("things");
    assert.deepEqual([collection?.updatedAt, collection?.sharesDate], [12_000, true]);
    await engine.store.commit([put("b", { at: 13_000 })]);
    assert.equal((await engine.store.collection("things"))?.sharesDate, undefined);
  });

  contractTest(
    "contain each resource only once, however often it was created and removed",
    async ({ store }) => {
      await store.commit([
        create(),
        ...["a", "b", "c"].map((id) => put(id)),
        ...["a", "b", "c"].map((id) => remove(id)),
      ]);
      assert.deepEqual(await namesSince(store, 0), ["no a", "no b", "no c"]);
      await store.commit([put("b")]);
      assert.deepEqual(await namesSince(store, 0), ["no a", "no c", "b"]);
      await store.commit([put("a"), remove("b"), remove("a")]);
      assert.deepEqual(await namesSince(store, 0), ["no c", "no b", "no a"]);
      await store.commit([all([put("c"), remove("c"), put("c")]), put("d")]);
      assert.deepEqual(await namesSince(store, 0), ["no b", "no a", "c", "d"]);
      // A failed unit brings nothing back and takes nothing away.
      await store.commit([all([put("a"), remove("d"), remove("nobody")])]);
      assert.deepEqual(await namesSince(store, 0), ["no b", "no a", "c", "d"]);
    },
  );

  contractTest("a definition changes the collection, and is not an entry", async ({ store }) => {
    await store.commit([create(), put("a")]);
    const before = await feedSince(store, 0, 10);
    await store.commit([define('{"n":1}')]);
    const after = await feedSince(store, 0, 10);
    assert.deepEqual(after?.entries, before?.entries);
    assert.equal(after?.collection.definition, '{"n":1}');
    assert.equal(after?.collection.revision, (before?.collection.revision ?? 0) + 1);
  });

  contractTest(
    "are complete in pages of any size, also when everything was replaced",
    async ({ store }) => {
      const ids = idsFrom(1_500);
      await store.commit([create(), ...ids.map((id) => put(id))]);
      await store.commit(ids.map((id) => remove(id)));
      await store.commit(ids.slice(0, 1_000).map((id) => put(id)));
      await store.commit(ids.slice(0, 500).map((id) => put(id)));
      const names = [
        ...ids.slice(1_000).map((id) => `no ${id}`),
        ...ids.slice(500, 1_000),
        ...ids.slice(0, 500),
      ];
      assert.deepEqual(await namesSince(store, 0), names);
      assert.deepEqual(await namesSince(store, 0, 3), names.slice(0, 3));
      for (const limit of [runs(4, 1), 7, 999, 1_500, 1_501]) {
        const copy = new Copy();
        await copy.follow(store, limit);
        await copy.assertSameAs(store);
      }
    },
  );

  contractTest("a copy that follows never misses or repeats a change", async (engine) => {
    const stores = [engine.store, await engine.second()];
    await engine.store.commit([create()]);
    const ids = idsFrom(8);
    let isWriting = true;
    const writers = stores.map(async (store, writer) => {
      for (let round = 0; round < 30; round++) {
        const [one = "", other = ""] = [ids[(round * 3 + writer) % 8], ids[(round * 5) % 8]];
        const changes = [put(one, { fields: `{"n":${round}}` }), remove(other), put(other)];
        await store.commit(round % 3 === 0 ? changes : [remove(one), all(changes.slice(0, 1))]);
      }
    });
    const copies = [1, 3, 100].map(async (limit, index) => {
      const copy = new Copy();
      while (isWriting) {
        await copy.follow(stores[index % 2] ?? engine.store, limit);
        await new Promise((resolve) => setImmediate(resolve));
      }
      return copy;
    });
    await Promise.all(writers);
    isWriting = false;
    for (const copy of await Promise.all(copies)) {
      await copy.follow(engine.store, 2);
      await copy.assertSameAs(engine.store);
    }
  });
}
