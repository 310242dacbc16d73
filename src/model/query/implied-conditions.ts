// Finds what a condition on one element of an array says about all elements, which indexes know.

import { elementsOf } from "../field-kind.ts";
import { type Condition, isCondition, type Predicate, type Some } from "./predicate.ts";
import { compareKeys, someValue } from "./sort-key.ts";

/** Returns conditions on the elements of the array, with whole paths: they hold if one element matches. */
export const impliedBySome = ({ field, some }: Some): readonly Condition[] =>
  impliedBy(some).map((condition) => ({
    ...condition,
    field: condition.field === "" ? elementsOf(field) : `${elementsOf(field)}.${condition.field}`,
  }));

function impliedBy(predicate: Predicate): readonly Condition[] {
  if (isCondition(predicate)) return isOfValues(predicate) ? [predicate] : [];
  if ("allOf" in predicate) return predicate.allOf.flatMap(impliedBy);
  return "some" in predicate ? impliedBySome(predicate) : [];
}

/** An element without a value is in no index when another element has one. */
const isOfValues = ({ spans, isNegated = false }: Condition): boolean =>
  !isNegated && spans.every(({ from }) => compareKeys(from, someValue.from) >= 0);
