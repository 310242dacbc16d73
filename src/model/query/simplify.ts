// Simplifies predicates, so that indexes can answer more of them: negations move to the conditions, and
// conditions on the same field become one.

import { isOfElements } from "../field-kind.ts";
import { type Condition, isCondition, type Predicate } from "./predicate.ts";
import { complementOf, intersectionOf, unionOf } from "./spans.ts";

/** Returns predicates that all hold exactly when all of these hold. */
export const simplified = (predicates: readonly Predicate[]): readonly Predicate[] =>
  conjunction(predicates.flatMap((predicate) => conjuncts(predicate, false)));

/** Returns the parts of a predicate, or of its negation, that must all hold. */
function conjuncts(predicate: Predicate, isNegated: boolean): readonly Predicate[] {
  if (isCondition(predicate))
    return [isNegated ? negationOf(predicate) : withoutNegation(predicate)];
  if ("not" in predicate) return conjuncts(predicate.not, !isNegated);
  if ("some" in predicate) {
    const some = { field: predicate.field, some: allOf(simplified([predicate.some])) };
    return [isNegated ? { not: some } : some];
  }
  if ("related" in predicate) {
    const related = { ...predicate, related: allOf(simplified([predicate.related])) };
    return [isNegated ? { not: related } : related];
  }
  const isAll = "allOf" in predicate;
  const parts = isAll ? predicate.allOf : predicate.anyOf;
  if (isAll !== isNegated) return parts.flatMap((part) => conjuncts(part, isNegated));
  return disjunction(parts.map((part) => conjunction(conjuncts(part, isNegated))));
}

/** Whether the field has one key in each resource. */
const isSingle = ({ field, kind }: Condition): boolean => kind !== "any" && !isOfElements(field);

const negationOf = ({ isNegated = false, ...condition }: Condition): Condition =>
  withoutNegation(isNegated ? condition : { ...condition, isNegated: true });

/** One key is outside of the spans when it is in the others. */
function withoutNegation(condition: Condition): Condition {
  const { isNegated, ...plain } = condition;
  if (isNegated !== true || condition.match !== undefined || !isSingle(condition)) return condition;
  return { ...plain, spans: complementOf(plain.spans) };
}

const allOf = (predicates: readonly Predicate[]): Predicate =>
  predicates.length === 1 && predicates[0] ? predicates[0] : { allOf: predicates };

/** Joins the conditions on each field with one key. */
function conjunction(predicates: readonly Predicate[]): readonly Predicate[] {
  const results: Predicate[] = [];
  /** The place of the first condition on each field. */
  const places = new Map<string, number>();
  for (const predicate of predicates) {
    const key = isJoinable(predicate) && isSingle(predicate) ? keyOf(predicate) : "";
    const place = places.get(key);
    const joined = place === undefined ? undefined : both(results[place], predicate);
    if (place !== undefined && joined !== undefined) results[place] = joined;
    else results.push(predicate);
    if (place === undefined && key !== "") places.set(key, results.length - 1);
  }
  return results;
}

/** Returns one condition for two on the same field, or undefined when there is none. */
function both(one: Predicate | undefined, other: Predicate): Condition | undefined {
  if (one === undefined || !isCondition(one) || !isCondition(other)) return undefined;
  if (one.match !== undefined && other.match !== undefined) return undefined;
  return { ...one, ...other, spans: intersectionOf(one.spans, other.spans) };
}

/** Joins the alternatives for each field. */
function disjunction(parts: readonly (readonly Predicate[])[]): readonly Predicate[] {
  const [only, ...more] = parts;
  if (only && more.length === 0) return only;
  if (parts.some((part) => part.length === 0)) return [];
  const all = parts.map(allOf).flatMap((part) => ("anyOf" in part ? part.anyOf : [part]));
  const anyOf = alternatives(all);
  return anyOf.length === 1 ? anyOf : [{ anyOf }];
}

/** Rules can have more than a thousand, so those on one field are joined at once. */
function alternatives(predicates: readonly Predicate[]): readonly Predicate[] {
  const groups = Map.groupBy(predicates.filter(isSpansOnly), keyOf);
  return predicates.flatMap((predicate): readonly Predicate[] => {
    if (!isSpansOnly(predicate)) return [predicate];
    const key = keyOf(predicate);
    const [first, ...more] = groups.get(key) ?? [];
    groups.delete(key);
    if (first === undefined) return [];
    if (more.length === 0) return [first];
    return [{ ...first, spans: unionOf([first, ...more].flatMap(({ spans }) => spans)) }];
  });
}

const isJoinable = (predicate: Predicate): predicate is Condition =>
  isCondition(predicate) && predicate.isNegated !== true;

const isSpansOnly = (predicate: Predicate): predicate is Condition =>
  isJoinable(predicate) && predicate.match === undefined;

const keyOf = ({ field, kind }: Condition): string => `${kind} ${field}`;
