// The description of a query without its values, and the indexes that would help it.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { conditionOf } from "../../src/model/query/filter.ts";
import { indexPlanOf, ownerField } from "../../src/model/query/index-plan.ts";
import {
  missingIndexes,
  missingIndexesElsewhere,
  undeclaredFields,
} from "../../src/model/query/missing-indexes.ts";
import type { Operator } from "../../src/model/query/operators.ts";
import type { Condition, Predicate } from "../../src/model/query/predicate.ts";
import type { Query, Sorting } from "../../src/model/query/query.ts";
import { shapeOf } from "../../src/model/query/query-shape.ts";
import { simplified } from "../../src/model/query/simplify.ts";
import type { ValueKind } from "../../src/model/query/sort-key.ts";
import { newSecret } from "../../src/model/secret.ts";

function where(
  field: string,
  operator: Operator,
  operand: unknown,
  kind: ValueKind = "text",
): Condition {
  const condition = conditionOf({ field, kind, operator, operand, isFromUrl: false });
  if (typeof condition === "string") throw new Error(condition);
  return condition;
}

const by = (field: string, isDescending = false, kind: ValueKind = "text"): Sorting => ({
  field,
  kind,
  isDescending,
});

const queryOf = (conditions: readonly Predicate[], sortings: readonly Sorting[] = []): Query => ({
  conditions: simplified(conditions),
  sortings,
  words: [],
  isNewestFirst: false,
  start: 0,
  limit: 20,
  isCounted: true,
});

const noIndexes = indexPlanOf("{}");
const indexed = (...list: unknown[]) => indexPlanOf(JSON.stringify({ indexed: list }));

const status = where("status", "eq", "open");
const total = where("total", "gt", 5, "number");

describe("missing indexes", () => {
  const advice = (
    conditions: readonly Predicate[],
    sortings: readonly Sorting[] = [],
    plan = noIndexes,
  ) => missingIndexes(queryOf(conditions, sortings), plan);

  it("are the single fields of conditions", () => {
    assert.deepEqual(advice([status]), ["status"]);
    assert.deepEqual(advice([total]), ["total"]);
    assert.deepEqual(advice([total, where("name", "startsWith", "a")]), ["total", "name"]);
  });

  it("are one index over equal values and the sort order", () => {
    assert.deepEqual(advice([status], [by("total", true, "number")]), [["status", "-total"]]);
    const both = advice([status, where("tenant", "eq", "x")], [by("name")]);
    assert.deepEqual(both, [["status", "tenant", "name"]]);
  });

  it("are one index over equal values and a range", () => {
    assert.deepEqual(advice([status, total]), [["status", "total"]]);
    assert.deepEqual(advice([status, where("gone", "exists", false)]), [["status", "gone"]]);
  });

  it("are one index over a sort order", () => {
    assert.deepEqual(advice([], [by("price", true)]), ["price"]);
    assert.deepEqual(advice([], [by("price"), by("name", true)]), [["price", "-name"]]);
    assert.deepEqual(advice([where("price", "gt", "5")], [by("price")]), ["price"]);
  });

  it("include the sort order only where not all matches must be looked at for the total", () => {
    const anywhere = where("name", "icontains", "x");
    assert.deepEqual(advice([anywhere], [by("price")]), []);
    assert.deepEqual(advice([status, anywhere], [by("price")]), ["status"]);
    const recent = where("createdAt", "gt", "2026-01-01", "time");
    assert.deepEqual(advice([recent], [by("price")]), ["price"]);
    const uncounted = { ...queryOf([anywhere], [by("price")]), isCounted: false };
    assert.deepEqual(missingIndexes(uncounted, noIndexes), ["price"]);
  });

  it("are single fields where no index over several is possible", () => {
    const undeclared = where("status", "eq", "open", "any");
    assert.deepEqual(advice([undeclared], [by("name")]), ["status", "name"]);
    const element = where("lines[].sku", "eq", "a");
    assert.deepEqual(advice([element, total]), ["lines[].sku", "total"]);
    const many = ["a", "b", "c", "d", "e"].map((field) => where(field, "eq", "x"));
    assert.deepEqual(advice(many), ["a", "b", "c", "d", "e"]);
  });

  it("include the fields of nested conditions", () => {
    const anyOf = { anyOf: [status, { allOf: [total, where("name", "eq", "x")] }] };
    assert.deepEqual(advice([anyOf]), ["status", "total", "name"]);
    const some = { field: "lines", some: where("sku", "eq", "a") };
    assert.deepEqual(advice([some]), ["lines[].sku"]);
    // All resources are read for the other branch.
    assert.deepEqual(advice([{ anyOf: [status, where("name", "contains", "x")] }]), []);
    const recent = where("createdAt", "gt", "2026-01-01", "time");
    assert.deepEqual(advice([{ anyOf: [status, recent] }]), ["status"]);
  });

  it("are also those of collections that conditions reach through references", () => {
    const inShop = (related: Predicate, reference = "shop"): Predicate => ({
      ...{ field: reference, kind: "text", reference, collection: "shops", related },
    });
    const elsewhere = (conditions: readonly Predicate[], plan = noIndexes) =>
      missingIndexesElsewhere(conditions, (name) => (name === "shops" ? plan : undefined));
    const city = inShop(where("city", "eq", "A"));
    assert.deepEqual(advice([city]), []);
    assert.deepEqual(elsewhere([city]), { shops: ["city"] });
    assert.deepEqual(elsewhere([city, inShop(total)]), { shops: [["city", "total"]] });
    assert.deepEqual(elsewhere([city, inShop(total, "other")]), { shops: ["city", "total"] });
    assert.deepEqual(elsewhere([inShop(inShop(status))]), { shops: ["status"] });
    assert.deepEqual(elsewhere([city], indexed("city")), {});
    assert.deepEqual(elsewhere([{ not: city }]), {});
    assert.deepEqual(elsewhere([{ ...inShop(status), collection: "unknown" } as Predicate]), {});
  });

  it("are none for texts that match anywhere, and for fields that need none", () => {
    assert.deepEqual(advice([where("name", "icontains", "x")]), []);
    assert.deepEqual(advice([where("name", "like", "*x")]), []);
    assert.deepEqual(advice([where("id", "gt", "a"), where(ownerField, "eq", "ann")]), []);
    assert.deepEqual(advice([status], [by("updatedAt", true, "time")]), ["status"]);
  });

  it("are none that exist, in whatever order their equal values are", () => {
    assert.deepEqual(advice([status], [], indexed("status")), []);
    const order = [by("total", true, "number")];
    assert.deepEqual(advice([status], order, indexed("status")), [["status", "-total"]]);
    assert.deepEqual(advice([status], order, indexed(["status", "-total"])), []);
    const two = [status, where("tenant", "eq", "x")];
    assert.deepEqual(advice(two, order, indexed(["tenant", "status", "-total"])), []);
  });

  it("are none that a definition cannot list, and contain no secret", () => {
    assert.deepEqual(advice([where("a".repeat(257), "eq", "x")]), []);
    assert.deepEqual(advice([where(newSecret(), "eq", "x")]), []);
  });
});

