// The last use of a token is remembered in memory and written for all tokens together.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { TokenUses } from "../../src/domain/token-uses.ts";
import { Tokens } from "../../src/domain/tokens.ts";
import { Outage } from "../../src/model/outage.ts";
import { system } from "../../src/model/principal.ts";
import type { Token } from "../../src/model/token.ts";
import { openSqlite } from "../../src/store/sqlite/sqlite.ts";
import type { Change, Store } from "../../src/store/store.ts";

describe("the last use of a token", () => {
  let folder: string;
  let store: Store;
  let commits: (readonly Change[])[];
  let isFull: boolean;
  let tokens: readonly Token[];
  let counted: Store;
  let written: PromiseWithResolvers<void>;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "restante-"));
    store = await openSqlite({ path: folder });
    for (const name of ["a", "b"])
      await new Tokens(store, Date.now).create(system, { name, scopes: ["admin"] });
    tokens = await store.tokens();
    commits = [];
    isFull = false;
    written = Promise.withResolvers();
    counted = new Proxy(store, {
      get(target, name) {
        if (name !== "commit") return Reflect.get(target, name).bind(target);
        return async (changes: readonly Change[]) => {
          if (isFull) throw new Outage("full", "the disk is full");
          commits.push(changes);
          const outcomes = await target.commit(changes);
          written.resolve();
          return outcomes;
        };
      },
    });
  });

  afterEach(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });

  const storedUses = async () => (await store.tokens()).map(({ usedAt }) => usedAt);

  it("is shown at once and written later, in one commit for all tokens", async () => {
    const uses = new TokenUses(counted);
    const all = new Tokens(counted, Date.now, uses);
    for (let now = 1_000_000; now < 1_010_000; now += 100)
      for (const token of tokens) uses.add(token, now);
    assert.deepEqual(commits, []);
    const list = await all.list(system, { offset: 0, limit: 10 });
    assert.ok("tokens" in list);
    assert.equal(list.total, 2);
    assert.deepEqual(
      list.tokens.map(({ usedAt }) => usedAt),
      [1_000_000, 1_000_000],
    );
    assert.deepEqual(await storedUses(), [null, null]);
    await uses.flush();
    assert.equal(commits.length, 1);
    assert.deepEqual(await storedUses(), [1_000_000, 1_000_000]);
    await uses.flush();
    assert.equal(commits.length, 1);
  });

  it("is to the minute", async () => {
    const uses = new TokenUses(counted);
    const [token] = tokens;
    assert.ok(token !== undefined);
    const used = { ...token, usedAt: 1_000_000 };
    uses.add(used, 1_059_999);
    assert.equal(uses.latest(used).usedAt, 1_000_000);
    uses.add(used, 1_060_000);
    assert.equal(uses.latest(used).usedAt, 1_060_000);
    // Another process may have written a later use.
    assert.equal(uses.latest({ ...used, usedAt: 1_070_000 }).usedAt, 1_070_000);
  });

  it("is written by itself after the interval", async () => {
    const uses = new TokenUses(counted, undefined, 1);
    for (const token of tokens) uses.add(token, 1_000_000);
    // The timer does not keep a process running, so the test does.
    const awake = setInterval(() => undefined, 1000);
    await written.promise;
    clearInterval(awake);
    assert.deepEqual(await storedUses(), [1_000_000, 1_000_000]);
    assert.equal(commits.length, 1);
  });

  it("stays in memory while the store cannot write", async () => {
    const uses = new TokenUses(counted);
    const [first, second] = tokens;
    assert.ok(first !== undefined && second !== undefined);
    uses.add(first, 1_000_000);
    isFull = true;
    await uses.flush();
    assert.equal(uses.latest(first).usedAt, 1_000_000);
    uses.add(second, 2_000_000);
    isFull = false;
    await uses.flush();
    assert.deepEqual(await storedUses(), [1_000_000, 2_000_000]);
  });
});
