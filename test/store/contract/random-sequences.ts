// Random sequences of changes through two stores, compared with a simple model.

import assert from "node:assert/strict";
import type { IdempotencyKey } from "../../../src/model/idempotency-key.ts";
import type { Order } from "../../../src/model/query/list-request.ts";
import { isRanked, type Query } from "../../../src/model/query/query.ts";
import type { Resource } from "../../../src/model/resource.ts";
import type { Change, Outcome, Put, Remove, Store } from "../../../src/store/store.ts";
import fc from "../../fast-check.ts";
import { isLong, runs } from "../../seeds.ts";
import { all, create, define, feedSince, put, remove } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { answerTo, ask, idsByPosition, idsIn } from "./query-helpers.ts";
import { randomQuery } from "./random-query.ts";
import { ReferenceModel } from "./reference-model.ts";

const names = ["one", "two", "three"] as const;
const ids = ["a", "b", "c", "d", "e"] as const;

const single = fc.record({
  action: fc.constantFrom("put", "put", "create", "replace", "remove", "remove-exactly"),
  name: fc.constantFrom(...names),
  id: fc.constantFrom(...ids),
  /** How a revision is guessed: the one known, one too few, or one that the batch may come to. */
  guess: fc.constantFrom(0, 0, 0, -1, 1, 2),
  at: fc.nat(5_000),
  owner: fc.constantFrom(undefined, undefined, "ann", "bob"),
  setOwner: fc.constantFrom(undefined, undefined, undefined, "ann", null),
  files: fc.constantFrom<readonly string[]>([], [], ["1"], ["2"], ["1", "2"]),
  fields: fc.record(
    {
      n: fc.constantFrom(-1, 0, 7, 7.5, 1e300, null),
      t: fc.constantFrom("x", "x y", "Y z", "é", "𝄞 x"),
      list: fc.array(fc.constantFrom(1, 2, "x", true), { maxLength: 3 }),
    },
    { requiredKeys: [] },
  ),
});

const schema = { properties: { n: { type: "number" }, t: { type: "string" } } };
const definitions = [
  {},
  { indexed: ["n"] },
  { indexed: ["n", "t", "list"], schema },
  { unique: ["n"], schema },
  { indexed: [["t", "-n"], "n", ["-updatedAt", "n", "id"]], schema },
  { unique: [["n", "t"]], indexed: [["t", "n"]], schema },
  { unique: ["list"], indexed: ["t"], searchable: ["t"] },
  { searchable: ["t", "list"], access: { read: "owner" }, indexed: ["n"], schema },
];

const key = fc.record({
  key: fc.constantFrom("k", "k", "K"),
  owner: fc.constantFrom("x", "x", "y"),
  fingerprint: fc.constantFrom("one", "one", "another"),
  lasts: fc.constantFrom(1, 2, 50),
});