describe("undeclared fields", () => {
  const fieldsOf = (conditions: readonly Predicate[], ...sortings: readonly Sorting[]) =>
    undeclaredFields(queryOf(conditions, sortings));

  it("are those of a sort order or a negation over values of any type", () => {
    assert.deepEqual(fieldsOf([], by("a", false, "any"), by("b", true, "any")), ["a", "b"]);
    assert.deepEqual(fieldsOf([where("a", "ne", 1, "any")], by("a", true, "any")), ["a"]);
  });

  it("are none where a type changes nothing", () => {
    assert.deepEqual(fieldsOf([where("a", "eq", 1, "any"), where("b", "gt", 1, "any")]), []);
    assert.deepEqual(fieldsOf([where("a", "ne", "x")], by("b"), by("id"), by("updatedAt")), []);
    assert.deepEqual(fieldsOf([where("tags[]", "ne", 1, "any")]), []);
    const shop = {
      reference: "shop",
      collection: "shops",
      visible: [],
      field: "n",
      kind: "any",
    } as const;
    assert.deepEqual(fieldsOf([], { ...by("name", false, "any"), through: shop }), []);
    assert.deepEqual(fieldsOf([], by(newSecret(), false, "any")), []);
  });
});

describe("the shape of a query", () => {
  const shapeWhere = (...conditions: Predicate[]) => shapeOf(queryOf(conditions)).where;

  it("has fields and operators, and no values", () => {
    const cases: readonly (readonly [Operator, unknown, string])[] = [
      ["eq", "secret", "f eq"],
      ["ne", "secret", "f ne"],
      ["in", ["secret", "other"], "f in"],
      ["gt", "secret", "f range"],
      ["exists", true, "f exists"],
      ["exists", false, "f exists"],
      ["contains", "secret", "f contains"],
      ["startsWith", "secret", "f range"],
      ["icontains", "secret", "f icontains"],
    ];
    for (const [operator, operand, expected] of cases)
      assert.equal(shapeWhere(where("f", operator, operand)), expected);
  });

  it("shows nested conditions, owners and the order", () => {
    const some = { field: "lines", some: where("sku", "eq", "a") };
    assert.equal(
      shapeWhere(where(ownerField, "eq", "ann"), { anyOf: [status, total] }, { not: some }),
      "_owner eq and (status eq or total range) and not (lines some (sku eq))",
    );
    const elements = {
      field: "tags",
      some: { anyOf: [where("", "eq", "a"), where("", "like", "*b*")] },
    };
    assert.equal(shapeWhere(elements), "tags some ((eq or like))");
    const query = { ...queryOf([], [by("total", true)]), isNewestFirst: true };
    assert.deepEqual(shapeOf(query).sort, ["-total", "-createdAt"]);
    assert.equal(shapeOf({ ...query, words: [{ text: "a", isPrefix: false }] }).isSearch, true);
  });

  it("is of limited length and contains no secret", () => {
    const secret = newSecret();
    assert.equal(shapeWhere(where(secret, "eq", "x")), "rst_... eq");
    const long = shapeWhere(where("a".repeat(5_000), "eq", "x"));
    assert.equal(long.length, 1_001);
  });
});
