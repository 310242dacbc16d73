// Group commit over a real store whose commits wait until the test continues them.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { Outage } from "../../src/model/outage.ts";
import { type GroupOptions, withGroupCommit } from "../../src/store/group-commit.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Change, Put, Store } from "../../src/store/store.ts";
import { inDirectory } from "./sqlite/test-directory.ts";

const put = (id: string, fields = "{}"): Put => ({
  kind: "put",
  collection: "things",
  id,
  fields,
  at: 1,
  expect: "nothing",
});

const puts = (prefix: string, count: number): readonly Put[] =>
  Array.from({ length: count }, (_, index) => put(`${prefix}-${index}`));

/** An object of so many bytes. */
const sized = (bytes: number): string => `{"x":"${"x".repeat(bytes - 8)}"}`;

const unit = (changes: readonly Put[]): Change => ({ kind: "all", changes });

/** Records what arrives at the store, and continues a commit only when the test says so. */
class Gate {
  readonly batches: (readonly Change[])[] = [];
  readonly #waiting: (() => void)[] = [];
  #outage: Outage | undefined;
  readonly #most: number;

  /** `most`: how many commits may wait at the gate. */
  constructor(most: number) {
    this.#most = most;
  }

  guard(store: Store): Store {
    return {
      collection: (name) => store.collection(name),
      rules: (collection) => store.rules(collection),
      collections: () => store.collections(),
      find: (collection, id) => store.find(collection, id),
      findAll: (collection, ids) => store.findAll(collection, ids),
      findUnique: (collection, entry) => store.findUnique(collection, entry),
      slice: (collection, range) => store.slice(collection, range),
      query: (collection, query) => store.query(collection, query),
      since: (collection, position, range) => store.since(collection, position, range),
      indexBuild: (collection) => store.indexBuild(collection),
      secret: () => store.secret(),
      findReferencedFiles: (keys) => store.findReferencedFiles(keys),
      fileBytes: (owner) => store.fileBytes(owner),
      token: (hash) => store.token(hash),
      findToken: (id) => store.findToken(id),
      tokens: (range) => store.tokens(range),
      countTokens: (subject) => store.countTokens(subject),
      erase: (erasure) => store.erase(erasure),
      scrub: (options) => store.scrub(options),
      setQueryDeadline: (ms) => store.setQueryDeadline(ms),
      watch: (listener) => store.watch(listener),
      ready: () => store.ready(),
      close: () => store.close(),
      commit: async (changes) => {
        this.batches.push(changes);
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
        if (this.#outage) throw this.#outage;
        return store.commit(changes);
      },
    };
  }

  get sizes(): readonly number[] {
    return this.batches.map(({ length }) => length);
  }

  /** Lets the first commit that waits at the gate through, or fails it. */
  open(outage?: Outage): void {
    this.#outage = outage;
    assert.ok(this.#waiting.length > 0, "a commit waits");
    assert.ok(this.#waiting.length <= this.#most, `${this.#most} at a time`);
    this.#waiting.shift()?.();
  }
}

async function atGate(
  test: (store: Store, gate: Gate) => Promise<void>,
  limits: Partial<GroupOptions> = {},
): Promise<void> {
  await inDirectory(async (path) => {
    const store = await openSqlite({ path });
    await store.commit([{ kind: "create-collection", collection: "things", at: 1 }]);
    const gate = new Gate(limits.maxInFlight ?? 1);
    await test(withGroupCommit(gate.guard(store), limits), gate);
    await store.close();
  });
}

const isOutage =
  (reason: Outage["reason"]) =>
  (error: unknown): boolean =>
    error instanceof Outage && error.reason === reason;

describe("group commit", () => {
  it("combines what arrives during a commit into the next one, in order", () =>
    atGate(async (store, gate) => {
      const first = store.commit([put("a")]);
      const rest = ["b", "c", "b", "d"].map((id) => store.commit([put(id)]));
      assert.deepEqual(gate.sizes, [1]);
      gate.open();
      await first;
      assert.deepEqual(gate.sizes, [1, 4]);
      gate.open();
      const outcomes = await Promise.all(rest);
      assert.deepEqual(
        outcomes.map(([outcome]) => outcome?.kind),
        ["created", "created", "taken", "created"],
      );
      const slice = await store.slice("things", { offset: 0, limit: 9, order: "created" });
      assert.deepEqual(
        slice?.resources.map(({ id }) => id),
        ["a", "b", "c", "d"],
      );
    }));

  it("gives each call its own outcomes", () =>
    atGate(async (store, gate) => {
      const first = store.commit([put("a")]);
      const second = store.commit(puts("x", 3));
      const third = store.commit(puts("y", 2));
      gate.open();
      await first;
      gate.open();
      const idsOf = async (call: ReturnType<Store["commit"]>) =>
        (await call).map((outcome) => (outcome.kind === "created" ? outcome.resource.id : ""));
      assert.deepEqual(await idsOf(second), ["x-0", "x-1", "x-2"]);
      assert.deepEqual(await idsOf(third), ["y-0", "y-1"]);
    }));

  it("limits the size of a batch, but never splits the changes of a call", () =>
    atGate(async (store, gate) => {
      const large = `{"x":"${"x".repeat(5_000_000)}"}`;
      const calls = [
        store.commit([put("first")]),
        store.commit(puts("a", 600)),
        store.commit(puts("b", 600)),
        store.commit(puts("c", 400)),
        store.commit([put("large-1", large)]),
        store.commit([put("large-2", large)]),
        store.commit(puts("d", 1_500)),
      ];
      for (const last of [0, 1, 4, 5, 6]) {
        gate.open();
        await calls[last];
      }
      assert.deepEqual(gate.sizes, [1, 600, 1_001, 1, 1_500]);
      await Promise.all(calls);
    }));

  const half = 4 * 1024 * 1024;
  for (const [title, one, other, more] of [
    ["1,024 changes", puts("a", 512), puts("b", 512), puts("c", 513)],
    ["8 MiB", [put("a", sized(half))], [put("b", sized(half))], [put("c", sized(half + 1))]],
  ] as const)
    it(`puts ${title} into a batch, and not one more`, () =>
      atGate(async (store, gate) => {
        for (const [second, batches] of [
          [other, 1],
          [more, 2],
        ] as const) {
          const before = gate.sizes.length;
          const calls = [[put("first")], one, second].map((changes) => store.commit(changes));
          for (let opened = 0; opened <= batches; opened++) {
            gate.open();
            await calls[opened];
          }
          await Promise.all(calls);
          assert.equal(gate.sizes.length - before, 1 + batches);
        }
      }));

  it("commits half of many callers while the other half can send their next requests", () =>
    atGate(async (store, gate) => {
      const calls = puts("a", 64).map((one) => store.commit([one]));
      gate.open();
      await calls[0];
      gate.open();
      await calls[32];
      const again = store.commit([put("b")]);
      assert.deepEqual(gate.sizes, [1, 32, 31]);
      gate.open();
      await Promise.all(calls);
      assert.deepEqual(gate.sizes, [1, 32, 31, 1]);
      gate.open();
      await again;
      assert.equal((await store.collection("things"))?.total, 65);
    }));

  it("on a shared processor, commits all callers together with what the last ones send next", () =>
    atGate(
      async (store, gate) => {
        const calls = puts("a", 64).map((one) => store.commit([one]));
        gate.open();
        await calls[0];
        await turn();
        const next = store.commit([put("b")]);
        assert.deepEqual(gate.sizes, [1], "the next commit has not begun");
        while (gate.sizes.length < 2) await turn();
        assert.deepEqual(gate.sizes, [1, 64]);
        gate.open();
        await Promise.all([...calls, next]);
        await store.close();
        assert.deepEqual(gate.sizes, [1, 64], "no commit is empty");
      },
      { sharesProcessor: true },
    ));

  it("on a shared processor, commits half of the callers after a change that failed", () =>
    atGate(
      async (store, gate) => {
        const first = store.commit([put("a")]);
        gate.open();
        await first;
        const again = Array.from({ length: 32 }, () => store.commit([put("a")]));
        while (gate.sizes.length < 2) await turn();
        const others = puts("b", 32).map((one) => store.commit([one]));
        gate.open();
        await Promise.all(again);
        assert.deepEqual(gate.sizes, [1, 32, 32], "the next one has begun");
        const more = puts("c", 64).map((one) => store.commit([one]));
        gate.open();
        await Promise.all(others);
        while (gate.sizes.length < 4) await turn();
        assert.deepEqual(gate.sizes, [1, 32, 32, 64], "all again");
        gate.open();
        await Promise.all(more);
      },
      { sharesProcessor: true },
    ));

  it("on a shared processor, does not wait for more calls than a batch has", () =>
    atGate(
      async (store, gate) => {
        const first = store.commit([put("first")]);
        gate.open();
        await first;
        const calls: ReturnType<Store["commit"]>[] = [];
        while (gate.sizes.length < 2) {
          calls.push(...puts(`${calls.length}`, 100).map((one) => store.commit([one])));
          await turn();
        }
        assert.deepEqual(gate.sizes, [1, 1_024]);
        gate.open();
        await Promise.all(calls.slice(0, 1_024));
        while (gate.sizes.length < 3) await turn();
        gate.open();
        await Promise.all(calls);
      },
      { sharesProcessor: true },
    ));

  it("sends a batch before the former one is committed, when as many calls wait", () =>
    atGate(
      async (store, gate) => {
        const calls = puts("a", 40).map((one) => store.commit([one]));
        assert.deepEqual(gate.sizes, [1, 8]);
        gate.open();
        await calls[0];
        assert.deepEqual(gate.sizes, [1, 8, 20]);
        gate.open();
        await calls[8];
        const more = puts("b", 8).map((one) => store.commit([one]));
        assert.deepEqual(gate.sizes, [1, 8, 20], "19 wait behind 20");
        const last = store.commit([put("c")]);
        assert.deepEqual(gate.sizes, [1, 8, 20, 20]);
        const closed = store.close();
        gate.open();
        await calls[28];
        gate.open();
        await Promise.all([...calls, ...more, last, closed]);
      },
      { maxInFlight: 2 },
    ));

  it("counts all changes of an atomic group", () =>
    atGate(
      async (store, gate) => {
        const large = `{"x":"${"x".repeat(900)}"}`;
        const first = store.commit([put("first")]);
        const second = store.commit([unit(puts("a", 600))]);
        const third = store.commit([unit(puts("b", 600)), unit([])]);
        await assert.rejects(store.commit([unit(puts("c", 800))]), isOutage("busy"));
        await assert.rejects(store.commit([unit([put("d", large)])]), isOutage("busy"));
        const defined = { kind: "define", collection: "things", definition: large, at: 1 } as const;
        await assert.rejects(store.commit([defined]), isOutage("busy"));
        gate.open();
        await first;
        gate.open();
        assert.equal((await second)[0]?.kind, "all");
        gate.open();
        assert.deepEqual(
          (await third).map(({ kind }) => kind),
          ["all", "all"],
        );
        assert.deepEqual(gate.sizes, [1, 1, 2]);
        assert.equal((await store.collection("things"))?.total, 1_201);
      },
      { maxWaiting: 2_000, maxWaitingBytes: 3_000 },
    ));

  it("rejects writes when too many are waiting, and accepts more when there is room", () =>
    atGate(
      async (store, gate) => {
        const first = store.commit([put("first")]);
        const waiting = store.commit(puts("a", 9));
        await assert.rejects(store.commit(puts("b", 2)), isOutage("busy"));
        const fits = store.commit([put("c")]);
        await assert.rejects(store.commit([put("d")]), isOutage("busy"));
        gate.open();
        await first;
        // Nothing waits now, so that even a call above the limit can be taken.
        const alone = store.commit(puts("e", 50));
        gate.open();
        await Promise.all([waiting, fits]);
        gate.open();
        await alone;
        assert.deepEqual(gate.sizes, [1, 10, 50]);
        assert.equal((await store.collection("things"))?.total, 61);
        assert.equal(await store.find("things", "b-0"), undefined);
      },
      { maxWaiting: 10 },
    ));

  it("rejects too many bytes", () =>
    atGate(
      async (store, gate) => {
        const first = store.commit([put("first")]);
        const waiting = store.commit([put("a", `{"x":"${"x".repeat(900)}"}`)]);
        await assert.rejects(
          store.commit([put("b", `{"x":"${"x".repeat(200)}"}`)]),
          isOutage("busy"),
        );
        gate.open();
        await first;
        gate.open();
        await waiting;
      },
      { maxWaitingBytes: 1_000 },
    ));

  it("fails every call of a failed batch, and continues with the next", () =>
    atGate(async (store, gate) => {
      const first = store.commit([put("a")]);
      const failing = [store.commit([put("b")]), store.commit([put("c")])];
      gate.open();
      await first;
      const next = store.commit([put("d")]);
      const outage = new Outage("full", "no room");
      const results = Promise.allSettled(failing);
      gate.open(outage);
      for (const result of await results)
        assert.equal(result.status === "rejected" && result.reason, outage);
      gate.open();
      assert.equal((await next)[0]?.kind, "created");
      assert.equal(await store.find("things", "b"), undefined);
    }));

  it("finishes waiting writes before it closes", () =>
    atGate(async (store, gate) => {
      const calls = [store.commit([put("a")]), store.commit([put("b")])];
      const closing = store.close();
      await assert.rejects(store.commit([put("c")]), isOutage("unavailable"));
      gate.open();
      await calls[0];
      gate.open();
      await closing;
      assert.deepEqual(
        (await Promise.all(calls)).map(([outcome]) => outcome?.kind),
        ["created", "created"],
      );
    }));
});
