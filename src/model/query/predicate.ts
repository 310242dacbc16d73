// The conditions of a query, and their evaluation in memory. A missing value equals nothing, and a negation is a plain one.

import { elementsOf, isOfElements } from "../field-kind.ts";
import { keysAt, valueIn } from "./field-path.ts";
import { beginningWith, keyOf, type Span, type ValueKind } from "./sort-key.ts";
import { isInAny, isPoint } from "./spans.ts";
import { matcherOf, type TextMatch } from "./text-match.ts";

export type Predicate = Condition | AnyOf | AllOf | Not | Some | Related;

/** Matches when one of the field's keys is in one of the spans. */
export interface Condition {
  readonly field: string;
  readonly kind: ValueKind;
  /** Sorted and disjoint. Without spans nothing matches. */
  readonly spans: readonly Span[];
  /** Matches when no key is in the spans. */
  readonly isNegated?: boolean;
  /** The text must match as well. */
  readonly match?: TextMatch;
}

export interface AnyOf {
  readonly anyOf: readonly Predicate[];
}

export interface AllOf {
  readonly allOf: readonly Predicate[];
}

export interface Not {
  readonly not: Predicate;
}

/** Matches when one element of the array matches. Paths inside are relative to the element. */
export interface Some {
  readonly field: string;
  readonly some: Predicate;
}

/** Matches when the field refers to a resource of another collection that matches. */
export interface Related {
  /** The path of the reference, inside `some` relative to the element. */
  readonly field: string;
  readonly kind: ValueKind;
  /** The whole path of the reference. */
  readonly reference: string;
  readonly collection: string;
  readonly related: Predicate;
}

export const isCondition = (predicate: Predicate): predicate is Condition => "spans" in predicate;

/** What a predicate is evaluated on. */
export interface EvaluatedContent {
  at(field: string): unknown;
  /** The key of the value of a field, where keys are kept because many predicates are evaluated. */
  keyAt?(field: string, kind: ValueKind): string;
  /** What is known about the resources that it refers to. */
  readonly related?: RelatedFacts | undefined;
}

/** What a query asks of the resources in other collections. */
export interface RelatedFacts {
  /** Whether the resource with this id exists and matches. */
  matches(related: Related, id: string): boolean;
}

type Test = (content: EvaluatedContent) => boolean;

/** The compiled test of each predicate. */
const tests = new WeakMap<Predicate, Test>();

export const holds = (predicate: Predicate, content: EvaluatedContent): boolean =>
  testOf(predicate)(content);

function testOf(predicate: Predicate): Test {
  const cached = tests.get(predicate);
  if (cached !== undefined) return cached;
  const test = compiled(predicate);
  tests.set(predicate, test);
  return test;
}

function compiled(predicate: Predicate): Test {
  if (isCondition(predicate)) return conditionTest(predicate);
  if ("anyOf" in predicate) {
    const tests = predicate.anyOf.map(compiled);
    return (content) => tests.some((test) => test(content));
  }
  if ("allOf" in predicate) {
    const tests = predicate.allOf.map(compiled);
    return (content) => tests.every((test) => test(content));
  }
  if ("not" in predicate) {
    const test = compiled(predicate.not);
    return (content) => !test(content);
  }
  if ("related" in predicate) return relatedTest(predicate);
  const elements = elementsOf(predicate.field);
  const test = compiled(predicate.some);
  return (content) =>
    listOf(content.at(elements)).some((element) => test(elementContent(element, content)));
}

function relatedTest(predicate: Related): Test {
  return (content) => {
    const { related } = content;
    if (related === undefined) throw new Error(`nothing is known about ${predicate.collection}`);
    return idsIn(content.at(predicate.field)).some((id) => related.matches(predicate, id));
  };
}

/** The ids that a reference consists of. */
export const idsIn = (value: unknown): readonly string[] =>
  [value].flat().filter((id) => typeof id === "string");

function conditionTest({ field, kind, spans, isNegated = false, match }: Condition): Test {
  const matches = match && matcherOf(match);
  // The key of a long text costs more than the text's comparison.
  const needsKey = matches === undefined || !isEveryText(spans);
  // An array of kind `any` is compared by its elements, and so is a path with `[]`.
  const depth = (kind === "any" ? 1 : 0) + (isOfElements(field) ? 1 : 0);
  const textsIn = (value: unknown): readonly string[] =>
    [value].flat(depth).filter((text) => typeof text === "string");
  const isWithin = withinTest(spans);
  const hasKey = (value: unknown) =>
    depth === 0
      ? isWithin(keyOf(kind, value))
      : keysAt(field, kind, value).some((key) => isWithin(key));
  if (depth === 0 && matches === undefined)
    return (content) => {
      const key = content.keyAt?.(field, kind) ?? keyOf(kind, content.at(field));
      return isWithin(key) !== isNegated;
    };
  return (content) => {
    const value = content.at(field);
    const isMatch =
      (!needsKey || hasKey(value)) && (matches === undefined || textsIn(value).some(matches));
    return isMatch !== isNegated;
  };
}

/** Looks single keys up, which is faster than to compare them. */
function withinTest(spans: readonly Span[]): (key: string) => boolean {
  if (!spans.every(isPoint)) return (key) => isInAny(key, spans);
  const keys = new Set(spans.map(({ from }) => from));
  return (key) => keys.has(key);
}

const everyText = beginningWith("");

function isEveryText([span, ...more]: readonly Span[]): boolean {
  return more.length === 0 && span?.from === everyText.from && span.to === everyText.to;
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The element of an array. The empty path is the element itself. */
const elementContent = (element: unknown, { related }: EvaluatedContent): EvaluatedContent => ({
  at: (field) => (field === "" ? element : valueIn(element, field)),
  related,
});
