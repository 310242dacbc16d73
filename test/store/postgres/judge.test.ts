// Judging a batch, without a database: what is to be written brings plain maps to where the model is.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  emptyIndexPlan,
  entriesOf,
  indexPlanOf,
  searchTextOf,
} from "../../../src/model/query/index-plan.ts";
import type { Resource } from "../../../src/model/resource.ts";
import type { KeyClock } from "../../../src/store/core/key-clock.ts";
import {
  applyChanges,
  type LoadedBatch,
  type StoredKey,
} from "../../../src/store/postgres/apply.ts";
import { hasNoIndexes } from "../../../src/store/postgres/plans.ts";
import { claimsOf } from "../../../src/store/postgres/unique-values.ts";
import { vectorOf } from "../../../src/store/postgres/vector.ts";
import { type EntryWrite, isEmpty, type Writes } from "../../../src/store/postgres/writes.ts";
import type { Change, IdempotencyKey, Put, Removal, Remove } from "../../../src/store/store.ts";
import fc from "../../fast-check.ts";
import { Model } from "../exam/model.ts";
import { all, define, found, kinds, put, remove, token } from "../exam/words.ts";

interface CollectionRow {
  readonly key: number;
  readonly name: string;
  readonly revision: number;
  readonly seq: number;
  readonly total: number;
  readonly updated: number;
  readonly definition: string;
  readonly defined: number;
  readonly epoch: number;
  readonly latestEpoch: number;
}

/** One collection has a plan, and the other has none. */
const definitions: Readonly<Record<string, string>> = {
  one: '{"unique":["n","list"],"indexed":["t","updatedAt"],"searchable":["t"],"access":{"read":"owner"}}',
  two: "{}",
};
const definitionOf = (name: string): string => definitions[name] ?? "{}";

type ResourceRow = Writes["resources"][number];

/** The tables as maps. Every statement checks what the real one's keys would. */
class Tables {
  readonly collections = new Map<string, CollectionRow>();
  readonly resources = new Map<string, ResourceRow>();
  readonly storedKeys = new Map<string, StoredKey>();
  readonly removedPositions = new Set<string>();
  readonly entries = new Map<string, EntryWrite>();
  readonly words = new Map<string, string>();
  readonly files = new Set<string>();
  keyClock: KeyClock = { now: 0, seen: 0 };

  /** What a look-up for the changes would find: rows for collections to be founded included. */
  known(changes: readonly Change[]): LoadedBatch {
    for (const change of changes)
      if (change.kind === "create-collection" || change.kind === "define")
        this.#makeRow(change.collection, change.at);
    const collections = [...this.collections.values()].map((row) => {
      return { ...row, plan: indexPlanOf(row.definition) };
    });
    const within = (key: number) => collections.find((each) => each.key === key);
    return {
      collections,
      resources: [...this.resources.values()].filter(isThere).map((row) => {
        const { name = "", plan = emptyIndexPlan } = within(row.collection) ?? {};
        return { ...row, collection: name, fields: hasNoIndexes(plan) ? null : row.fields };
      }),
      removals: [...this.resources.values()]
        .filter((row) => !isThere(row))
        .map(({ collection, id, updatedAt: removedAt }) => {
          return { collection: within(collection)?.name ?? "", id, removedAt };
        }),
      holders: changes.flatMap(putsIn).flatMap(({ collection, id, fields, at }) => {
        const shelf = collections.find(({ name }) => name === collection);
        if (!shelf) return [];
        const resource = { id, revision: 0, createdAt: at, updatedAt: at, fields };
        return claimsOf(shelf.plan, resource).flatMap((claim) =>
          [...this.entries.values()]
            .filter(({ field, key }) => field === claim.field && key === claim.key)
            .map(({ seq }) => ({ ...claim, collection, seq })),
        );
      }),
      tokens: [],
      storedKeys: [...this.storedKeys.values()],
      keyClock: this.keyClock,
    };
  }

