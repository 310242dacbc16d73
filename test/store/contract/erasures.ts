// Erasures: what is left of a resource or a subject, what feeds say, and trials.

import assert from "node:assert/strict";
import type { Feed, InvalidPosition } from "../../../src/model/feed.ts";
import type { Erased, Erasure } from "../../../src/store/erasure.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  all,
  create,
  define,
  feedSince,
  lookAt,
  once,
  put,
  remove,
  token,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { answerTo, ask, wordsLike } from "./query-helpers.ts";

const ruled = JSON.stringify({
  indexed: ["text"],
  searchable: ["text"],
  access: { read: [{ name: "team", to: "token", where: { text: "$me" } }] },
});

const fields = (text: string): string => JSON.stringify({ text });
const erase = (store: Store, erasure: Partial<Erasure>): Promise<Erased> =>
  store.erase({ changes: [], removed: [], ...erasure });

const counts = (resources: number, removals: number, formerStates: number, keys: number) => ({
  ...{ collection: "things", resources, removals, formerStates, keys },
});

/** A position that a client has who has read all. */
async function positionOf(store: Store) {
  const feed = await feedSince(store, 0, 1_000);
  return { epoch: feed?.epoch ?? "", revision: feed?.collection.revision ?? 0, time: 0 };
}

/** Resources with all kinds of traces; `a` is the one to erase. */
async function fill(store: Store): Promise<void> {
  await store.commit([create(), define(ruled)]);
  const first = { ...put("a", { fields: fields("amber") }), owner: "ann" };
  await store.commit([all([first], once("key of a"))]);
  await store.commit([put("a", { fields: fields("azure") })]);
  await store.commit([{ ...put("a", { fields: fields("apple") }), setOwner: "bob" }]);
  await store.commit([all([put("b", { fields: fields("brown") })], once("key of b"))]);
}

async function scrub(store: Store): Promise<void> {
  for (let isFirst = true; ; isFirst = false)
    if ((await store.scrub({ isFirst, isFull: false })).kind === "done") return;
}

export function erasures(contractTest: ContractTest): void {
  contractTest("leave nothing of a resource, in any process", async (engine) => {
    const { store } = engine;
    const other = await engine.second();
    await fill(store);
    assert.equal((await other.find("things", "a"))?.owner, "bob");
    const position = await positionOf(store);
    const erased = await erase(store, { changes: [remove("a")] });
    assert.deepEqual(erased, { kind: "erased", collections: [counts(1, 0, 3, 1)], tokens: 0 });
    assert.equal(await other.find("things", "a"), undefined);
    assert.equal((await store.collection("things"))?.total, 1);
    const seen = await answerTo(store, ask({ words: wordsLike("apple") }));
    assert.equal(seen.resources.length, 0);
    assert.equal(await store.since("things", position, { limit: 10 }), "expired");
    assert.deepEqual(idsIn(await feedSince(store, 0, 100)), ["b"]);
    await scrub(store);
    const now = await positionOf(store);
    await store.commit([put("c")]);
    assert.deepEqual(idsIn(await other.since("things", now, { limit: 10 })), ["c"]);
  });

  contractTest("find what is left of a resource that was removed", async ({ store }) => {
    await fill(store);
    await store.commit([remove("a")]);
    assert.deepEqual(idsIn(await feedSince(store, 0, 100)), ["b", "a"]);
    const removed = [{ collection: "things", id: "a" }];
    const erased = await erase(store, { removed });
    assert.deepEqual(erased, { kind: "erased", collections: [counts(0, 1, 4, 1)], tokens: 0 });
    assert.deepEqual(idsIn(await feedSince(store, 0, 100)), ["b"]);
    const again = await erase(store, { removed: [...removed, { collection: "none", id: "a" }] });
    assert.deepEqual(again, { kind: "erased", collections: [], tokens: 0 });
  });

  contractTest("leave nothing of a subject", async ({ store }) => {
    await store.commit([
      { kind: "create-token", token: token("t", { subject: "ann" }) },
      { kind: "create-token", token: token("u", { subject: "bob" }) },
      { kind: "touch-token", id: "t", at: 1 },
    ]);
    await fill(store);
    await store.commit([all([put("c")], once("of the token", { owner: "t" }))]);
    await store.commit([{ ...put("d"), owner: "ann" }]);
    await store.commit([remove("d")]);
    const erased = await erase(store, { subject: "ann" });
    // Two former states and a former owner of `a`, the state and the removal of `d`; the keys of `a` and of the token.
    assert.deepEqual(erased, { kind: "erased", collections: [counts(0, 1, 4, 2)], tokens: 1 });
    assert.equal(await store.token("hash of t"), undefined);
    assert.deepEqual(
      (await store.tokens()).map(({ id }) => id),
      ["u"],
    );
    assert.equal((await store.find("things", "a"))?.owner, "bob");
    const again = await erase(store, { subject: "ann" });
    assert.deepEqual(again, { kind: "erased", collections: [], tokens: 0 });
  });

  contractTest("only count in a trial", async ({ store }) => {
    await fill(store);
    const before = await lookAt(store);
    const trial = await erase(store, { changes: [remove("a")], isTrial: true });
    assert.deepEqual(trial, { kind: "erased", collections: [counts(1, 0, 3, 1)], tokens: 0 });
    assert.deepEqual(await lookAt(store), before);
    const [retry] = await store.commit([all([put("a")], once("key of a"))]);
    assert.equal(retry?.kind, "all");
    assert.deepEqual(await lookAt(store), before);
    assert.deepEqual(await erase(store, { changes: [remove("a")] }), trial);
  });

  contractTest("do nothing when a change fails", async ({ store }) => {
    await fill(store);
    const before = await lookAt(store);
    const erased = await erase(store, { changes: [remove("a"), remove("b", 1)], subject: "ann" });
    assert.equal(erased.kind, "none");
    assert.deepEqual(await lookAt(store), before);
  });
}

function idsIn(feed: Feed | InvalidPosition | undefined): readonly string[] {
  assert.ok(typeof feed === "object");
  return feed.entries.map(({ id }) => id);
}
