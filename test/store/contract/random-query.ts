// Random queries on the fields that the random sequences write.

import { ownerField } from "../../../src/model/query/index-plan.ts";
import {
  above,
  equalTo,
  keyOf,
  noValue,
  someValue,
  type ValueKind,
} from "../../../src/model/query/sort-key.ts";
import fc from "../../fast-check.ts";
import { ask, by, where, wordsLike } from "./query-helpers.ts";

const condition = fc.oneof(
  fc
    .tuple(fc.constantFrom("n", "list", "t"), fc.constantFrom(-1, 7, 1, "x", "x y", null, true))
    .map(([field, value]) => where(field, kindIn(field), equalTo(keyOf(kindIn(field), value)))),
  fc
    .tuple(
      fc.constantFrom("n", "list", "t", ownerField, "updatedAt"),
      fc.constantFrom([noValue], [someValue], [above(keyOf("number", 0))], [noValue, someValue]),
    )
    .map(([field, spans]) => where(field, kindIn(field), ...spans)),
  fc
    .constantFrom("ann", "bob")
    .map((owner) => where(ownerField, "text", equalTo(keyOf("text", owner)))),
);

function kindIn(field: string): ValueKind {
  if (field === "updatedAt") return "time";
  return field === "n" ? "number" : field === "list" ? "any" : "text";
}

export const randomQuery = fc
  .record({
    conditions: fc.array(
      fc.record({ condition, isNegated: fc.constantFrom(false, false, false, true) }),
      { maxLength: 2 },
    ),
    words: fc.constantFrom([], [], [], wordsLike("x"), wordsLike("x y*"), wordsLike("e")),
    sorted: fc.uniqueArray(
      fc.record({ field: fc.constantFrom("n", "t", "list"), isDescending: fc.boolean() }),
      { maxLength: 2, selector: ({ field }) => field },
    ),
    isNewestFirst: fc.boolean(),
    limit: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ conditions, sorted, ...more }) =>
    ask({
      conditions: conditions.map(({ condition, isNegated }) => ({ ...condition, isNegated })),
      sortings: sorted.map(({ field, isDescending }) => by(field, kindIn(field), isDescending)),
      ...more,
    }),
  );
