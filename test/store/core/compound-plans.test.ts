// Plans of queries that an index over several fields can answer, and of some that it cannot.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { indexPlanOf } from "../../../src/model/query/index-plan.ts";
import type { Query } from "../../../src/model/query/query.ts";
import { from, keyOf } from "../../../src/model/query/sort-key.ts";
import { planQuery } from "../../../src/store/core/query-plan.ts";
import { ask, by, is, where } from "../contract/query-helpers.ts";

const text = { type: "string" };
const plan = indexPlanOf(
  JSON.stringify({
    schema: { properties: { tenant: text, status: text, total: { type: "number" } } },
    indexed: [["tenant", "status", "-total"]],
    unique: [["tenant", "number"]],
  }),
);
const index = '["tenant","status","-total"]';

const tenant = is("tenant", "text", "acme");
const status = is("status", "text", "open");
const many = where("total", "number", from(keyOf("number", 100)));
const down = by("total", "number", true);

const scans: Readonly<Record<string, Partial<Query>>> = {
  "its first fields, sorted by the next": { conditions: [tenant, status], sortings: [down] },
  "its first fields, sorted backwards": {
    conditions: [tenant, status],
    sortings: [by("total", "number")],
  },
  "its first fields in another order, and a range": {
    conditions: [many, status, tenant],
    sortings: [down],
  },
  "its first field, sorted by the others": {
    conditions: [tenant],
    sortings: [by("status", "text"), down],
  },
  "nothing, sorted by all fields": {
    sortings: [by("tenant", "text", true), by("status", "text", true), by("total", "number")],
  },
  "all fields": { conditions: [tenant, status, is("total", "number", 5)] },
};

const filters: Readonly<Record<string, Partial<Query>>> = {
  "a later field alone": { conditions: [status] },
  "its first field, sorted by the last": { conditions: [tenant], sortings: [down] },
  "its first field, sorted in directions that it does not have": {
    conditions: [tenant],
    sortings: [by("status", "text"), by("total", "number")],
  },
  "its first fields, in order of creation": { conditions: [tenant, status] },
};

describe("an index over several fields", () => {
  for (const [title, query] of Object.entries(scans))
    it(`answers alone: ${title}`, () => {
      const found = planQuery(plan, ask(query));
      assert.deepEqual([found.kind, "index" in found && found.index], ["scan", index]);
    });

  for (const [title, query] of Object.entries(filters))
    it(`does not answer alone: ${title}`, () => {
      const found = planQuery(plan, ask(query));
      assert.ok(found.kind === "filter");
      const sources = found.sources.flatMap(({ ranges }) => ranges.map((range) => range.index));
      const isNarrowed = query.conditions?.includes(tenant) ?? false;
      assert.equal(sources.includes(index), isNarrowed);
    });
});