const step = fc.oneof(
  { weight: 9, arbitrary: fc.record({ kind: fc.constant("single"), single }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("unit"),
      singles: fc.array(single, { maxLength: 4 }),
      key: fc.option(key, { nil: undefined }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("create-collection", "drop", "drop-empty"),
      name: fc.constantFrom(...names),
      at: fc.nat(5_000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("define"),
      name: fc.constantFrom(...names),
      at: fc.nat(5_000),
      definition: fc.constantFrom(...definitions),
    }),
  },
);

const look = fc.record({
  query: randomQuery,
  range: fc.record({
    offset: fc.nat(5),
    limit: fc.integer({ min: 1, max: 6 }),
    order: fc.constantFrom<Order>("created", "-created"),
  }),
  behind: fc.integer({ min: -1, max: 25 }),
  limit: fc.integer({ min: 1, max: 8 }),
  id: fc.constantFrom(...ids),
});

export const batch = fc.record({
  through: fc.nat(1),
  steps: fc.array(step, { minLength: 1, maxLength: 6 }),
  look,
});

type Single = typeof single extends fc.Arbitrary<infer T> ? T : never;
type Key = typeof key extends fc.Arbitrary<infer T> ? T : never;
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Look = typeof look extends fc.Arbitrary<infer T> ? T : never;

/** One sequence on collections and keys of its own. */
export class Sequence {
  readonly model = new ReferenceModel();
  readonly #number: number;
  /** The collections for which a key was used. */
  readonly #keyed = new Set<string>();
  #clock: number;

  constructor(number: number) {
    this.#number = number;
    // After the time of all earlier runs, because a store has one clock for its keys.
    this.#clock = 10_000 * (number + 1);
  }

  collection(name: string): string {
    return `${name}-${this.#number}`;
  }

  changes(steps: readonly Step[]): readonly Change[] {
    this.#clock++;
    return steps.map((step) => this.#change(step));
  }

  #change(step: Step): Change {
    switch (step.kind) {
      case "single":
        return this.#single(step.single);
      case "unit": {
        const [first] = step.singles;
        if (!step.key || !first) return all(step.singles.map((each) => this.#single(each)));
        // A key belongs to one collection.
        const changes = step.singles.map((each) => this.#single({ ...each, name: first.name }));
        this.#keyed.add(first.name);
        return all(changes, this.#once(step.key, first.name));
      }
      case "create-collection":
        return create(this.collection(step.name), step.at);
      case "define": {
        const definition = JSON.stringify({ clock: this.#clock, ...step.definition });
        return define(definition, this.collection(step.name), step.at);
      }
      case "drop":
      case "drop-empty": {
        // Keys are deleted with their collection; once.ts tests that.
        if (this.#keyed.has(step.name)) return create(this.collection(step.name), step.at);
        const isEmptyOnly = step.kind === "drop-empty";
        return { kind: "drop", collection: this.collection(step.name), isEmptyOnly };
      }
    }
  }

  #once({ key, owner, fingerprint, lasts }: Key, name: string): IdempotencyKey {
    const at = this.#clock;
    const named = `${key} ${name}`;
    return {
      owner: `${owner} ${this.#number}`,
      key: named,
      fingerprint,
      at,
      expiresAt: at + lasts,
    };
  }

  #single({
    action,
    name,
    id,
    guess,
    at,
    owner,
    setOwner,
    files,
    fields: more,
  }: Single): Put | Remove {
    const collection = this.collection(name);
    const known = this.model.find(collection, id)?.revision;
    const last = this.model.collection(collection)?.revision ?? 1;
    const revision = (guess <= 0 ? (known ?? last) : last) + guess;
    if (action === "remove") return { ...remove(id, "anything", collection), at };
    if (action === "remove-exactly") return { ...remove(id, revision, collection), at };
    const expect = { put: "anything", create: "nothing", replace: revision } as const;
    const fields = JSON.stringify({ clock: this.#clock, ...more });
    const change = put(id, { collection, expect: expect[action], fields, at });
    const keys = files.map((file) => ({ key: fileKey(collection, id, file) }));
    return {
      ...change,
      ...(owner !== undefined && { owner }),
      ...(setOwner !== undefined && { setOwner }),
      ...(keys.length > 0 && { files: JSON.stringify(keys) }),
    };
  }

  async assertSameIn(store: Store, { range, behind, limit, id, query }: Look): Promise<void> {
    const { model } = this;
    const reads = names.map(async (name) => {
      const collection = this.collection(name);
      const known = model.collection(collection);
      const revision = Math.max(0, (known?.revision ?? 0) - Math.max(0, behind));
      const [now, resource, slice, feed] = await Promise.all([
        store.collection(collection),
        store.find(collection, id),
        store.slice(collection, range),
        feedSince(store, revision, limit, collection),
        known && this.#assertSameFor(store, collection, query),
      ]);
      assertSame(now, known);
      const whole = { offset: 0, limit: 100_000, order: "created" } as const;
      const texts = model.slice(collection, whole)?.resources.map(({ fields }) => fields) ?? [];
      assert.equal(now?.bytes ?? 0, Buffer.byteLength(texts.join("")));
      assert.deepEqual(resource, model.find(collection, id));
      assertSame(slice, model.slice(collection, range));
      assertSame(feed, model.since(collection, revision, limit));
    });
    const [files] = await Promise.all([store.findReferencedFiles(this.#everyKey()), ...reads]);
    assert.deepEqual(files, model.named());
  }

  /** Of all files that a change may bring. */
  #everyKey(): readonly string[] {
    return names.flatMap((name) =>
      ids.flatMap((id) => ["1", "2"].map((file) => fileKey(this.collection(name), id, file))),
    );
  }

  async #assertSameFor(store: Store, collection: string, query: Query): Promise<void> {
    const whole = { ...query, limit: 1_000 };
    const page = { ...query, start: 1 };
    const [{ resources, total }, { resources: some }] = await Promise.all([
      answerTo(store, whole, collection),
      answerTo(store, page, collection),
    ]);
    const expected = this.model.query(collection, whole);
    assert.equal(total, expected?.total);
    if (isRanked(query)) {
      assert.deepEqual(sortedById(resources), sortedById(expected?.resources ?? []));
    } else {
      assert.deepEqual(resources, expected?.resources);
      assert.deepEqual(await idsByPosition(store, query, collection), idsIn(resources));
    }
    assert.deepEqual(some, resources.slice(1, 1 + query.limit));
  }

  drops(): readonly Change[] {
    return this.model
      .collections()
      .map(({ name }) => ({ kind: "drop", collection: name, isEmptyOnly: false }));
  }

  async assertListedBy(store: Store): Promise<void> {
    const ours = new Set(names.map((name) => this.collection(name)));
    const listed = (await store.collections()).filter(({ name }) => ours.has(name));
    assertSame(listed, this.model.collections());
  }
}

const fileKey = (collection: string, id: string, file: string): string =>
  `${collection}/${id}/${file}`;

const sortedById = (resources: readonly Resource[]): readonly Resource[] =>
  resources.toSorted((one, other) => (one.id < other.id ? -1 : 1));

const everything: Look = {
  query: ask({ limit: 2 }),
  range: { offset: 0, limit: 100, order: "created" },
  behind: 1_000,
  limit: 1_000,
  id: "a",
};

/** How many of the last sequences are also compared when the store was opened again. */
const lastCount = 5;

export function randomSequences(contractTest: ContractTest): void {
  contractTest(
    "of all kinds of changes have the outcomes of a simple model",
    async (engine) => {
      const stores = [engine.store, await engine.second()] as const;
      const last: Sequence[] = [];
      let count = 0;
      const seen = new Set<string>();
      await fc.assert(
        fc.asyncProperty(fc.array(batch, { minLength: 1, maxLength: 8 }), async (batches) => {
          const sequence = new Sequence(count++);
          last.push(sequence);
          // A store with few collections answers faster.
          if (last.length > lastCount) await engine.store.commit(last.shift()?.drops() ?? []);
          // One of them has a rule from the start that changes are bound to break now and then.
          const rule = define('{"unique":["n"]}', sequence.collection("one"), 1);
          const founding = [rule, create(sequence.collection("two"))];
          sequence.model.commit(founding);
          await engine.store.commit(founding);
          for (const { through, steps, look } of batches) {
            const changes = sequence.changes(steps);
            const outcomes = await stores[through === 0 ? 0 : 1].commit(changes);
            assert.deepEqual(outcomes.map(withoutClashes), sequence.model.commit(changes));
            for (const name of outcomes.flatMap(namesOf)) seen.add(name);
            await Promise.all(stores.map((store) => sequence.assertSameIn(store, look)));
          }
          await sequence.assertListedBy(engine.store);
        }),
        { numRuns: runs(2, 300) },
      );
      const unseen = everyOutcome.filter((kind) => !seen.has(kind));
      if (isLong) assert.deepEqual(unseen, []);
      const reopened = await engine.reopen();
      for (const sequence of last) await sequence.assertSameIn(reopened, everything);
    },
    { isNew: true },
  );
}

/** Of the outcome, and of those within it. */
function namesOf(outcome: Outcome): readonly string[] {
  if (outcome.kind === "none") return ["none", ...namesOf(outcome.outcome)];
  if (outcome.kind !== "all") return [outcome.kind];
  return [outcome.isReplay ? "replay" : "all", ...outcome.outcomes.flatMap(namesOf)];
}

/** So that sequences which never come to one of them are noticed. The rarest is in 4 of 100, so that a few may miss it. */
const everyOutcome = [
  "all",
  "conflict",
  "created",
  "done",
  "missing",
  "none",
  "removed",
  "replaced",
  "replay",
  "reused",
  "stale",
  "taken",
];

/** The epoch of a feed, and whether a list's date is shared, depend on batches: the model has none. */
/** The model does not look for the resources with the same values. */
function withoutClashes(outcome: Outcome): Outcome {
  if (outcome.kind !== "conflict") return outcome;
  const { kind, field } = outcome;
  return { kind, field };
}

function assertSame(actual: unknown, expected: unknown): void {
  const plain = (value: unknown): unknown =>
    JSON.parse(
      JSON.stringify(value ?? null, (key, member) => {
        if (key === "epoch" || key === "clashes") return undefined;
        const isCollection = typeof member === "object" && member !== null && "total" in member;
        return isCollection ? { ...member, sharesDate: undefined, bytes: undefined } : member;
      }),
    );
  assert.deepEqual(plain(actual), plain(expected));
}
