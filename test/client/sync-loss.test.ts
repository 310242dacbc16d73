// What a local copy must not lose, and what it must no longer show.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { type AnyCollections, Client, type ClientOptions } from "../../client/index.ts";
import { type Copy, Sync } from "../../client/sync/index.ts";
import { startApp, type TestApp } from "../http/app.ts";

let app: TestApp;
before(async () => {
  app = await startApp();
});
after(() => app.stop());

const opened = new Set<{ close(): Promise<void> }>();
afterEach(async () => {
  for (const one of opened) await one.close();
});

const client = (options: ClientOptions = {}) =>
  new Client(app.url, { token: app.admin, ...options });

/** Rounds only when they are asked for. */
async function open(api: Client, collection: string) {
  const sync = await Sync.open(api, { everyMs: 3_600_000, waitMs: 3_600_000 });
  opened.add(sync);
  return { sync, copy: await sync.copy(collection).ready() };
}

const ids = (copy: Copy<AnyCollections[string]>) => copy.all().map(({ id }) => id);

describe("a resource that two people create again", () => {
  for (const choice of ["mine", { b: 3 }] as const)
    it(`is a conflict of the second, who decides again (${JSON.stringify(choice)})`, async () => {
      const notes = client().collection("twice");
      await notes.replace("x", { name: "x" });
      const people = [await open(client(), "twice"), await open(client(), "twice")] as const;
      await notes.remove("x");
      for (const [at, { sync }] of people.entries())
        await sync.update("twice", "x", at === 0 ? { a: 1 } : { b: 2 });
      for (const { sync } of people) await sync.now();
      for (const { sync } of people) {
        const [conflict] = sync.conflicts;
        assert.equal(conflict?.current, undefined);
        if (conflict) await sync.resolve(conflict, "mine");
        await sync.now();
      }
      const [{ sync: first }, { sync: second, copy }] = people;
      assert.deepEqual(first.pending, []);
      const [conflict] = second.conflicts;
      assert.deepEqual([conflict?.problem.status, conflict?.current?.a], [412, 1]);
      if (conflict) await second.resolve(conflict, choice);
      await second.now();
      assert.deepEqual([second.pending, second.status], [[], "idle"]);
      const { a, b } = await notes.get("x");
      assert.deepEqual([a, b], choice === "mine" ? [undefined, 2] : [1, 3]);
      assert.equal(copy.get("x")?.b, b);
    });
});

describe("a proxy that answers 404 or 410 by itself", () => {
  for (const status of [404, 410])
    it(`takes no rows and no writes away (${status})`, async () => {
      const name = `proxy-${status}`;
      const notes = client().collection(name);
      for (const id of ["a", "b"]) await notes.replace(id, { name: id });
      let isAway = false;
      const proxy = async (input: string, init: RequestInit) =>
        isAway ? new Response("<h1>No backend</h1>", { status }) : fetch(input, init);
      const { sync, copy } = await open(client({ fetch: proxy as typeof fetch }), name);
      isAway = true;
      await sync.now();
      assert.deepEqual([ids(copy), sync.status], [["a", "b"], "offline"]);
      await sync.remove(name, "a");
      await sync.update(name, "b", { name: "new" });
      await sync.now();
      assert.deepEqual([ids(copy), sync.pending.length, sync.conflicts], [["b"], 2, []]);
      isAway = false;
      await sync.now();
      assert.deepEqual([sync.pending, sync.status], [[], "idle"]);
      assert.equal(await notes.find("a"), undefined);
      assert.equal((await notes.get("b")).name, "new");
    });
});

describe("a token that may no longer read", () => {
  it("sees nothing of what it saw, keeps its writes, and sees it again when it may", async () => {
    const notes = client().collection("secret");
    for (const id of ["a", "b"]) await notes.replace(id, { name: id });
    let token = await app.token("secret:*");
    const { sync, copy } = await open(client({ token: () => token }), "secret");
    assert.deepEqual(ids(copy), ["a", "b"]);
    const former = token;
    token = await app.token("others:*");
    await sync.update("secret", "b", { name: "mine" });
    await sync.now();
    assert.deepEqual([ids(copy), copy.state, copy.problem?.status], [[], "loading", 403]);
    await assert.rejects(copy.ready(), { status: 403 });
    assert.equal(sync.conflicts.length, 1);
    token = former;
    await sync.now();
    assert.deepEqual([ids(copy), copy.state, copy.problem], [["a", "b"], "ready", undefined]);
    const [conflict] = sync.conflicts;
    if (conflict) await sync.resolve(conflict, "mine");
    await sync.now();
    assert.equal((await notes.get("b")).name, "mine");
  });
});
