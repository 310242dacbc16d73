// The exam of the store contract: what every engine must pass.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Order } from "../../src/model/page.ts";
import type { Resource } from "../../src/model/resource.ts";
import type { Token } from "../../src/model/token.ts";
import {
  type Change,
  type Expectation,
  Outage,
  type Outcome,
  type Store,
} from "../../src/store/store.ts";

/** An engine with fresh data, and other ways to the same data. */
export interface Candidate {
  readonly store: Store;
  /** Closes the store and opens it again. */
  reopen(): Promise<Store>;
  /** Another store on the same data, as another process would have it. */
  second(): Promise<Store>;
  /** Closes all that was opened and removes the data. */
  destroy(): Promise<void>;
}

const found = (collection = "things", at = 1): Change => ({ kind: "found", collection, at });

const put = (
  id: string,
  {
    expect = "anything",
    fields = `{"of":"${id}"}`,
    at = 10,
    collection = "things",
  }: PutOptions = {},
): Change => ({ kind: "put", collection, id, fields, at, expect });

interface PutOptions {
  readonly expect?: Expectation;
  readonly fields?: string;
  readonly at?: number;
  readonly collection?: string;
}

const remove = (
  id: string,
  expect: Exclude<Expectation, "nothing"> = "anything",
  collection = "things",
): Change => ({ kind: "remove", collection, id, at: 20, expect });

const kinds = (outcomes: readonly Outcome[]): readonly string[] => outcomes.map(({ kind }) => kind);

/** The resource that the outcome tells of. */
function written(outcome: Outcome | undefined): Resource {
  assert.ok(outcome?.kind === "created" || outcome?.kind === "replaced", `not ${outcome?.kind}`);
  return outcome.resource;
}

function revisionOf(outcome: Outcome | undefined): number {
  return outcome?.kind === "removed" ? outcome.revision : written(outcome).revision;
}

const idsFrom = (count: number, prefix = "id"): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

async function idsOf(store: Store, offset = 0, limit = 100_000, order: Order = "created") {
  const slice = await store.slice("things", { offset, limit, order });
  return slice?.resources.map(({ id }) => id);
}

async function totalOf(store: Store): Promise<number | undefined> {
  return (await store.collection("things"))?.total;
}

const token = (id: string, more: Partial<Token> = {}): Token => ({
  id,
  hash: `hash of ${id}`,
  name: `name of ${id}`,
  scopes: ["admin", "things:read"],
  createdAt: 5,
  expiresAt: null,
  usedAt: null,
  revokedAt: null,
  ...more,
});

