// Finds what a definition lacks for a query: indexes, and the types of fields.

import { definitionLimits } from "../definition-schema.ts";
import { isOfElements } from "../field-kind.ts";
import { type ListedField, type ListedIndex, maxIndexFields, readIndex } from "../listed-index.ts";
import { holdsSecret } from "../secret.ts";
import { type IndexPlan, ownerField } from "./index-plan.ts";
import { type Condition, isCondition, type Predicate } from "./predicate.ts";
import type { Query, Sorting } from "./query.ts";
import { indexable, joined } from "./related.ts";
import { simplified } from "./simplify.ts";
import { beginningWith, noValue, type ValueKind } from "./sort-key.ts";
import { isPoint } from "./spans.ts";

/** Returns entries for `indexed`: one over several fields where equal values come with a range or a sort order. */
export function missingIndexes(
  { conditions, sortings, isCounted }: Pick<Query, "conditions" | "sortings" | "isCounted">,
  { indexes }: IndexPlan,
): readonly ListedIndex[] {
  const useful = conditions.filter(isCondition).filter(isUseful);
  const nested = conditions.filter((predicate) => !isCondition(predicate)).flatMap(conditionsIn);
  const equal = useful.filter(isEqual);
  const ranges = useful.filter((condition) => !isEqual(condition));
  const fixed = new Set(equal.map(({ field }) => field));
  const sorted = sortings.filter(({ field }) => !fixed.has(field));
  const isIndexable = ({ field, through }: Sorting) => !isFree(field) && through === undefined;
  // A total that no index decides takes a look at all matches, in any order.
  const isOrdered = !isCounted || conditions.every(isDecidable);
  const hasOrder = isOrdered && sorted.length > 0 && sorted.every(isIndexable);
  const order = hasOrder ? sorted : [];
  const joined: readonly IndexPart[] = [...equal, ...(hasOrder ? order : ranges.slice(0, 1))];
  const canJoin = joined.length > 0 && joined.length <= maxIndexFields && joined.every(isSingle);
  const alone = canJoin ? (equal.length > 0 ? [] : ranges) : [...equal, ...ranges, ...order];
  const wanted = [
    ...(canJoin ? [listed(joined)] : []),
    ...[...alone, ...nested.filter(isUseful)].map(({ field }) => field),
  ];
  const existing = new Set(indexes.map(({ fields }) => keyOfParts(fields, equal.length)));
  const isMissing = (index: ListedIndex) =>
    !existing.has(keyOfParts(readIndex(index).fields, equal.length));
  const missing = wanted.filter((index) => isMissing(index) && [index].flat().every(isListable));
  return unique(missing);
}

const unique = (indexes: readonly ListedIndex[]): readonly ListedIndex[] => [
  ...new Map(indexes.map((index) => [JSON.stringify(index), index])).values(),
];

/** Returns the same for the conditions on other collections, by their names. `planOf` knows those that exist. */
export function missingIndexesElsewhere(
  conditions: readonly Predicate[],
  planOf: (collection: string) => IndexPlan | undefined,
): Readonly<Record<string, readonly ListedIndex[]>> {
  const missing: Record<string, readonly ListedIndex[]> = {};
  const visit = (some: readonly Predicate[]): void => {
    for (const { collection, related } of joined(some).flatMap(indexable)) {
      const plan = planOf(collection);
      const inside = simplified([related]);
      const query = { conditions: inside, sortings: [], isCounted: false };
      const found = plan === undefined ? [] : missingIndexes(query, plan);
      if (found.length > 0)
        missing[collection] = unique([...(missing[collection] ?? []), ...found]);
      visit(inside);
    }
  };
  visit(conditions);
  return missing;
}

/**
 * Returns the fields that need a declared type. An index over values of any type has several entries for a
 * list, so that it is in no order, and does not tell which resources have no such value.
 */
export function undeclaredFields({
  conditions,
  sortings,
}: Pick<Query, "conditions" | "sortings">): readonly string[] {
  const negated = conditions.filter(isCondition).filter(({ isNegated }) => isNegated === true);
  const own = sortings.filter(({ through }) => through === undefined);
  const fields = [...own, ...negated].filter(
    ({ field, kind }) =>
      kind === "any" && !isOfElements(field) && !isFree(field) && isListable(field),
  );
  return [...new Set(fields.map(({ field }) => field))];
}

interface IndexPart {
  readonly field: string;
  readonly kind: ValueKind;
  readonly isDescending?: boolean;
}

/** Every collection has indexes for these fields. */
const freeFields = new Set(["id", "createdAt", "updatedAt", ownerField]);
const isFree = (field: string): boolean => freeFields.has(field);

/** Whether a definition can list the field. A client can ask for any name where no schema declares the fields. */
const isListable = (field: string): boolean =>
  field.length <= definitionLimits.maxFieldChars && !holdsSecret(field);

const everyText = beginningWith("").from;

/** Whether an index leaves fewer resources to check. Texts that are matched anywhere are all read. */
const isUseful = ({ field, spans, match, isNegated = false }: Condition): boolean =>
  !isFree(field) && !isNegated && (match === undefined || spans[0]?.from !== everyText);

/** Whether an index can tell how many resources match. */
const isDecidable = (predicate: Predicate): boolean =>
  isCondition(predicate) && isIndexed(predicate);

/** Whether the condition has an index, or can have one. */
const isIndexed = (condition: Condition): boolean => isFree(condition.field) || isUseful(condition);

const isEqual = ({ spans: [span, ...more] }: Condition): boolean =>
  span !== undefined && more.length === 0 && (isPoint(span) || span.to === noValue.to);

/** An index over several fields needs one value of a declared type in each. */
const isSingle = ({ field, kind }: IndexPart): boolean => kind !== "any" && !isOfElements(field);

function listed(parts: readonly IndexPart[]): ListedIndex {
  const [first, ...more] = parts;
  if (first && more.length === 0) return first.field;
  return parts.map(({ field, isDescending = false }) => (isDescending ? `-${field}` : field));
}

/** The first fields, which have equal values, can be in any order and direction. */
function keyOfParts(parts: readonly ListedField[], equal: number): string {
  const names = parts.map(({ field, isDescending }, at) =>
    isDescending && at >= equal && parts.length > 1 ? `-${field}` : field,
  );
  return JSON.stringify([...names.slice(0, equal).sort(), ...names.slice(equal)]);
}

/** The conditions in a nested predicate, with whole paths. */
function conditionsIn(predicate: Predicate): readonly Condition[] {
  if (isCondition(predicate)) return [predicate];
  if ("anyOf" in predicate) {
    const branches = predicate.anyOf.map(conditionsIn);
    // Without an index for one of them, all resources are read.
    return branches.every((branch) => branch.some(isIndexed)) ? branches.flat() : [];
  }
  if ("allOf" in predicate) return predicate.allOf.flatMap(conditionsIn);
  // An index of elements does not tell which resources have none.
  if ("not" in predicate) return [];
  // Every reference is indexed; `missingIndexesElsewhere` has what is asked of the others.
  if ("related" in predicate) return [];
  const inside = conditionsIn(predicate.some);
  return inside.map((each) => ({
    ...each,
    field: each.field === "" ? `${predicate.field}[]` : `${predicate.field}[].${each.field}`,
  }));
}
