// Processes that share the data, and processes that are killed.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { normalizeWords } from "../../../src/model/query/index-plan.ts";
import { someValue } from "../../../src/model/query/sort-key.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { runs } from "../../seeds.ts";
import { answerTo, ask, idsIn, is, where, wordsLike } from "../contract/query-helpers.ts";
import { inDirectory, startChild } from "./test-directory.ts";

describe("several processes", () => {
  it("see immediately what another has acknowledged", () =>
    inDirectory(async (path) => {
      const store = await openSqlite({ path });
      await store.commit([{ kind: "create-collection", collection: "things", at: 1 }]);
      const children = ["a", "b"].map((name) => startChild("load", path, name, "150"));
      let looks = 0;
      const failures: string[] = [];
      for (const child of children)
        child.onLine((id) => {
          looks++;
          const resource = store.find("things", id);
          if (!resource || store.find("things", id) !== resource) failures.push(id);
          if (store.find("things", `gone-${id}`) !== undefined) failures.push(`gone-${id}`);
        });
      assert.deepEqual(await Promise.all(children.map(({ gone }) => gone)), [0, 0]);
      assert.deepEqual(failures, []);
      assert.equal(looks, 300);
      assert.equal((await store.collection("things"))?.total, 300);
      await store.close();
    }));

  it("that are killed under load lose nothing acknowledged, and leave nothing incomplete", () =>
    inDirectory(async (path) => {
      const acknowledged: string[] = [];
      for (let round = 0; round < runs(2, 3); round++) {
        const children = [1, 2].map((number) => startChild("load", path, `${round}-${number}`));
        await new Promise<void>((resolve) => {
          let wanted = 150 + round * 50;
          for (const child of children)
            child.onLine(() => {
              if (--wanted === 0) resolve();
            });
        });
        for (const child of children) child.kill();
        await Promise.all(children.map(({ gone }) => gone));
        acknowledged.push(...children.flatMap(({ lines }) => lines));

        const store = await openSqlite({ path });
        for (const id of acknowledged)
          assert.equal((await store.find("things", id))?.fields, `{"of":"${id}"}`);
        const slice = await store.slice("things", { offset: 0, limit: 1e6, order: "created" });
        const ids = slice?.resources.map(({ id }) => id) ?? [];
        assert.equal(ids.length, slice?.collection.total);
        assert.deepEqual(
          ids.filter((id) => id.startsWith("gone-")),
          [],
        );
        for (const id of ids.slice(-40)) {
          const indexed = await answerTo(store, ask({ conditions: [is("of", "any", id)] }));
          assert.deepEqual(idsIn(indexed.resources), [id]);
          const spoken = await answerTo(store, ask({ words: wordsLike(normalizeWords(id)) }));
          assert.ok(idsIn(spoken.resources).includes(id));
        }
        const every = ask({ conditions: [where("of", "any", someValue)], limit: 1e6 });
        assert.deepEqual(idsIn((await answerTo(store, every)).resources), ids);
        assert.equal((await answerTo(store, ask({ words: wordsLike("gone") }))).total, 0);
        const middle = Math.floor(ids.length / 2);
        const page = await store.slice("things", { offset: middle, limit: 3, order: "created" });
        assert.deepEqual(
          page?.resources.map(({ id }) => id),
          ids.slice(middle, middle + 3),
        );
        await store.close();
      }
      assert.ok(acknowledged.length >= runs(300, 500));
    }));
});
