// Finds and replaces the conditions of a query on resources in other collections.

import type { Predicate, Related } from "./predicate.ts";
import type { Query } from "./query.ts";

/** Whether the query depends on other collections. */
export const isRelated = ({ conditions, sortings }: Query): boolean =>
  conditions.some((predicate) => relatedIn(predicate).length > 0) ||
  sortings.some(({ through }) => through !== undefined);

/** Returns the conditions on other collections, but not those inside of them. */
export function relatedIn(predicate: Predicate): readonly Related[] {
  if ("related" in predicate) return [predicate];
  if ("anyOf" in predicate) return predicate.anyOf.flatMap(relatedIn);
  if ("allOf" in predicate) return predicate.allOf.flatMap(relatedIn);
  if ("not" in predicate) return relatedIn(predicate.not);
  return "some" in predicate ? relatedIn(predicate.some) : [];
}

export function replaceRelated(
  predicate: Predicate,
  replace: (related: Related) => Predicate,
): Predicate {
  const inside = (inner: Predicate) => replaceRelated(inner, replace);
  if ("related" in predicate) return replace(predicate);
  if ("anyOf" in predicate) return { anyOf: predicate.anyOf.map(inside) };
  if ("allOf" in predicate) return { allOf: predicate.allOf.map(inside) };
  if ("not" in predicate) return { not: inside(predicate.not) };
  return "some" in predicate ? { ...predicate, some: inside(predicate.some) } : predicate;
}
