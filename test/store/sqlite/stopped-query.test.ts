// A query that is no longer needed ends in its thread, so that the thread answers the next one.

import assert from "node:assert/strict";
import { it } from "node:test";
import { Outage } from "../../../src/model/outage.ts";
import { conditionOf } from "../../../src/model/query/filter.ts";
import type { Query } from "../../../src/model/query/query.ts";
import { openSqlite } from "../../../src/store/sqlite/sqlite.ts";
import type { Change } from "../../../src/store/store.ts";
import { inDirectory } from "./test-directory.ts";

const texts = 50;
const conditions = 1_000;
const text = "é".repeat(200_000);

const create: Change = { kind: "create-collection", collection: "texts", at: 1 };
const put = (at: number): Change => ({
  ...({ kind: "put", collection: "texts", at: 1, expect: "anything" } as const),
  id: `t${at}`,
  fields: JSON.stringify({ text }),
});

const query: Query = {
  conditions: [],
  sortings: [{ field: "n", kind: "number", isDescending: false }],
  words: [],
  isNewestFirst: false,
  start: 0,
  limit: 1,
  isCounted: true,
};

/** Folds the case of each text for each condition, which takes minutes. */
const endless: Query = {
  ...query,
  conditions: Array.from({ length: conditions }, (_, at) => {
    const operand = "É".repeat(at + 1);
    const of = { field: "text", kind: "text", operator: "icontains", isFromUrl: false } as const;
    const condition = conditionOf({ ...of, operand });
    assert.ok(typeof condition !== "string");
    return condition;
  }),
};

it("the only reader thread answers again after a client left, and after a deadline", () =>
  inDirectory(async (path) => {
    const store = await openSqlite({ path, readers: 1, queryDeadlineMs: 600_000 });
    await store.commit([create, ...Array.from({ length: texts }, (_, at) => put(at))]);
    const rejects = (asked: () => unknown, reason: Outage["reason"]) =>
      assert.rejects(
        async () => asked(),
        (error) => error instanceof Outage && error.reason === reason,
      );
    const answers = async () => (await store.query("texts", query))?.total;
    assert.equal(await answers(), texts);
    const client = new AbortController();
    const { signal } = client;
    const left = rejects(() => store.query("texts", endless, { signal }), "cancelled");
    client.abort();
    await left;
    assert.equal(await answers(), texts);
    store.setQueryDeadline(500);
    const late = rejects(() => store.query("texts", endless), "timeout");
    store.setQueryDeadline(600_000);
    await late;
    assert.equal(await answers(), texts);
    await store.close();
  }));