  #makeRow(name: string, at: number): void {
    if (this.collections.has(name)) return;
    const key = this.collections.size + 1;
    const counters = { revision: 0, seq: 0, total: 0, updated: at };
    const epochs = { epoch: 0, latestEpoch: 1 };
    this.collections.set(name, { key, name, ...counters, definition: "{}", defined: 0, ...epochs });
  }

  apply(writes: Writes): void {
    for (const name of writes.expiredNames) assert.ok(this.storedKeys.delete(name));
    for (const storedKeys of writes.storedKeys)
      insert(this.storedKeys, storedKeys.name, storedKeys);
    for (const { now, seen } of writes.keyClocks) this.keyClock = { now, seen };
    for (const row of writes.resources)
      this.resources.set(`${row.collection}/${row.id}`, this.#checked(row));
    for (const { collection, position } of writes.removedPositions) {
      const hole = `${collection}/${position}`;
      assert.ok(!this.removedPositions.has(hole), "dug once");
      this.removedPositions.add(hole);
    }
    for (const entry of writes.deletedEntries) assert.ok(this.entries.delete(nameOf(entry)));
    for (const entry of writes.entries) insert(this.entries, nameOf(entry), entry);
    for (const { collection, seq } of writes.deletedWords)
      assert.ok(this.words.delete(`${collection}/${seq}`));
    for (const { collection, seq, vector } of writes.words)
      this.words.set(`${collection}/${seq}`, vector);
    for (const { key } of writes.deletedFiles) assert.ok(this.files.delete(key));
    for (const { key } of writes.files) {
      assert.ok(!this.files.has(key), "named once");
      this.files.add(key);
    }
    for (const { definition, ...row } of writes.collections) this.#move(row, definition);
  }

  /** Neither a seq nor a revision is given twice. */
  #checked(row: ResourceRow): ResourceRow {
    for (const other of this.resources.values())
      if (other.collection === row.collection && other.id !== row.id) {
        assert.notEqual(other.revision, row.revision);
        if (row.seq !== null) assert.notEqual(other.seq, row.seq);
      }
    return row;
  }

  #move(row: Omit<Writes["collections"][number], "definition">, definition: string | null): void {
    const before = [...this.collections.values()].find(({ key }) => key === row.key);
    assert.ok(before && row.revision > before.revision);
    this.collections.set(before.name, {
      ...before,
      ...row,
      definition: definition ?? before.definition,
    });
  }
}

const nameOf = ({ collection, field, key, seq }: EntryWrite): string =>
  JSON.stringify([collection, field, key, seq]);

function putsIn(change: Change): readonly Put[] {
  if (change.kind === "all") return change.changes.flatMap(putsIn);
  return change.kind === "put" ? [change] : [];
}

function insert<T>(table: Map<string, T>, key: string, row: T): void {
  assert.ok(!table.has(key), `${key} is there`);
  table.set(key, row);
}

function assertSame(tables: Tables, model: Model): void {
  assert.deepEqual(tables.files, model.named());
  for (const {
    key,
    name,
    revision,
    seq,
    total,
    updated,
    definition,
  } of tables.collections.values()) {
    const feed = model.since(name, 0, 1_000);
    const slice = model.slice(name, { offset: 0, limit: 1_000, order: "created" });
    assert.ok(feed && slice);
    const { createdAt, ...collection } = feed.collection;
    assert.deepEqual(collection, { name, revision, total, definition, updatedAt: updated });
    const rows = [...tables.resources.values()].filter((row) => row.collection === key);
    const byRevision = rows.toSorted((one, other) => one.revision - other.revision);
    assert.deepEqual(byRevision.map(toEntry), feed.entries);
    const bySeq = rows.filter(isThere).toSorted((one, other) => one.seq - other.seq);
    assert.deepEqual(bySeq.map(toEntry), slice.resources);
    assertBeside(tables, key, definition, bySeq);
    const alive = new Set(bySeq.map((row) => row.seq - 1));
    for (let position = 0; position < seq; position++)
      assert.equal(tables.removedPositions.has(`${key}/${position}`), !alive.has(position));
  }
}

