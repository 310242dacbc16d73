// Random nested conditions on random resources, compared with a plain filter over all of them.
// @tier all

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "../fast-check.ts";
import {
  type Fields,
  fieldsOfOne,
  indexed,
  matches,
  randomWhere,
  schema,
} from "../random-where.ts";
import { newSeed, runs } from "../seeds.ts";
import { storesHere } from "../short-run.ts";
import { startApp, type TestApp } from "./app.ts";
import { idsOf, parameters, QueryClient } from "./query-client.ts";

/** A longer URL is rejected. */
const maxUrl = 8_000;

const byNumber = (one: Fields, other: Fields): number =>
  Number(one.n ?? Number.NEGATIVE_INFINITY) - Number(other.n ?? Number.NEGATIVE_INFINITY) || 0;

for (const store of storesHere("postgres", [undefined, "postgres"])) {
  describe(`random conditions on ${store ?? "the embedded engine"}`, () => {
    let app: TestApp;
    let asker: QueryClient;
    const seed = newSeed(`random conditions on ${store ?? "the embedded engine"}`);
    const rows = new Map(
      fc
        .sample(fieldsOfOne, { numRuns: 60, seed })
        .map((fields, index) => [`r${index}`, JSON.parse(JSON.stringify(fields)) as Fields]),
    );
    const collections = ["bare", "full"];
    before(async () => {
      app = await startApp(store === undefined ? {} : { store });
      asker = new QueryClient(app);
      await asker.define("bare", { schema });
      await asker.define("full", { schema, indexed });
      for (const collection of collections) await asker.fill(collection, Object.fromEntries(rows));
    });
    after(() => app.stop());

    it("find what a plain filter finds, in a QUERY and in a URL", async () => {
      const orders = fc.constantFrom<readonly string[]>([], ["n"], ["-n"]);
      const check = fc.asyncProperty(randomWhere, orders, async (where, sort) => {
        const found = [...rows].filter(([, fields]) => matches(fields, where));
        if (sort.length > 0)
          found.sort(([, one], [, other]) =>
            sort[0] === "n" ? byNumber(one, other) : byNumber(other, one),
          );
        const expected = found.map(([id]) => id);
        for (const collection of collections) {
          const question = { where, ...(sort.length > 0 && { sort }), limit: 100 };
          const answer = await asker.queryList(collection, question);
          assert.deepEqual(idsOf(answer), expected, collection);
          assert.equal(answer.total, expected.length);
          const words = { where: JSON.stringify(where), sort: sort[0] ?? "createdAt", limit: "7" };
          const url = `/${collection}?${parameters(words)}`;
          if (url.length > maxUrl) continue;
          const { ids } = await asker.readByCursor(url);
          assert.deepEqual(ids, expected, collection);
        }
      });
      await fc.assert(check, { numRuns: runs(12, 1_000), seed });
    });
  });
}
