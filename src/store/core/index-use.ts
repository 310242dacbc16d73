// Finds out how one index serves a query: which entries it narrows it down to, and whether they are in its order.

import { isOfElements } from "../../model/field-kind.ts";
import { compoundKey, compoundSpan } from "../../model/query/compound-key.ts";
import type { Index, IndexField } from "../../model/query/index-plan.ts";
import { type Condition, isCondition, type Predicate } from "../../model/query/predicate.ts";
import type { Position, Query, Sorting } from "../../model/query/query.ts";
import {
  compareKeys,
  equalTo,
  minKey,
  noValue,
  type Span,
  someValue,
} from "../../model/query/sort-key.ts";
import { isPoint } from "../../model/query/spans.ts";

/** The entries of one index within spans. */
export interface IndexRange {
  readonly index: string;
  /** Sorted and not overlapping; undefined for all entries. */
  readonly spans: readonly Span[] | undefined;
}

/** The entries of one index, in its order: exactly the results of the query. */
export interface IndexScan extends IndexRange {
  readonly kind: "scan";
  /** Undefined when the entries of one key are read in order of creation. */
  readonly isDescending: boolean | undefined;
  /** Returns the key of the entry at a position of the query. */
  keyAt(position: Position): string;
}

/** A set of resources that includes all results. */
export interface IndexSource {
  /** The resources of each range together. */
  readonly ranges: readonly IndexRange[];
  /** The predicates that hold for exactly these resources. */
  readonly decided: readonly Predicate[];
  /** Whether each resource has one entry only, so that counting entries counts resources. */
  readonly isDistinct: boolean;
}

/** How one index serves a query. */
export interface IndexUse {
  /** Set when the index is in the order of the query. */
  readonly scan: IndexScan | undefined;
  /** Set when the index is in the order of the first fields of the sort order. */
  readonly byFirstKeys: IndexScan | undefined;
  /** Set when the index narrows the query down. */
  readonly source: IndexSource | undefined;
  readonly decided: readonly Predicate[];
}

export function useOf(
  index: Index,
  { conditions, sortings }: Pick<Query, "conditions" | "sortings">,
): IndexUse | undefined {
  const { fields, name } = index;
  const prefix = pointsIn(fields, conditions);
  const keys = prefix.map(({ key }) => key);
  const rest = fields.slice(prefix.length);
  const [next] = rest;
  const range = next && rangeOn(next, conditions);
  const isNarrow = prefix.length > 0 || range !== undefined;
  const { spans, isExact } = isNarrow ? spansOf(index, keys, range?.spans) : everyEntry;
  const decided = [
    ...prefix.map(({ condition }) => condition),
    ...(range?.isDecided && isExact ? [range.condition] : []),
  ];
  const isDistinct = !fields.some(isMultiple) || rest.length === 0;
  // A resource with several keys has another place in the order than one with only this key.
  const fixed = new Set(
    prefix.flatMap(({ condition }) => (isMultiple(condition) ? [] : condition.field)),
  );
  const isFree = sortings.map(({ field }) => !fixed.has(field));
  const free = sortings.filter((_, at) => isFree[at]);
  const isPartial = rest.length > 0 && rest.length < free.length;
  const direction = directionOf(rest, isPartial ? free.slice(0, rest.length) : free);
  if (!isNarrow && direction === undefined) return undefined;
  const keyAt = (position: Position) =>
    keyIn(index, [...keys, ...position.keys.filter((_, at) => isFree[at]).slice(0, rest.length)]);
  const isDescending = direction === "creation" ? undefined : direction === "down";
  const scan: IndexScan | undefined = direction && {
    kind: "scan",
    index: name,
    spans,
    isDescending,
    keyAt,
  };
  return {
    scan: isPartial ? undefined : scan,
    byFirstKeys: isPartial ? scan : undefined,
    source: isNarrow ? { ranges: [{ index: name, spans }], decided, isDistinct } : undefined,
    decided,
  };
}

interface Point {
  readonly condition: Condition;
  readonly key: string;
}

/** Returns the conditions that fix the first fields of an index to one key each. */
function pointsIn(
  fields: readonly IndexField[],
  predicates: readonly Predicate[],
): readonly Point[] {
  const points: Point[] = [];
  for (const field of fields) {
    const condition = conditionsOn(field, predicates).find(
      (each) => each.match === undefined && each.isNegated !== true && onlyKey(each) !== undefined,
    );
    if (condition === undefined) return points;
    points.push({ condition, key: onlyKey(condition) ?? minKey });
  }
  return points;
}

