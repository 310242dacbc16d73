// Describes a query without its values: the fields with their operators, the sort order, and whether it searches.

import { redactSecrets } from "../secret.ts";
import { ownerField } from "./index-plan.ts";
import { type Condition, isCondition, type Predicate } from "./predicate.ts";
import type { Query } from "./query.ts";
import { noValue, type Span, someValue } from "./sort-key.ts";
import { complementOf, isPoint } from "./spans.ts";

export interface QueryShape {
  /** Such as `status eq and (total range or note contains)`. */
  readonly where: string;
  /** The fields of the sort order; `-` means descending. */
  readonly sort: readonly string[];
  readonly isSearch: boolean;
}

/** A longer description is cut. */
const maxChars = 1_000;

export function shapeOf({ conditions, sortings, words, isNewestFirst }: Query): QueryShape {
  const sort = sortings.map(({ field, isDescending }) => (isDescending ? `-${field}` : field));
  return {
    where: cut(joined(conditions, " and ")),
    sort: (isNewestFirst ? [...sort, "-createdAt"] : sort).map(cut),
    isSearch: words.length > 0,
  };
}

function cut(text: string): string {
  const safe = redactSecrets(text);
  return safe.length > maxChars ? `${safe.slice(0, maxChars).toWellFormed()}…` : safe;
}

/** Conditions of the same shape are listed once. */
const joined = (predicates: readonly Predicate[], word: string, isElement = false): string =>
  [...new Set(predicates.map((each) => shapeOfPredicate(each, isElement)))].join(word);

/** Fields are those of an element of an array, or those of the resource. */
function shapeOfPredicate(predicate: Predicate, isElement: boolean): string {
  if (isCondition(predicate)) {
    const operator = operatorOf(predicate);
    if (predicate.field !== ownerField) return `${predicate.field} ${operator}`;
    // Without a name it is the element itself.
    return isElement ? operator : `_owner ${operator}`;
  }
  if ("anyOf" in predicate) return `(${joined(predicate.anyOf, " or ", isElement)})`;
  if ("allOf" in predicate) return `(${joined(predicate.allOf, " and ", isElement)})`;
  if ("not" in predicate) return `not (${shapeOfPredicate(predicate.not, isElement)})`;
  if ("some" in predicate)
    return `${predicate.field} some (${shapeOfPredicate(predicate.some, true)})`;
  return `${predicate.field} refers to (${shapeOfPredicate(predicate.related, false)})`;
}

/** Spans do not tell all operators apart; `range` stands for the comparisons by size. */
function operatorOf({ spans, match, isNegated = false }: Condition): string {
  if (match !== undefined) return isNegated ? `not ${match.operator}` : match.operator;
  if (spans.every(isPoint)) return operatorOfValues(spans, isNegated);
  if ([noValue, someValue].some((span) => isSame(spans, [span]))) return "exists";
  const others = complementOf(spans);
  if (!isNegated && others.every(isPoint)) return operatorOfValues(others, true);
  return isNegated ? "not range" : "range";
}

function operatorOfValues({ length }: readonly Span[], isNegated: boolean): string {
  if (length > 1) return isNegated ? "not in" : "in";
  return isNegated ? "ne" : "eq";
}

const isSame = (one: readonly Span[], other: readonly Span[]): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