/** The entries and words are those of what is there, no more and no less. */
function assertBeside(
  { entries, words }: Tables,
  collection: number,
  definition: string,
  alive: readonly (ResourceRow & { readonly seq: number })[],
): void {
  const plan = indexPlanOf(definition);
  const resources = alive.map((row) => ({ seq: row.seq, resource: toEntry(row) as Resource }));
  const expected = resources.flatMap(({ seq, resource }) =>
    entriesOf(plan, resource).map((entry) => nameOf({ collection, seq, ...entry })),
  );
  const storedKeys = [...entries.values()].filter((entry) => entry.collection === collection);
  assert.deepEqual(storedKeys.map(nameOf).sort(), expected.sort());
  for (const { seq, resource } of resources) {
    const text = searchTextOf(plan, resource).trim();
    const vector = text === "" ? undefined : vectorOf(collection, text);
    assert.equal(words.get(`${collection}/${seq}`), vector);
  }
  const searched = new Set(resources.map(({ seq }) => `${collection}/${seq}`));
  for (const place of words.keys())
    if (place.startsWith(`${collection}/`)) assert.ok(searched.has(place));
}

const isThere = (row: ResourceRow): row is ResourceRow & { readonly seq: number } =>
  row.seq !== null;

function toEntry(row: ResourceRow): Resource | Removal {
  const { id, revision, createdAt, updatedAt, fields, owner, parts, sharesDate } = rowOf(row);
  if (fields === null) return { kind: "removal", id, revision, removedAt: updatedAt };
  return {
    id,
    revision,
    createdAt,
    updatedAt,
    fields,
    ...(owner !== null && { owner }),
    ...(parts !== null && { parts }),
    ...(sharesDate === 1 && { sharesDate: true as const }),
  };
}

const rowOf = ({ storedSharesDate: sharesDate, ...row }: ResourceRow) => ({ ...row, sharesDate });

const fields = fc.record(
  {
    n: fc.constantFrom(1, 2, 3, null),
    list: fc.array(fc.constantFrom("x", "y", 1), { maxLength: 2 }),
    t: fc.constantFrom("a", "a b", "-"),
  },
  { requiredKeys: [] },
);

const partsOf = (address: string, files: readonly string[]): string =>
  JSON.stringify(files.map((file) => ({ key: `${address}/${file}` })));

const single = fc
  .record({
    isPut: fc.boolean(),
    collection: fc.constantFrom("one", "two"),
    id: fc.constantFrom("a", "b", "c"),
    expect: fc.oneof(fc.constantFrom("anything", "nothing"), fc.integer({ min: 1, max: 12 })),
    at: fc.nat(5_000),
    owner: fc.constantFrom("ann", "bob"),
    files: fc.constantFrom([], [], ["1"], ["2"], ["1", "2"]),
    fields,
  })
  .map(({ isPut, collection, id, expect, at, owner, files, fields }): Put | Remove =>
    isPut
      ? {
          ...put(id, { collection, expect, at, fields: JSON.stringify(fields) }),
          owner,
          ...(files.length > 0 && { parts: partsOf(`${collection}/${id}`, files) }),
        }
      : { ...remove(id, expect === "nothing" ? "anything" : expect, collection), at },
  );

const key = fc
  .record({
    key: fc.constantFrom("k", "l"),
    fingerprint: fc.constantFrom("one", "one", "another"),
    at: fc.constantFrom(1_000, 2_000, 3_000, 4_000, 5_000),
    lasts: fc.constantFrom(1_000, 2_000, 3_000, 4_000, 5_000),
  })
  .map(({ key, fingerprint, at, lasts }): IdempotencyKey => {
    return { owner: "x", key, fingerprint, at, expiresAt: at + lasts };
  });

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 6, arbitrary: single },
  {
    weight: 4,
    arbitrary: fc
      .record({
        changes: fc.array(single, { maxLength: 4 }),
        once: fc.option(key, { nil: undefined }),
      })
      .map(({ changes, once }) => all(changes, once)),
  },
  { weight: 1, arbitrary: fc.constantFrom("one", "two").map((name) => found(name, 7)) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("one", "two").map((name) => define(definitionOf(name), name, 9)),
  },
);

