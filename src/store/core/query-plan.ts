// Chooses how a query is answered: in order of creation, with one index scan, by rank, or by checking candidates.

import { type IndexPlan, singleIndex } from "../../model/query/index-plan.ts";
import { type Condition, isCondition } from "../../model/query/predicate.ts";
import { isRanked, type Query } from "../../model/query/query.ts";
import { equalTo, keyOf, type Span } from "../../model/query/sort-key.ts";

export type QueryPlan =
  /** All resources in order of creation. */
  | { readonly kind: "slice" }
  | IndexScan
  /** The resources that contain the words, best rank first. */
  | { readonly kind: "search" }
  /** Each resource of the smallest source is checked. Undefined means the whole collection. */
  | { readonly kind: "candidates"; readonly sources: readonly Source[] };

/** The entries of one index, in its order. */
export interface IndexScan {
  readonly kind: "scan";
  readonly field: string;
  /** Sorted and not overlapping; undefined for all entries. */
  readonly spans: readonly Span[] | undefined;
  /** Undefined when the entries of one key are read in order of creation. */
  readonly isDescending: boolean | undefined;
}

/** A set of resources that includes all results. */
export type Source =
  | { readonly kind: "ids"; readonly ids: readonly string[] }
  | { readonly kind: "entries"; readonly condition: Condition }
  | { readonly kind: "words" }
  | { readonly kind: "all" };

export function planQuery(plan: IndexPlan, query: Query): QueryPlan {
  const { conditions, words, sortings, start } = query;
  if (conditions.length + words.length + sortings.length === 0) return { kind: "slice" };
  const scan = scanFor(plan, query);
  if (scan) return scan;
  // Stored words can be older than the rule that hides a field, so each result is checked then.
  const isSearch = isRanked(query) && conditions.length === 0 && plan.hidden === undefined;
  if (isSearch && plan.searchable.length > 0 && typeof start === "number")
    return { kind: "search" };
  return { kind: "candidates", sources: sourcesFor(plan, query) };
}

/** Returns the scan that answers the query, or undefined when no single index can. */
function scanFor(plan: IndexPlan, query: Query): IndexScan | undefined {
  const { conditions, sortings, words } = query;
  if (words.length > 0 || conditions.length > 1 || sortings.length > 1) return undefined;
  const [condition] = conditions;
  const [sorting] = sortings;
  if (condition) {
    if (!isCondition(condition) || condition.match !== undefined) return undefined;
    if (!isNarrowed(plan, condition) || condition.spans.length === 0) return undefined;
  }
  if (!sorting) {
    if (!condition || onlyKey(condition) === undefined) return undefined;
    return {
      kind: "scan",
      field: condition.field,
      spans: condition.spans,
      isDescending: undefined,
    };
  }
  const { field, kind, isDescending } = sorting;
  // An array has several entries in an index of the kind `any`, so that has no sort order.
  if (kind === "any" || !hasIndex(plan, sorting)) return undefined;
  if (condition && !(condition.field === field && condition.kind === kind)) return undefined;
  return { kind: "scan", field, spans: condition?.spans, isDescending };
}

/** Ids are always the smallest source; the others have to be counted. */
function sourcesFor(plan: IndexPlan, query: Query): readonly Source[] {
  const { words } = query;
  const conditions = query.conditions.filter(isCondition);
  // Without spans nothing matches, and nothing is read.
  if (conditions.some(({ spans, isNegated }) => spans.length === 0 && isNegated !== true))
    return [{ kind: "ids", ids: [] }];
  for (const condition of conditions) {
    const ids = idsIn(condition);
    if (ids) return [{ kind: "ids", ids }];
  }
  const sources: Source[] = conditions
    .filter((condition) => isNarrowed(plan, condition))
    .map((condition) => ({ kind: "entries", condition }));
  if (words.length > 0 && plan.searchable.length > 0) sources.push({ kind: "words" });
  return [...sources, { kind: "all" }];
}

/** Whether the field has an index of this kind. */
const hasIndex = (plan: IndexPlan, { field, kind }: Pick<Condition, "field" | "kind">) =>
  singleIndex(plan, field, kind) !== undefined;

/** Whether an index finds all resources that can match the condition. */
export const isNarrowed = (plan: IndexPlan, condition: Condition): boolean =>
  condition.isNegated !== true && hasIndex(plan, condition);

/** Returns the key of a condition that matches exactly one key. */
export function onlyKey({ spans }: Pick<Condition, "spans">): string | undefined {
  const [span, ...more] = spans;
  return span && more.length === 0 && isPoint(span) ? span.from : undefined;
}

/** Whether the span contains exactly one key. */
export const isPoint = ({ from, to }: Span): boolean => to === equalTo(from).to;

/** Returns the ids of a condition that compares only ids. */
function idsIn({ field, spans, isNegated }: Condition): readonly string[] | undefined {
  if (field !== "id" || isNegated === true) return undefined;
  const ids = spans.filter(isPoint).map(({ from }) => from.slice(1));
  const isAll = ids.every((id, index) => keyOf("text", id) === spans[index]?.from);
  return isAll && ids.length === spans.length ? ids : undefined;
}
