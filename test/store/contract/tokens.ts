// Tokens: stored, found, revoked and touched.

import assert from "node:assert/strict";
import { type Change, failureOf, type Outcome } from "../../../src/store/store.ts";
import {
  all,
  create,
  define,
  doneIn,
  kinds,
  lookAt,
  operate,
  put,
  remove,
  token,
} from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";

export function tokens(contractTest: ContractTest): void {
  contractTest("are stored, found by their hash and listed in order", async ({ store }) => {
    const late = token("a", {
      roles: ["b", "a"],
      createdAt: 9,
      expiresAt: 12,
      usedAt: 13,
      revokedAt: 14,
    });
    const early = token("b", { scopes: [], roles: [] });
    assert.deepEqual(
      kinds(
        await store.commit([
          { kind: "create-token", token: late },
          { kind: "create-token", token: early },
        ]),
      ),
      ["done", "done"],
    );
    assert.deepEqual(await store.token("hash of a"), late);
    assert.deepEqual(await store.token("hash of b"), early);
    assert.equal(await store.token("hash of c"), undefined);
    assert.deepEqual(await store.findToken("a"), late);
    assert.equal(await store.findToken("hash of a"), undefined);
    assert.deepEqual(await store.tokens(), [late, early]);
  });

  contractTest("are removed with their last use, and then write nothing", async ({ store }) => {
    const gone = token("gone");
    await store.commit([
      { kind: "create-token", token: gone },
      { kind: "touch-token", id: "gone", at: 5 },
    ]);
    const removal = { kind: "remove-token", id: "gone" } as const;
    const late = { ...put("1"), callerToken: "gone" };
    assert.deepEqual(kinds(await store.commit([removal, removal, late])), [
      "done",
      "missing",
      "revoked",
    ]);
    assert.deepEqual(kinds(await store.commit([late])), ["revoked"]);
    assert.equal(await store.token("hash of gone"), undefined);
    await store.commit([{ kind: "create-token", token: gone }]);
    assert.deepEqual(await store.findToken("gone"), gone);
  });

  contractTest(
    "are counted and read page by page, in the order of their ids",
    async ({ store }) => {
      const all = ["d", "a", "e", "c", "b"].map((id) => token(id));
      const others = await store.countTokens();
      await store.commit(all.map((each) => ({ kind: "create-token", token: each })));
      assert.equal(await store.countTokens(), others + 5);
      const idsOf = async (offset: number, limit: number) =>
        (await store.tokens({ offset, limit })).map(({ id }) => id);
      assert.deepEqual(await idsOf(others, 2), ["a", "b"]);
      assert.deepEqual(await idsOf(others + 2, 2), ["c", "d"]);
      assert.deepEqual(await idsOf(others + 4, 2), ["e"]);
      assert.deepEqual(await idsOf(others + 5, 2), []);
      assert.deepEqual(await idsOf(Number.MAX_SAFE_INTEGER, 1_000), []);
    },
  );

  contractTest("of one subject are counted and read page by page", async ({ store }) => {
    const all = ["d", "a", "e", "c", "b"].map((id, index) =>
      token(id, { subject: index === 2 ? "bob" : "ann" }),
    );
    await store.commit(all.map((each) => ({ kind: "create-token", token: each })));
    const idsOf = async (subject: string, offset: number, limit: number) =>
      (await store.tokens({ subject, offset, limit })).map(({ id }) => id);
    assert.deepEqual(await idsOf("ann", 0, 3), ["a", "b", "c"]);
    assert.deepEqual(await idsOf("ann", 3, 3), ["d"]);
    assert.deepEqual(await idsOf("bob", 0, 3), ["e"]);
    assert.deepEqual(await idsOf("nobody", 0, 3), []);
    const counts = ["ann", "bob", "nobody"].map((subject) => store.countTokens(subject));
    assert.deepEqual(await Promise.all(counts), [4, 1, 0]);
  });

  contractTest("take the place of a code once, and codes are in no list", async ({ store }) => {
    const others = await store.countTokens();
    const codes = ["-1", "-2", "-3"].map((id, at) => token(id, { expiresAt: 10 * (at + 1) }));
    await store.commit(codes.map((each) => ({ kind: "create-token", token: each })));
    assert.equal(await store.countTokens(), others);
    assert.deepEqual(await store.tokens({ offset: others, limit: 9 }), []);
    assert.deepEqual((await store.tokens()).slice(0, 3), codes);
    const exchange = (id: string, code: string): Change => {
      return { kind: "create-token", token: token(id, { createdAt: 10 }), code };
    };
    const outcomes = await store.commit([
      exchange("a", "-2"),
      exchange("b", "-2"),
      exchange("b", "-9"),
    ]);
    assert.deepEqual(kinds(outcomes), ["done", "missing", "missing"]);
    assert.deepEqual(kinds(await store.commit([exchange("c", "-2")])), ["missing"]);
    assert.equal(await store.countTokens(), others + 1);
    // The first one has expired.
    const left = await Promise.all(codes.map(({ id }) => store.findToken(id)));
    assert.deepEqual(left, [undefined, undefined, codes[2]]);
  });

  contractTest("have unique ids and hashes", async ({ store }) => {
    const outcomes = await store.commit([
      { kind: "create-token", token: token("a") },
      { kind: "create-token", token: token("a", { hash: "another" }) },
      { kind: "create-token", token: token("b", { hash: "hash of a" }) },
    ]);
    assert.deepEqual(kinds(outcomes), ["done", "taken", "taken"]);
    assert.deepEqual(await store.tokens(), [token("a")]);
  });

  contractTest("are revoked once and touched at the latest time", async ({ store }) => {
    await store.commit([{ kind: "create-token", token: token("a") }]);
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

  contractTest("prevent the changes of their callers once they are revoked", async ({ store }) => {
    await store.commit([
      create(),
      ...["ann", "bob"].map((id) => ({ kind: "create-token", token: token(id) }) as const),
      put("1", { fields: '{"n":1}' }),
    ]);
    const by = <C extends Change>(callerToken: string, change: C) => ({ ...change, callerToken });
    const newPut = (id: string) =>
      ({ ...put(id, { expect: "nothing", fields: "{}" }), isNewId: true }) as const;
    /** A commit for each, so that a new resource of a known collection is one, too. */
    const apply = async (caller: string, ...changes: readonly Change[]) => {
      const outcomes: Outcome[] = [];
      for (const change of changes) outcomes.push(...(await store.commit([by(caller, change)])));
      return outcomes.map((outcome) => failureOf(outcome).kind);
    };
    const changesTo = (id: string): readonly Change[] => [
      newPut(`${id}-1`),
      newPut(`${id}-2`),
      put(`${id}-2`),
      operate("1", { increment: { n: 1 } }),
      remove(`${id}-2`),
      create(`of-${id}`),
      define("{}", `of-${id}`),
      { kind: "drop", collection: `of-${id}`, isEmptyOnly: true },
      { kind: "create-token", token: token(`of-${id}`) },
      { kind: "revoke-token", id: `of-${id}`, at: 5 },
    ];
    const passed = [
      "created",
      "created",
      "replaced",
      "replaced",
      "removed",
      ...Array(5).fill("done"),
    ];
    assert.deepEqual(await apply("ann", ...changesTo("a")), passed);
    await store.commit([{ kind: "revoke-token", id: "ann", at: 7 }]);
    assert.deepEqual(await apply("bob", newPut("x")), ["created"]);
    const look = async () => [await lookAt(store), await store.tokens(), await store.collections()];
    const stored = await look();
    const rejected = passed.map(() => "revoked");
    assert.deepEqual(await apply("ann", ...changesTo("b")), rejected);
    assert.deepEqual(await apply("nobody", newPut("c"), put("1")), ["revoked", "revoked"]);
    assert.deepEqual(await look(), stored);
    // Of those that are committed together, each is decided by its own caller.
    const many = [
      ...[by("bob", newPut("d")), by("ann", newPut("e")), newPut("f")],
      ...[{ kind: "revoke-token", id: "bob", at: 8 } as const, by("bob", newPut("g"))],
    ];
    assert.deepEqual(kinds(await store.commit(many.slice(0, 3))), [
      "created",
      "revoked",
      "created",
    ]);
    assert.deepEqual(kinds(await store.commit(many.slice(3))), ["done", "revoked"]);
    const [group, each] = await store.commit([
      all([put("1"), by("ann", put("h"))]),
      { kind: "all", changes: [put("i"), by("ann", put("j"))], isEach: true },
    ]);
    assert.deepEqual(group, { kind: "none", index: 1, outcome: { kind: "revoked" } });
    assert.deepEqual(kinds(doneIn(each)), ["revoked", "revoked"]);
  });
}