describe("judging a batch", () => {
  it("has the outcomes of the model, and writes what the model holds", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(
        fc.array(fc.array(change, { minLength: 1, maxLength: 8 }), { maxLength: 8 }),
        (batches) => {
          const tables = new Tables();
          const model = new Model();
          const rules = Object.keys(definitions).map((name) => define(definitionOf(name), name));
          for (const changes of [rules, ...batches]) {
            const { outcomes, writes } = applyChanges(changes, tables.known(changes));
            assert.deepEqual(outcomes, model.commit(changes));
            for (const { kind } of outcomes) seen.add(kind);
            tables.apply(writes);
            assertSame(tables, model);
          }
        },
      ),
      { numRuns: 1_000 },
    );
    assert.ok(seen.has("conflict"));
  });

  const collection = {
    key: 1,
    name: "things",
    revision: 9,
    seq: 4,
    total: 3,
    updated: 5,
    defined: 6,
    plan: emptyIndexPlan,
    epoch: 7,
    latestEpoch: 7,
  };
  const known: LoadedBatch = {
    collections: [collection],
    resources: [
      {
        ...{ collection: "things", id: "a", seq: 2, revision: 8, createdAt: 4, updatedAt: 5 },
        ...{ owner: null, parts: null, fields: null },
      },
    ],
    removals: [],
    holders: [],
    tokens: [{ id: "t", hash: "hash of t" }],
    storedKeys: [{ name: '["o","k"]', fingerprint: "f", outcomes: "[]", expiresAt: 100 }],
    keyClock: { now: 99, seen: 99 },
  };

  it("writes nothing when all is refused or was done before", () => {
    const once = { owner: "o", key: "k", fingerprint: "f", at: 99, expiresAt: 200 };
    const { outcomes, writes } = applyChanges(
      [
        put("a", { expect: "nothing" }),
        put("a", { expect: 7 }),
        put("b", { expect: 8 }),
        remove("b"),
        put("a", { collection: "nowhere" }),
        found(),
        all([put("b"), remove("nobody")]),
        all([put("b")], once),
        all([put("b")], { ...once, fingerprint: "another" }),
        { kind: "create-token", token: token("t") },
        { kind: "revoke-token", id: "nobody", at: 1 },
      ],
      known,
    );
    assert.deepEqual(kinds(outcomes), [
      ...["taken", "stale", "missing", "missing", "missing", "done", "none", "all", "reused"],
      ...["taken", "missing"],
    ]);
    assert.ok(isEmpty(writes), JSON.stringify(writes));
  });

  it("writes each row once, however often the batch came by", () => {
    const changes = [put("a"), put("a"), put("b"), remove("b"), put("b"), put("c"), remove("c")];
    const { writes } = applyChanges(changes, known);
    assert.deepEqual(
      writes.resources.map(({ id, seq, revision, createdAt }) => [id, seq, revision, createdAt]),
      [
        ["a", 2, 11, 4],
        ["b", 6, 14, 20],
        ["c", null, 16, 10],
      ],
    );
    assert.deepEqual(writes.removedPositions, [
      { collection: 1, position: 4 },
      { collection: 1, position: 6 },
    ]);
    assert.equal(writes.collections[0]?.total, 4);
  });

  it("tokens are kept once, and what happens to them is written once", () => {
    const { outcomes, writes } = applyChanges(
      [
        { kind: "touch-token", id: "t", at: 30 },
        { kind: "touch-token", id: "t", at: 20 },
        { kind: "revoke-token", id: "t", at: 40 },
        { kind: "revoke-token", id: "t", at: 50 },
        { kind: "create-token", token: token("u") },
        { kind: "create-token", token: token("u", { hash: "other" }) },
        { kind: "create-token", token: token("v", { hash: "hash of u" }) },
        { kind: "touch-token", id: "u", at: 60 },
      ],
      known,
    );
    assert.deepEqual(kinds(outcomes), [
      ...["done", "done", "done", "done", "done", "taken", "taken", "done"],
    ]);
    assert.deepEqual(writes.tokenTimes, [{ id: "t", usedAt: 30, revokedAt: 40 }]);
    assert.deepEqual(writes.tokens, [token("u", { usedAt: 60 })]);
  });
});
