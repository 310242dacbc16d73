// Random sequences of changes, decided by the core on a store in memory, compared with a simple model.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { entriesOf, searchTextsOf } from "../../../src/model/query/index-plan.ts";
import { termsIn } from "../../../src/model/query/rank.ts";
import { locate } from "../../../src/store/core/position-tree.ts";
import { checksumOf } from "../../../src/store/core/stored-resource.ts";
import fc from "../../fast-check.ts";
import { newSeed, runs } from "../../seeds.ts";
import { create, define, put, remove } from "../contract/change-helpers.ts";
import { batch, Sequence } from "../contract/random-sequences.ts";
import { MemoryStore, type Part, resourceOf } from "./memory.ts";

describe("the core of the store", () => {
  for (const canInsertDirectly of [false, true])
    it(`has the outcomes of a simple model${canInsertDirectly ? ", with inserts that look nothing up" : ""}`, () => {
      let directInserts = 0;
      fc.assert(
        fc.property(fc.array(batch, { minLength: 1, maxLength: 8 }), (batches) => {
          const sequence = new Sequence(0);
          const store = new MemoryStore(canInsertDirectly);
          const start = [
            define('{"unique":["n"]}', sequence.collection("one"), 1),
            create(sequence.collection("two")),
          ];
          assert.deepEqual(store.commit(start), sequence.model.commit(start));
          for (const { steps } of batches) {
            const changes = sequence.changes(steps);
            assert.deepEqual(store.commit(changes), sequence.model.commit(changes));
            assertSame(store, sequence);
          }
          directInserts += store.directInserts;
        }),
        { numRuns: runs(100, 20_000), seed: newSeed("core") },
      );
      assert.equal(directInserts > 0, canInsertDirectly);
    });

  it("gives a recreated collection another part and another version", () => {
    const store = new MemoryStore(true);
    store.commit([define('{"indexed":["n"]}', "things", 5), put("a", { collection: "things" })]);
    const part = store.collections.get("things");
    const version = store.partOf("things")?.head.version;
    store.commit([
      { kind: "drop", collection: "things", isEmptyOnly: false },
      define('{"indexed":["n"]}', "things", 6),
    ]);
    assert.notEqual(store.collections.get("things"), part);
    assert.notEqual(store.partOf("things")?.head.version, version);
    assert.equal(store.partOf("things")?.resources.size, 0);
  });

  it("treats a key on another collection as a new key", () => {
    const store = new MemoryStore(true);
    const once = { owner: "x", key: "k", fingerprint: "f", at: 10, expiresAt: 1_000 };
    const putOnce = (collection: string) =>
      store.commit([
        { kind: "all", changes: [put("a", { collection, expect: "nothing" })], once },
      ])[0];
    store.commit([create("one"), create("two")]);
    const kinds = ["one", "one", "two", "two"].map((name) => {
      const outcome = putOnce(name);
      return outcome?.kind === "all" && outcome.isReplay ? "replay" : outcome?.kind;
    });
    assert.deepEqual(kinds, ["all", "replay", "all", "replay"]);
  });

  it("stores the key of a change to several collections with the lowest part", () => {
    const once = { owner: "x", key: "k", fingerprint: "f", at: 10, expiresAt: 1_000 };
    for (let round = 0; round < 20; round++) {
      const store = new MemoryStore(false);
      store.commit([create("one"), create("two"), create("three")]);
      const changes = ["two", "three", "one"].map((collection) => put("a", { collection }));
      store.commit([{ kind: "all", changes, once }]);
      const lowest = Math.min(...store.collections.values());
      const holders = [...store.parts].filter(([, { keys }]) => keys.size > 0);
      assert.deepEqual(
        holders.map(([part]) => part),
        [lowest],
      );
    }
  });

  it("leaves no row of a change that is undone", () => {
    const store = new MemoryStore(true);
    store.commit([create("things"), put("z", { collection: "things" })]);
    const before = JSON.stringify([...(store.partOf("things")?.resources ?? [])]);
    const changes = [
      put("a", { collection: "things", expect: "nothing" }),
      put("b", { collection: "things", expect: "nothing" }),
      remove("nothing", "anything", "things"),
    ];
    const [outcome] = store.commit([{ kind: "all", changes }]);
    assert.equal(outcome?.kind, "none");
    assert.equal(store.directInserts, 2);
    assert.equal(JSON.stringify([...(store.partOf("things")?.resources ?? [])]), before);
  });
});

/** Compares the stored rows with the model, and every derived row with the resources. */
function assertSame(store: MemoryStore, { model }: Sequence): void {
  assert.deepEqual(
    [...store.collections.keys()].sort(),
    model.collections().map(({ name }) => name),
  );
  for (const [name, number] of store.collections) {
    const part = store.parts.get(number);
    assert.ok(part);
    const { head } = part;
    const collection = model.collection(name);
    const { revision, total, updatedAt } = head;
    assert.deepEqual(
      { revision, total, updatedAt },
      {
        revision: collection?.revision,
        total: collection?.total,
        updatedAt: collection?.updatedAt,
      },
    );
    const rows = [...part.resources.values()].sort((one, other) => one.seq - other.seq);
    const whole = { offset: 0, limit: 1_000, order: "created" } as const;
    assert.deepEqual(rows.map(resourceOf), model.slice(name, whole)?.resources);
    assertDerivedRows(part);
  }
  const files = [...store.parts.values()].flatMap((part) => [...part.files]);
  assert.deepEqual(new Set(files), model.named());
}

function assertDerivedRows(part: Part): void {
  const entries = new Set<string>();
  const words = new Map<string, number>();
  const rows = [...part.resources.values()].sort((one, other) => one.seq - other.seq);
  for (const row of rows) {
    const resource = resourceOf(row);
    for (const { field, key } of entriesOf(part.plan, resource))
      entries.add(`${field}\0${key}\0${row.seq}`);
    for (const [word, weight] of termsIn(searchTextsOf(part.plan, resource)))
      words.set(`${word} ${row.seq}`, weight);
    const { id, revision, createdAt, updatedAt, fields, owner, files, sharesDate } = row;
    const stored = [id, revision, createdAt, updatedAt, fields, owner, files, sharesDate] as const;
    assert.equal(row.checksum, checksumOf(stored));
    assert.ok(!part.tombstones.has(id));
  }
  assert.deepEqual(part.entries, entries);
  assert.deepEqual(new Map([...part.words].sort()), new Map([...words].sort()));
  for (const [index, { seq }] of rows.entries())
    assert.equal(locate(part.readRow, index, part.head.seq), seq - 1);
}
