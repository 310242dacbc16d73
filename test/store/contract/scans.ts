// Queries without indexes: SQL decides most of them on the stored texts, however these are spelled.

import assert from "node:assert/strict";
import { buildWhere } from "../../../src/domain/build-where.ts";
import { IndexedContent, ownerField } from "../../../src/model/query/index-plan.ts";
import type { Condition } from "../../../src/model/query/predicate.ts";
import type { Query, Sorting } from "../../../src/model/query/query.ts";
import { queryableFieldsOf } from "../../../src/model/query/queryable.ts";
import { simplified } from "../../../src/model/query/simplify.ts";
import { compareKeys, keyOf, noValue, someValue } from "../../../src/model/query/sort-key.ts";
import fc from "../../fast-check.ts";
import {
  type Fields,
  fieldsOfOne,
  matches,
  randomWhere,
  schema,
  type Where,
} from "../../random-where.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { spelled } from "../../spelled-json.ts";
import { create, define, put } from "./change-helpers.ts";
import type { ContractTest } from "./engine-under-test.ts";
import { answerTo, ask, by, idsIn, where } from "./query-helpers.ts";

interface Row {
  readonly id: string;
  readonly fields: Fields;
  readonly text: string;
}

/** Texts that look like JSON, and values whose parts are named like the fields. */
const disguised = fc.record(
  {
    a: fc.constantFrom<unknown>(
      '{"t":"a"}',
      '","n":1,"t":"',
      "{{",
      "\\",
      "\0",
      { t: "a", n: 1, items: [{ k: "a" }] },
      [{ f: true, u: "a" }],
    ),
    "o.t": fc.constantFrom("a", 1),
    '"t': fc.constant("a"),
  },
  { requiredKeys: [] },
);

const orders = fc.constantFrom<readonly Sorting[]>(
  [],
  [by("n", "number")],
  [by("n", "number", true), by("t", "text")],
  [by("t", "text"), by("f", "boolean", true)],
  [by("t", "text", true)],
  [by("d", "time")],
  [by("u", "any"), by("n", "number")],
);

/** Conditions on the server's own fields, which all of these resources match. */
const others = fc.constantFrom<readonly Condition[]>(
  [],
  [],
  [where("createdAt", "time", someValue)],
  [where(ownerField, "text", noValue)],
);

const queryable = queryableFieldsOf(JSON.stringify({ schema }));

const conditionsOf = (where: Where) =>
  simplified(
    buildWhere(queryable, { value: where, locate: () => ({ pointer: "" }) }, 0, (_, detail) =>
      assert.fail(detail),
    ),
  );

function ordered(rows: readonly Row[], { sortings, isNewestFirst }: Query): readonly Row[] {
  const keysOf = ({ id, text }: Row) => {
    const content = new IndexedContent({
      id,
      fields: text,
      ...{ revision: 1, createdAt: 1, updatedAt: 1 },
    });
    return sortings.map(({ field, kind }) => keyOf(kind, content.at(field)));
  };
  const keyed = rows.map((row, place) => ({ row, place, keys: keysOf(row) }));
  return keyed
    .toSorted((one, other) => {
      for (const [at, { isDescending }] of sortings.entries()) {
        const difference = compareKeys(one.keys[at] ?? "", other.keys[at] ?? "");
        if (difference !== 0) return isDescending ? -difference : difference;
      }
      return isNewestFirst ? other.place - one.place : one.place - other.place;
    })
    .map(({ row }) => row);
}

export function scans(contractTest: ContractTest): void {
  contractTest("look at few large resources when the page is soon full", async ({ store }) => {
    const fields = JSON.stringify({ t: "a", text: "x".repeat(400_000) });
    const ids = Array.from({ length: 40 }, (_, index) => `r${index}`);
    await store.commit([create("things"), define(JSON.stringify({ schema }), "things")]);
    await store.commit(ids.map((id) => put(id, { fields, collection: "things" })));
    const query = ask({ conditions: conditionsOf({ t: "a" }), limit: 1, isCounted: false });
    const { resources, scan } = await answerTo(store, query, "things");
    assert.deepEqual(idsIn(resources), ["r0"]);
    assert.ok((scan?.checked ?? 0) < 30, `${scan?.checked} resources were checked`);
  });

  contractTest("find what a plain filter finds, whatever the spelling", async ({ store }) => {
    const seed = newSeed("scans");
    const next = randomNumbers(seed);
    const rows = fc
      .sample(fc.tuple(disguised, fieldsOfOne), { numRuns: 250, seed })
      .map(([first, second], index): Row => {
        const fields = next() < 0.3 ? { ...first, ...second } : { ...second };
        return { id: `r${index}`, fields, text: spelled(fields, next) };
      });
    const collections = { bare: {}, sorted: { indexed: ["n", "t", "f"] } };
    for (const [collection, more] of Object.entries(collections)) {
      await store.commit([
        create(collection),
        define(JSON.stringify({ schema, ...more }), collection),
      ]);
      await store.commit(rows.map(({ id, text }) => put(id, { fields: text, collection })));
    }
    const check = fc.asyncProperty(
      others,
      randomWhere,
      orders,
      fc.boolean(),
      async (more, where, sortings, isNewestFirst) => {
        const query = ask({
          conditions: [...conditionsOf(where), ...more],
          sortings,
          isNewestFirst,
        });
        const expected = ordered(rows, query).filter(({ fields }) => matches(fields, where));
        const ids = expected.map(({ id }) => id);
        for (const collection of Object.keys(collections)) {
          for (const start of [0, 20]) {
            const page = await answerTo(store, { ...query, limit: 5, start }, collection);
            assert.deepEqual(idsIn(page.resources), ids.slice(start, start + 5), collection);
            assert.equal(page.total, ids.length, collection);
          }
          const walked: string[] = [];
          for (let start: Query["start"] | undefined = 0; start !== undefined; ) {
            const asked = { ...query, start, limit: 70, isCounted: false };
            const { resources, last } = await answerTo(store, asked, collection);
            walked.push(...idsIn(resources));
            start = last;
          }
          assert.deepEqual(walked, ids, collection);
        }
      },
    );
    await fc.assert(check, { numRuns: runs(4, 3_000), seed });
  });
}