export function exam(name: string, open: () => Promise<Candidate>): void {
  /** A test on fresh data. */
  function question(text: string, answer: (candidate: Candidate) => Promise<void>): void {
    it(text, async () => {
      const candidate = await open();
      try {
        await answer(candidate);
      } finally {
        await candidate.destroy();
      }
    });
  }

  describe(`${name}: collections`, () => {
    question(
      "an unknown collection is nowhere, and nothing can be put into it",
      async ({ store }) => {
        const outcomes = await store.commit([
          put("a"),
          put("a", { expect: "nothing" }),
          put("a", { expect: 1 }),
          remove("a"),
        ]);
        assert.deepEqual(kinds(outcomes), ["missing", "missing", "missing", "missing"]);
        assert.equal(await store.collection("things"), undefined);
        assert.equal(await store.find("things", "a"), undefined);
        assert.equal(
          await store.slice("things", { offset: 0, limit: 1, order: "created" }),
          undefined,
        );
        assert.deepEqual(await store.collections(), []);
      },
    );

    question("a collection is founded once; again does nothing", async ({ store }) => {
      assert.deepEqual(kinds(await store.commit([found("things", 7)])), ["done"]);
      const before = await store.collection("things");
      assert.ok(before);
      assert.deepEqual(
        { ...before, revision: 0 },
        { name: "things", revision: 0, total: 0, createdAt: 7, updatedAt: 7 },
      );
      assert.deepEqual(kinds(await store.commit([found("things", 9)])), ["done"]);
      assert.deepEqual(await store.collection("things"), before);
    });

    question(
      "all collections are listed by name, each with its own counters",
      async ({ store }) => {
        await store.commit([found("b"), found("a"), put("x", { collection: "b", at: 30 })]);
        const all = await store.collections();
        assert.deepEqual(
          all.map(({ name, total, updatedAt }) => [name, total, updatedAt]),
          [
            ["a", 0, 1],
            ["b", 1, 30],
          ],
        );
        assert.deepEqual(all[1], await store.collection("b"));
      },
    );

    question("each write moves the revision, the total and the time", async ({ store }) => {
      await store.commit([found()]);
      let before = await store.collection("things");
      for (const [change, total, updatedAt] of [
        [put("a", { at: 10 }), 1, 10],
        [put("a", { at: 11 }), 1, 11],
        [remove("a"), 0, 20],
      ] as const) {
        const [outcome] = await store.commit([change]);
        const after = await store.collection("things");
        assert.ok(before && after && after.revision > before.revision);
        assert.equal(after.revision, revisionOf(outcome));
        assert.deepEqual([after.total, after.updatedAt], [total, updatedAt]);
        before = after;
      }
    });

    question("a clock set back does not make a collection older", async ({ store }) => {
      await store.commit([found(), put("a", { at: 100 }), put("b", { at: 50 })]);
      assert.equal((await store.collection("things"))?.updatedAt, 100);
      assert.equal((await store.find("things", "b"))?.updatedAt, 50);
    });
  });

  describe(`${name}: changes`, () => {
    const expectations = [
      { kind: "put", there: false, expect: "anything", outcome: "created" },
      { kind: "put", there: false, expect: "nothing", outcome: "created" },
      { kind: "put", there: false, expect: "a revision", outcome: "missing" },
      { kind: "put", there: true, expect: "anything", outcome: "replaced" },
      { kind: "put", there: true, expect: "nothing", outcome: "taken" },
      { kind: "put", there: true, expect: "its revision", outcome: "replaced" },
      { kind: "put", there: true, expect: "an older revision", outcome: "stale" },
      { kind: "put", there: true, expect: "a later revision", outcome: "stale" },
      { kind: "remove", there: false, expect: "anything", outcome: "missing" },
      { kind: "remove", there: false, expect: "a revision", outcome: "missing" },
      { kind: "remove", there: true, expect: "anything", outcome: "removed" },
      { kind: "remove", there: true, expect: "its revision", outcome: "removed" },
      { kind: "remove", there: true, expect: "an older revision", outcome: "stale" },
      { kind: "remove", there: true, expect: "a later revision", outcome: "stale" },
    ] as const;

    for (const { kind, there, expect, outcome } of expectations)
      question(
        `${kind} where ${there ? "something" : "nothing"} is, expecting ${expect}: ${outcome}`,
        async ({ store }) => {
          await store.commit([found(), put("other"), ...(there ? [put("a"), put("a")] : [])]);
          const before = await store.find("things", "a");
          const collectionBefore = await store.collection("things");
          const revision = before?.revision ?? 1;
          const wanted = {
            anything: "anything",
            nothing: "nothing",
            "a revision": revision,
            "its revision": revision,
            "an older revision": revision - 1,
            "a later revision": revision + 1,
          } as const;
          const expected = wanted[expect];
          const change =
            kind === "put"
              ? put("a", { expect: expected, fields: '{"new":1}', at: 99 })
              : remove("a", expected === "nothing" ? "anything" : expected);
          const [result] = await store.commit([change]);
          assert.equal(result?.kind, outcome);
          const after = await store.find("things", "a");
          if (outcome === "created" || outcome === "replaced") {
            assert.deepEqual(after, written(result));
            assert.deepEqual([after?.fields, after?.updatedAt], ['{"new":1}', 99]);
            assert.equal(after?.createdAt, outcome === "created" ? 99 : before?.createdAt);
          } else if (outcome === "removed") {
            assert.equal(after, undefined);
          } else {
            // A refused change leaves no trace.
            assert.deepEqual(after, before);
            assert.deepEqual(await store.collection("things"), collectionBefore);
          }
        },
      );

    question("a batch is judged one by one, in order", async ({ store }) => {
      const outcomes = await store.commit([
        found(),
        put("a", { expect: "nothing" }),
        put("a", { expect: "nothing" }),
        put("a"),
        put("b", { expect: 1_000 }),
        remove("a"),
        remove("a"),
        put("a", { expect: "nothing", at: 77 }),
        put("c", { collection: "unknown" }),
      ]);
      assert.deepEqual(kinds(outcomes), [
        "done",
        "created",
        "taken",
        "replaced",
        "missing",
        "removed",
        "missing",
        "created",
        "missing",
      ]);
      assert.equal((await store.find("things", "a"))?.createdAt, 77);
      assert.equal(await totalOf(store), 1);
    });

    question("one batch may touch several collections", async ({ store }) => {
      const [, , one, two] = await store.commit([
        found("one"),
        found("two"),
        put("a", { collection: "one", fields: '{"in":1}' }),
        put("a", { collection: "two", fields: '{"in":2}' }),
      ]);
      assert.deepEqual(await store.find("one", "a"), written(one));
      assert.deepEqual(await store.find("two", "a"), written(two));
    });

    question("no changes, no outcomes", async ({ store }) => {
      assert.deepEqual(await store.commit([]), []);
    });

    question("what is put comes back as it was", async ({ store }) => {
      const texts = [
        "{}",
        '{"a":1.10,"b":12345678901234567890,"c":1e400}',
        '{"é":"\\u0000 ☃ 𝄞 \'\\" \\\\"}',
        `{"long":"${"x".repeat(1_000_000)}"}`,
      ];
      await store.commit([
        found(),
        ...texts.map((fields, index) => put(`id-${index}`, { fields })),
      ]);
      for (const [index, fields] of texts.entries())
        assert.equal((await store.find("things", `id-${index}`))?.fields, fields);
    });

    question("ids are told apart by case, and are never patterns", async ({ store }) => {
      await store.commit([found(), put("a"), put("A"), put("a~b"), put("a.b"), put("a-b")]);
      assert.equal(await totalOf(store), 5);
      assert.equal((await store.find("things", "A"))?.fields, '{"of":"A"}');
      assert.equal(await store.find("things", "a_b"), undefined);
      assert.equal(await store.find("things", "a%"), undefined);
    });

    question("revisions only go up and are never used again", async (candidate) => {
      const { store } = candidate;
      const outcomes = await store.commit([
        found(),
        put("a"),
        put("b"),
        put("a"),
        remove("b"),
        put("b"),
        remove("b"),
      ]);
      // The newest state is gone, and so may be every trace of its revision.
      const again = await (await candidate.reopen()).commit([put("b"), remove("b"), put("c")]);
      const revisions = [...outcomes.slice(1), ...again].map(revisionOf);
      assert.deepEqual(
        revisions,
        [...new Set(revisions)].sort((one, other) => one - other),
      );
    });
  });

  describe(`${name}: slices`, () => {
    question(
      "in the order of creation, or newest first; past the end is empty",
      async ({ store }) => {
        await store.commit([found(), put("c"), put("a"), put("b"), put("c", { at: 99 })]);
        assert.deepEqual(await idsOf(store), ["c", "a", "b"]);
        assert.deepEqual(await idsOf(store, 1, 1), ["a"]);
        assert.deepEqual(await idsOf(store, 2, 5), ["b"]);
        assert.deepEqual(await idsOf(store, 0, 2, "-created"), ["b", "a"]);
        assert.deepEqual(await idsOf(store, 2, 2, "-created"), ["c"]);
        for (const order of ["created", "-created"] as const)
          for (const offset of [3, 4, 1_000_000_000])
            assert.deepEqual(await idsOf(store, offset, 5, order), []);
      },
    );

    question("hold whole resources, and the collection of the same moment", async ({ store }) => {
      await store.commit([found(), put("a"), put("b"), put("a", { fields: '{"new":1}', at: 50 })]);
      const slice = await store.slice("things", { offset: 0, limit: 10, order: "created" });
      assert.deepEqual(slice?.collection, await store.collection("things"));
      assert.deepEqual(slice?.resources, [
        await store.find("things", "a"),
        await store.find("things", "b"),
      ]);
    });

    question("what is removed and put again stands at the end", async ({ store }) => {
      await store.commit([found(), put("a"), put("b"), remove("a"), put("a")]);
      assert.deepEqual(await idsOf(store), ["b", "a"]);
    });

    question("are exact at any depth, whatever was removed before", async ({ store }) => {
      const ids = idsFrom(20_000);
      await store.commit([found(), ...ids.map((id) => put(id, { fields: "{}" }))]);
      const gone = new Set<number>();
      const dig = async (isGone: (index: number) => boolean) => {
        const victims = ids.flatMap((id, index) => {
          if (gone.has(index) || !isGone(index)) return [];
          gone.add(index);
          return [remove(id)];
        });
        await store.commit(victims);
        const alive = ids.filter((_, index) => !gone.has(index));
        const newestFirst = alive.toReversed();
        assert.equal(await totalOf(store), alive.length);
        for (const share of [0, 0.003, 0.01, 0.3, 0.5, 0.94, 0.999, 1]) {
          const offset = Math.floor(share * (alive.length - 1));
          const end = offset + 7;
          assert.deepEqual(await idsOf(store, offset, 7), alive.slice(offset, end));
          assert.deepEqual(
            await idsOf(store, offset, 7, "-created"),
            newestFirst.slice(offset, end),
          );
        }
      };
      await dig(() => false);
      await dig((index) => index < 1_000);
      await dig((index) => index >= 19_990);
      await dig((index) => (index * 2_654_435_761) % 3 === 0);
      await dig((index) => index >= 256 * 20 && index < 256 * 60);
      await dig((index) => index % 1_000 !== 0);
      await store.commit([put("last")]);
      assert.deepEqual(await idsOf(store, 0, 1, "-created"), ["last"]);
    });

    question("agree with a simple model under random changes", async ({ store }) => {
      let round = 0;
      const someIds = idsFrom(9);
      const step = fc.record({
        id: fc.constantFrom(...someIds),
        deed: fc.constantFrom("put", "put", "create", "replace", "remove", "remove-exactly"),
        lag: fc.constantFrom(0, 0, 0, 1),
      });
      const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { maxLength: 6 });
      const window = fc.record({
        offset: fc.nat(10),
        limit: fc.integer({ min: 1, max: 10 }),
        order: fc.constantFrom<Order>("created", "-created"),
      });
      await fc.assert(
        fc.asyncProperty(batches, window, async (steps, range) => {
          const collection = `round-${round++}`;
          await store.commit([found(collection)]);
          const model = new Map<string, Resource>();
          for (const batch of steps) {
            const changes = batch.map(({ id, deed, lag }): Change => {
              const revision = (model.get(id)?.revision ?? 1) - lag;
              if (deed === "remove") return remove(id, "anything", collection);
              if (deed === "remove-exactly") return remove(id, revision, collection);
              const expect = { put: "anything", create: "nothing", replace: revision } as const;
              return put(id, { collection, expect: expect[deed], fields: `{"n":${round}}` });
            });
            const outcomes = await store.commit(changes);
            for (const [index, change] of changes.entries())
              assertModelled(model, change, outcomes[index]);
          }
          const all = [...model.values()];
          const ordered = range.order === "created" ? all : all.toReversed();
          const slice = await store.slice(collection, range);
          assert.equal(slice?.collection.total, all.length);
          assert.deepEqual(
            slice?.resources,
            ordered.slice(range.offset, range.offset + range.limit),
          );
          for (const id of someIds)
            assert.deepEqual(await store.find(collection, id), model.get(id));
        }),
        { numRuns: 40 },
      );
    });
  });

  describe(`${name}: tokens`, () => {
    question("are kept, found by their hash and listed in order", async ({ store }) => {
      const late = token("a", { createdAt: 9, expiresAt: 12, usedAt: 13, revokedAt: 14 });
      const early = token("b", { scopes: [] });
      assert.deepEqual(
        kinds(
          await store.commit([
            { kind: "keep-token", token: late },
            { kind: "keep-token", token: early },
          ]),
        ),
        ["done", "done"],
      );
      assert.deepEqual(await store.token("hash of a"), late);
      assert.deepEqual(await store.token("hash of b"), early);
      assert.equal(await store.token("hash of c"), undefined);
      assert.deepEqual(await store.tokens(), [early, late]);
    });

    question("neither an id nor a hash is given twice", async ({ store }) => {
      const outcomes = await store.commit([
        { kind: "keep-token", token: token("a") },
        { kind: "keep-token", token: token("a", { hash: "another" }) },
        { kind: "keep-token", token: token("b", { hash: "hash of a" }) },
      ]);
      assert.deepEqual(kinds(outcomes), ["done", "taken", "taken"]);
      assert.deepEqual(await store.tokens(), [token("a")]);
    });

    question("are revoked once and touched at the latest time", async ({ store }) => {
      await store.commit([{ kind: "keep-token", token: token("a") }]);
      assert.equal((await store.token("hash of a"))?.revokedAt, null);
      const outcomes = await store.commit([
        { kind: "touch-token", id: "a", at: 30 },
        { kind: "touch-token", id: "a", at: 20 },
        { kind: "revoke-token", id: "a", at: 40 },
        { kind: "revoke-token", id: "a", at: 50 },
        { kind: "revoke-token", id: "nobody", at: 50 },
        { kind: "touch-token", id: "nobody", at: 50 },
      ]);
      assert.deepEqual(kinds(outcomes), ["done", "done", "done", "done", "missing", "missing"]);
      assert.deepEqual(await store.token("hash of a"), token("a", { usedAt: 30, revokedAt: 40 }));
    });
  });

  describe(`${name}: what is read is never old`, () => {
    question("a resource that was handed out never changes under the reader", async ({ store }) => {
      await store.commit([found(), put("a", { fields: '{"n":1}' })]);
      const first = await store.find("things", "a");
      const copy = { ...first };
      await store.commit([put("a", { fields: '{"n":2}' })]);
      const second = await store.find("things", "a");
      assert.notEqual(second, first);
      assert.equal(second?.fields, '{"n":2}');
      assert.deepEqual(first, copy);
      await store.commit([remove("a")]);
      assert.equal(await store.find("things", "a"), undefined);
      await store.commit([put("a", { fields: '{"n":2}' })]);
      assert.ok(((await store.find("things", "a"))?.revision ?? 0) > (second?.revision ?? 0));
    });

    question("what one store commits the other sees at once", async (candidate) => {
      const { store: one } = candidate;
      const other = await candidate.second();
      await one.commit([found(), { kind: "keep-token", token: token("t") }]);
      assert.ok(await other.collection("things"));
      assert.deepEqual(await other.token("hash of t"), token("t"));
      let round = 0;
      const write = fc.record({
        through: fc.constantFrom(one, other),
        id: fc.constantFrom("a", "b", "c"),
        isPut: fc.boolean(),
      });
      await fc.assert(
        fc.asyncProperty(write, async ({ through, id, isPut }) => {
          round++;
          const change = isPut ? put(id, { fields: `{"round":${round}}` }) : remove(id);
          const [outcome] = await through.commit([
            change,
            { kind: "touch-token", id: "t", at: round },
          ]);
          const expected = isPut ? written(outcome) : undefined;
          for (const store of [one, other]) {
            assert.deepEqual(await store.find("things", id), expected);
            assert.equal((await store.token("hash of t"))?.usedAt, round);
          }
          assert.deepEqual(await one.collection("things"), await other.collection("things"));
          assert.deepEqual(await idsOf(one), await idsOf(other));
        }),
        { numRuns: 40 },
      );
      await one.commit([{ kind: "revoke-token", id: "t", at: 9 }]);
      assert.equal((await other.token("hash of t"))?.revokedAt, 9);
    });
  });

  describe(`${name}: many at once`, () => {
    question("two stores never give a revision or a place twice", async (candidate) => {
      const stores = [candidate.store, await candidate.second()];
      await candidate.store.commit([found()]);
      const writes = stores.flatMap((store, writer) =>
        idsFrom(60, `by-${writer}`).map(async (id) => {
          const [created, replaced] = await store.commit([put(id), put(id)]);
          return [written(created), written(replaced)] as const;
        }),
      );
      const pairs = await Promise.all(writes);
      const revisions = pairs.flat().map(({ revision }) => revision);
      assert.equal(new Set(revisions).size, 240);
      // In the order of creation: by the revision at which each came into being.
      const inOrder = pairs
        .toSorted(([one], [other]) => one.revision - other.revision)
        .map(([{ id }]) => id);
      for (const store of stores) {
        assert.equal(await totalOf(store), 120);
        assert.deepEqual(await idsOf(store), inOrder);
      }
    });

    question("of many who expect the same state, one wins", async (candidate) => {
      const stores = [candidate.store, await candidate.second()];
      const [, first] = await candidate.store.commit([found(), put("a")]);
      const { revision } = written(first);
      const rivals = idsFrom(40).map(async (_, index) => {
        const fields = `{"by":${index}}`;
        const [outcome] = (await stores[index % 2]?.commit([
          put("a", { expect: revision, fields }),
        ])) ?? [undefined];
        return { outcome, fields };
      });
      const results = await Promise.all(rivals);
      const [winner, ...more] = results.filter(({ outcome }) => outcome?.kind === "replaced");
      assert.deepEqual(more, []);
      assert.equal(results.filter(({ outcome }) => outcome?.kind === "stale").length, 39);
      assert.equal((await candidate.store.find("things", "a"))?.fields, winner?.fields);
    });

    question("of many who create the same, one does", async (candidate) => {
      const stores = [candidate.store, await candidate.second()];
      const rivals = idsFrom(40).map((_, index) =>
        stores[index % 2]?.commit([found(), put("a", { expect: "nothing" })]),
      );
      const outcomes = (await Promise.all(rivals)).map((batch) => batch?.[1]?.kind);
      assert.equal(outcomes.filter((kind) => kind === "created").length, 1);
      assert.equal(outcomes.filter((kind) => kind === "taken").length, 39);
      assert.equal((await candidate.store.collections()).length, 1);
    });

    question("reads between writes are of one moment", async (candidate) => {
      const { store } = candidate;
      const reader = await candidate.second();
      await store.commit([found()]);
      let isWriting = true;
      const writing = (async () => {
        for (let round = 0; round < 40; round++)
          await store.commit([put(`a-${round}`), put(`b-${round}`), remove(`a-${round - 1}`)]);
        isWriting = false;
      })();
      let looks = 0;
      while (isWriting) {
        const slice = await reader.slice("things", { offset: 0, limit: 100, order: "created" });
        assert.equal(slice?.resources.length, slice?.collection.total);
        const newest = Math.max(0, ...(slice?.resources.map(({ revision }) => revision) ?? []));
        assert.ok(newest <= (slice?.collection.revision ?? 0));
        looks++;
        await new Promise((resolve) => setImmediate(resolve));
      }
      await writing;
      assert.ok(looks > 0);
      assert.equal(await totalOf(reader), 41);
    });
  });

  describe(`${name}: opening and closing`, () => {
    question("all is there after opening again", async (candidate) => {
      await candidate.store.commit([
        found(),
        ...idsFrom(300).map((id) => put(id)),
        ...idsFrom(280).map((id) => remove(id)),
        { kind: "keep-token", token: token("t") },
      ]);
      const look = async (store: Store) => ({
        collections: await store.collections(),
        slice: await store.slice("things", { offset: 3, limit: 10, order: "-created" }),
        one: await store.find("things", "id-299"),
        none: await store.find("things", "id-0"),
        tokens: await store.tokens(),
      });
      const before = await look(candidate.store);
      assert.equal(before.slice?.resources.length, 10);
      assert.deepEqual(await look(await candidate.reopen()), before);
    });

    question("it is ready, and closing waits for what is under way", async (candidate) => {
      const { store } = candidate;
      assert.equal(await store.ready(), undefined);
      await store.commit([found()]);
      const underWay = idsFrom(30).map((id) => store.commit([put(id)]));
      await store.close();
      const outcomes = (await Promise.all(underWay)).flat();
      assert.deepEqual(new Set(kinds(outcomes)), new Set(["created"]));
      assert.equal(await totalOf(await candidate.second()), 30);
    });

    question("a closed store takes nothing more, and may be closed again", async ({ store }) => {
      await store.close();
      await assert.rejects(
        store.commit([found()]),
        (error) => error instanceof Outage && error.reason === "unavailable",
      );
      assert.notEqual(await store.ready(), undefined);
      await store.close();
    });
  });
}

