// Finds and replaces the conditions of a query on resources in other collections.

import { isOfElements } from "../field-kind.ts";
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

/** Returns the conditions for which the index of a reference narrows a query down. */
export function indexable(predicate: Predicate): readonly Related[] {
  if ("related" in predicate) return [predicate];
  if ("allOf" in predicate) return predicate.allOf.flatMap(indexable);
  if ("some" in predicate) return indexable(predicate.some);
  return "anyOf" in predicate ? predicate.anyOf.flatMap(indexable) : [];
}

/** Joins the conditions on one reference, so that fewer resources match them. */
export function joined(predicates: readonly Predicate[]): readonly Predicate[] {
  const results: Predicate[] = [];
  for (const predicate of predicates) {
    const index = results.findIndex((other) => isSameResource(other, predicate));
    const other = results[index];
    if (other && "related" in other && "related" in predicate)
      results[index] = { ...other, related: { allOf: [other.related, predicate.related] } };
    else results.push(predicate);
  }
  return results;
}

/** Several elements of an array can refer to different resources. */
const isSameResource = (one: Predicate, other: Predicate): boolean =>
  "related" in one &&
  "related" in other &&
  one.reference === other.reference &&
  one.kind !== "any" &&
  !isOfElements(one.reference);
