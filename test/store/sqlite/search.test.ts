// Reads the rows of search words.
// @runtimes node

import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { indexPlanOf } from "../../../src/model/query/index-plan.ts";
import { Connection } from "../../../src/store/sqlite/connection.ts";
import { maxCounts } from "../../../src/store/sqlite/entries.ts";
import { WordReader } from "../../../src/store/sqlite/search.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import { define, idsFrom } from "../contract/change-helpers.ts";
import { putJson, wordsLike } from "../contract/query-helpers.ts";
import { inDirectory } from "./test-directory.ts";

const definition = JSON.stringify({ searchable: ["text"] });
const plan = indexPlanOf(definition);

/** Runs a test on resources with `often`, of which a tenth has `rarely`. */
const withTexts = (count: number, test: (reader: WordReader, part: number) => void) =>
  inDirectory(async (path) => {
    const store = await openSqlite({ path });
    const changes = idsFrom(count).map((id, index) =>
      putJson(id, { text: index % 10 === 0 ? "often rarely" : "often" }),
    );
    await store.commit([define(definition), ...changes]);
    const connection = new Connection(join(path, "restante.db"), "read");
    const [part = 0] =
      connection.query<readonly [number]>("SELECT part FROM collections").one() ?? [];
    test(new WordReader(connection), part);
    connection.close();
    await store.close();
  });

it("a search of several words stops between two chunks when it is not needed any more", () =>
  withTexts(12_000, (reader, part) => {
    let checks = 0;
    const ranks = reader.ranks({ part, plan }, wordsLike("often rarely"), () => checks++);
    assert.equal(ranks.size, 1_200);
    assert.ok(checks >= 4, `${checks} checks`);
    for (let allowed = 1; allowed < checks; allowed++) {
      let left = allowed;
      const stop = () => {
        if (--left === 0) throw new Error("stopped");
      };
      assert.throws(() => reader.ranks({ part, plan }, wordsLike("often rarely"), stop), /stopped/);
    }
  }));

it("counts of terms are cached, up to a limit", () =>
  withTexts(3, (reader, part) => {
    for (let limit = 1; limit <= 2 * maxCounts + 10; limit++) {
      for (let turn = 0; turn < 2; turn++)
        assert.equal(
          reader.count({ part, revision: 1, total: 3 }, "often", limit),
          Math.min(3, limit + 1),
        );
      assert.equal(reader.cachedCounts, Math.min(limit, maxCounts));
    }
  }));

it("the resources of a term are counted once until the collection changes", () =>
  withTexts(100, (reader, part) => {
    const counted = { part, revision: 1, total: 100 };
    assert.equal(reader.count(counted, "often", 1_000), 100);
    assert.equal(reader.count(counted, "rarely", 1_000), 10);
    assert.equal(reader.count(counted, "ra*", 1_000), 10);
    assert.equal(reader.count(counted, "never", 1_000), 0);
    assert.equal(reader.count({ ...counted, revision: 2 }, "often", 10), 11);
  }));