/** Checks the outcome against the model, and brings the model up to date. */
function assertModelled(
  model: Map<string, Resource>,
  change: Change,
  outcome: Outcome | undefined,
): void {
  if (change.kind !== "put" && change.kind !== "remove") return;
  const { id, expect, at } = change;
  const state = model.get(id);
  if (outcome?.kind === "removed") {
    assert.ok(change.kind === "remove" && state);
    assert.ok(expect === "anything" || expect === state.revision);
    model.delete(id);
  } else if (outcome?.kind === "created") {
    assert.ok(change.kind === "put" && !state && typeof expect !== "number");
    const { fields } = change;
    const { revision } = outcome.resource;
    assert.deepEqual(outcome.resource, { id, revision, createdAt: at, updatedAt: at, fields });
    model.set(id, outcome.resource);
  } else if (outcome?.kind === "replaced") {
    assert.ok(change.kind === "put" && state);
    assert.ok(expect === "anything" || expect === state.revision);
    assert.ok(outcome.resource.revision > state.revision);
    model.set(id, outcome.resource);
  } else if (outcome?.kind === "taken") assert.ok(state && expect === "nothing");
  else if (outcome?.kind === "stale") assert.ok(state && expect !== state.revision);
  else if (outcome?.kind === "missing") assert.ok(!state);
  else assert.fail(`unexpected ${outcome?.kind}`);
}
