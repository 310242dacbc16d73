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
  return joined(predicates, (one, other) =>
    isSingle(one) && (one.match === undefined || other.match === undefined)
      ? { ...one, ...other, spans: intersectionOf(one.spans, other.spans) }
      : undefined,
  );
}

/** Joins the alternatives for each field. */
function disjunction(parts: readonly (readonly Predicate[])[]): readonly Predicate[] {
  const [only, ...more] = parts;
  if (only && more.length === 0) return only;
  if (parts.some((part) => part.length === 0)) return [];
  const all = parts.map(allOf).flatMap((part) => ("anyOf" in part ? part.anyOf : [part]));
  const anyOf = joined(all, (one, other) =>
    one.match === undefined && other.match === undefined
      ? { ...one, spans: unionOf([...one.spans, ...other.spans]) }
      : undefined,
  );
  return anyOf.length === 1 ? anyOf : [{ anyOf }];
}

/** Returns one condition for both, or undefined when there is none. */
type Join = (one: Condition, other: Condition) => Condition | undefined;

/** Joins conditions on the same field that are not negated. */
function joined(predicates: readonly Predicate[], join: Join): readonly Predicate[] {
  const results: Predicate[] = [];
  for (const predicate of predicates) {
    const both = results.map((other) => joinedWith(other, predicate, join));
    const index = both.findIndex((each) => each !== undefined);
    const condition = both[index];
    if (condition === undefined) results.push(predicate);
    else results[index] = condition;
  }
  return results;
}

function joinedWith(one: Predicate, other: Predicate, join: Join): Condition | undefined {
  const isPossible = isJoinable(one) && isJoinable(other) && isSameField(one, other);
  return isPossible ? join(one, other) : undefined;
}

const isJoinable = (predicate: Predicate): predicate is Condition =>
  isCondition(predicate) && predicate.isNegated !== true;

const isSameField = (one: Condition, other: Condition): boolean =>
  one.field === other.field && one.kind === other.kind;