interface FieldRange {
  readonly condition: Condition;
  readonly spans: readonly Span[];
  /** Whether the condition holds for exactly the entries within the spans. */
  readonly isDecided: boolean;
}

/** Returns a condition that narrows a field down to some spans. */
function rangeOn(field: IndexField, predicates: readonly Predicate[]): FieldRange | undefined {
  const isSingle = !isMultiple(field);
  for (const condition of conditionsOn(field, predicates)) {
    const { spans, match, isNegated = false } = condition;
    if (!isNegated) return { condition, spans, isDecided: match === undefined };
    // A resource with several keys can have one outside of the spans and one within.
    if (isSingle && match === undefined)
      return { condition, spans: complementOf(spans), isDecided: true };
  }
  return undefined;
}

const conditionsOn = (
  { field, kind }: IndexField,
  predicates: readonly Predicate[],
): readonly Condition[] =>
  predicates.filter(
    (predicate): predicate is Condition =>
      isCondition(predicate) && predicate.field === field && predicate.kind === kind,
  );

/** Whether a resource can have several keys. */
const isMultiple = ({ field, kind }: Pick<IndexField, "field" | "kind">): boolean =>
  kind === "any" || isOfElements(field);

const isSimple = ({ fields: [first, ...more] }: Index): boolean =>
  first !== undefined && more.length === 0 && !first.isDescending;

interface IndexSpans {
  readonly spans: readonly Span[] | undefined;
  /** Whether no other entries are within the spans. */
  readonly isExact: boolean;
}

const everyEntry: IndexSpans = { spans: undefined, isExact: true };

/** Returns the spans of the entries whose first keys are these, and whose next key is in one of the spans. */
function spansOf(
  index: Index,
  keys: readonly string[],
  spans: readonly Span[] | undefined,
): IndexSpans {
  if (isSimple(index)) return { spans: spans ?? keys.map(equalTo), isExact: true };
  const all = (spans ?? [undefined]).map((span) => compoundSpan(index.fields, keys, span));
  const isDescending = index.fields[keys.length]?.isDescending ?? false;
  return {
    spans: isDescending ? all.toReversed() : all,
    isExact: all.every(({ isExact }) => isExact),
  };
}

const keyIn = (index: Index, keys: readonly string[]): string =>
  isSimple(index) ? (keys[0] ?? minKey) : compoundKey(index.fields, keys);

/**
 * Returns the direction in which the entries have the order of the query: by the remaining fields of the
 * index, or by creation when there are none.
 */
function directionOf(
  rest: readonly IndexField[],
  sortings: readonly Sorting[],
): "up" | "down" | "creation" | undefined {
  if (rest.length !== sortings.length) return undefined;
  if (rest.length === 0) return "creation";
  // A resource with several keys has no single place in the order.
  const isSame = rest.every((field, at) => {
    const sorting = sortings[at];
    const isOwn = sorting !== undefined && sorting.through === undefined;
    return (
      isOwn && field.field === sorting.field && field.kind === sorting.kind && !isMultiple(field)
    );
  });
  if (!isSame) return undefined;
  const turns = rest.map((field, at) => field.isDescending !== sortings[at]?.isDescending);
  if (turns.every((isTurned) => isTurned)) return "down";
  return turns.some((isTurned) => isTurned) ? undefined : "up";
}

/** Returns the key of a condition that matches exactly one key. */
function onlyKey({ spans }: Condition): string | undefined {
  const [span, ...more] = spans;
  const isOne = span && more.length === 0 && (isPoint(span) || span.to === noValue.to);
  return isOne ? span.from : undefined;
}

/** Returns the spans between the given ones, which are sorted and disjoint. */
function complementOf(spans: readonly Span[]): readonly Span[] {
  const starts = [minKey, ...spans.map(({ to }) => to)];
  const ends = [...spans.map(({ from }) => from), someValue.to];
  return starts
    .map((from, at) => ({ from, to: ends[at] ?? someValue.to }))
    .filter(({ from, to }) => compareKeys(from, to) < 0);
}
