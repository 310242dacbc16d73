// Arrays in an indexed field: replaced as a whole, found by each value, and limited.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { maxEntries } from "../../src/model/query/entry-limit.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client, pointersOf } from "./client.ts";
import { assertProblem } from "./expect.ts";

const tags = (count: number, from = 0): readonly string[] =>
  Array.from({ length: count }, (_, index) => `tag-${from + index}`);

for (const store of storesHere("sqlite", ["sqlite", "postgres"])) {
  describe(`an array in an indexed field, on ${store}`, () => {
    let app: TestApp;
    let client: Client;
    before(async () => {
      app = await startApp(store === "postgres" ? { store } : {});
      client = new Client(app);
      await client.putAndReadTag("/-/collections/notes", {
        indexed: ["tags", "lines[].sku", "lines[].tags"],
        unique: ["inner.keys", "cards[].number"],
      });
    });
    after(() => app.stop());

    const found = async (tag: string): Promise<readonly string[]> => {
      const { body } = await client.get(`/notes?tags=${tag}`);
      return (JSON.parse(body) as { data: { id: string }[] }).data.map(({ id }) => id);
    };

    it("is found by its current values, and not by former ones", async () => {
      await client.putAndReadTag("/notes/a", { tags: tags(maxEntries) });
      await client.putAndReadTag("/notes/b", { tags: tags(10) });
      assert.deepEqual(await found("tag-5"), ["a", "b"]);
      await client.putAndReadTag("/notes/a", { tags: tags(maxEntries, maxEntries - 10) });
      assert.deepEqual(await found("tag-5"), ["b"]);
      assert.deepEqual(await found(`tag-${maxEntries - 5}`), ["a"]);
      assert.deepEqual(await found(`tag-${2 * maxEntries - 11}`), ["a"]);
    });

    it("has a limited number of different values, however it is written", async () => {
      const many = tags(maxEntries + 1);
      const pointers = async (answer: ReturnType<Client["put"]>) => {
        const { errors } = assertProblem(await answer, "invalid-body");
        for (const error of errors ?? [])
          assert.match(error.detail, new RegExp(`at most ${maxEntries} .* has ${many.length}$`));
        return errors?.map((error) => "pointer" in error && error.pointer);
      };
      assert.deepEqual(await pointers(client.put("/notes/c", { tags: many })), ["/tags"]);
      assert.deepEqual(await pointers(client.post("/notes", { tags: many })), ["/tags"]);
      assert.deepEqual(await pointers(client.patch("/notes/b", { tags: many })), ["/tags"]);
      assert.deepEqual(await pointers(client.put("/notes/c", { inner: { keys: many } })), [
        "/inner/keys",
      ]);
      assert.equal((await client.get("/notes/c")).status, 404);
      // The same value counts once, and what is not indexed has no limit.
      const repeated = [...tags(maxEntries), ...tags(maxEntries)];
      await client.putAndReadTag("/notes/d", { tags: repeated, others: many });
      assert.deepEqual(await found("tag-999"), ["a", "d"]);
    });

    it("is found by a field of its elements", async () => {
      const lines = [{ sku: "x", tags: ["red"] }, { sku: "y" }, { count: 1 }, 5];
      await client.putAndReadTag("/notes/e", { lines });
      await client.putAndReadTag("/notes/f", { lines: [{ sku: "y", tags: ["blue", "red"] }] });
      const ids = async (filter: string) => {
        const { body } = await client.get(`/notes?${filter}`);
        return (JSON.parse(body) as { data: { id: string }[] }).data.map(({ id }) => id);
      };
      assert.deepEqual(await ids("lines[].sku=y"), ["e", "f"]);
      assert.deepEqual(await ids("lines[].tags=red"), ["e", "f"]);
      assert.deepEqual(await ids("lines[].tags=blue"), ["f"]);
      await client.putAndReadTag("/notes/e", { lines: lines.slice(0, 1) });
      assert.deepEqual(await ids("lines[].sku=y"), ["f"]);
    });

    it("limits the values of its elements, and keeps them unique", async () => {
      const lines = Array.from({ length: 11 }, (_, index) => ({ tags: tags(100, 100 * index) }));
      const problem = assertProblem(await client.put("/notes/g", { lines }), "invalid-body");
      assert.deepEqual(pointersOf(problem), ["/lines"]);
      assert.match(problem.detail + JSON.stringify(problem.errors), /has 1100/);
      await client.putAndReadTag("/notes/g", { lines: lines.slice(1) });
      await client.putAndReadTag("/notes/h", { cards: [{ number: 1 }, { number: 1 }, {}] });
      const again = await client.put("/notes/i", { cards: [{ number: 2 }, { number: 1 }] });
      assert.deepEqual(pointersOf(assertProblem(again, "conflict")), ["/cards"]);
    });

    it("that is too long is reported when its field is indexed", async () => {
      await client.putAndReadTag("/logs/long", { tags: tags(maxEntries + 1) });
      await client.putAndReadTag("/logs/short", { tags: tags(3) });
      const { body } = await client.put("/-/collections/logs?dry-run=true", { indexed: ["tags"] });
      const { violations } = JSON.parse(body) as {
        violations: { count: number; first: { id: string; errors: { pointer: string }[] }[] };
      };
      assert.equal(violations.count, 1);
      assert.equal(violations.first[0]?.id, "long");
      assert.equal(violations.first[0]?.errors[0]?.pointer, "/tags");
    });
  });
}
