// Chooses how a query is answered: in order of creation, with one index scan, by rank, or by checking resources.

import { impliedBySome } from "../../model/query/implied-conditions.ts";
import type { IndexPlan } from "../../model/query/index-plan.ts";
import { isCondition, type Predicate } from "../../model/query/predicate.ts";
import { isRanked, type Query } from "../../model/query/query.ts";
import { isPoint } from "../../model/query/spans.ts";
import { freeIndexes } from "./free-indexes.ts";
import { type IndexScan, type IndexSource, useOf } from "./index-use.ts";

export type QueryPlan =
  /** All resources in order of creation. */
  | { readonly kind: "slice" }
  /** Two conditions contradict each other. */
  | { readonly kind: "nothing" }
  | IndexScan
  /** The resources that contain the words, best rank first. */
  | { readonly kind: "search" }
  | FilterPlan;

/** Resources are checked one by one, those of the smallest sources. */
export interface FilterPlan {
  readonly kind: "filter";
  readonly sources: readonly IndexSource[];
  /** A scan in the order of the query, whose resources must be checked. */
  readonly ordered: IndexScan | undefined;
  /** A scan in the order of the first fields of the sort order. */
  readonly byFirstKeys: IndexScan | undefined;
}

export function planQuery(plan: IndexPlan, query: Query): QueryPlan {
  const { conditions, words, sortings, start } = query;
  if (query.aggregation !== undefined) return filterPlan(plan, query);
  if (conditions.length + words.length + sortings.length === 0) return { kind: "slice" };
  if (conditions.some(matchesNothing)) return { kind: "nothing" };
  if (words.length === 0) {
    const exact = usesFor(plan, query).find(
      ({ scan, decided }) => scan !== undefined && decided.length === conditions.length,
    );
    if (exact?.scan) return exact.scan;
  }
  // Stored words can be older than the rule that hides a field, so each result is checked then.
  const isSearch = isRanked(query) && conditions.length === 0 && plan.hidden === undefined;
  if (isSearch && hasWords(plan) && typeof start === "number") return { kind: "search" };
  return filterPlan(plan, query);
}

/** Describes for people how a query is answered, without its values. */
export function describePlan(plan: IndexPlan, query: Query): string {
  const chosen = planQuery(plan, query);
  if (chosen.kind === "scan") return `reads index ${chosen.index}`;
  if (chosen.kind === "search") return "reads the words of the search";
  if (chosen.kind !== "filter") return `reads ${chosen.kind === "slice" ? "all" : "nothing"}`;
  const { sources, ordered } = chosen;
  const indexes = sources.flatMap(({ ranges }) => ranges.map(({ index }) => index));
  if (indexes.length > 0) return `checks the smallest of index ${[...new Set(indexes)].join(", ")}`;
  return ordered === undefined ? "checks all" : `checks all in the order of index ${ordered.index}`;
}

const usesFor = (plan: IndexPlan, query: Pick<Query, "conditions" | "sortings">) =>
  [...freeIndexes, ...plan.indexes].flatMap((index) => useOf(index, query) ?? []);

function filterPlan(plan: IndexPlan, { conditions, sortings }: Query): FilterPlan {
  const uses = usesFor(plan, { conditions: withImplied(conditions), sortings });
  return {
    kind: "filter",
    sources: [
      ...uses.flatMap(({ source }) => source ?? []),
      ...conditions.flatMap((predicate) => unionFor(plan, predicate) ?? []),
    ],
    ordered: uses.find(({ scan }) => scan !== undefined)?.scan,
    byFirstKeys: uses.find((use) => use.byFirstKeys !== undefined)?.byFirstKeys,
  };
}

const matchesNothing = (predicate: Predicate): boolean =>
  isCondition(predicate)
    ? predicate.isNegated !== true && predicate.spans.length === 0
    : "anyOf" in predicate && predicate.anyOf.every(matchesNothing);

/** Whether the plan reads only a few rows, whatever the size of the collection. */
export function isShort({ indexes }: IndexPlan, plan: QueryPlan): boolean {
  if (plan.kind !== "scan") return plan.kind === "slice" || plan.kind === "nothing";
  const isUnique = [...freeIndexes, ...indexes].some(
    (index) => index.name === plan.index && index.isUnique,
  );
  return isUnique && (plan.spans?.every(isPoint) ?? false);
}

/** Returns a source for an `anyOf` of which every branch has one. */
function unionFor(plan: IndexPlan, predicate: Predicate): IndexSource | undefined {
  if (!("anyOf" in predicate)) return undefined;
  const branches = predicate.anyOf.map((branch) => sourceFor(plan, branch));
  if (!branches.every((branch) => branch !== undefined)) return undefined;
  const isDecided = branches.every(({ decided }, at) => {
    const branch = predicate.anyOf[at];
    return branch !== undefined && conjuncts(branch).every((each) => decided.includes(each));
  });
  return {
    ranges: branches.flatMap(({ ranges }) => ranges),
    decided: isDecided ? [predicate] : [],
    isDistinct: false,
  };
}

const conjuncts = (predicate: Predicate): readonly Predicate[] =>
  "allOf" in predicate ? predicate.allOf : [predicate];

/** Adds conditions that hold wherever these do, and that indexes of elements can answer. */
const withImplied = (predicates: readonly Predicate[]): readonly Predicate[] => [
  ...predicates,
  ...predicates.flatMap((predicate) => ("some" in predicate ? impliedBySome(predicate) : [])),
];

/** Whether the stored words contain all resources. */
export const hasWords = ({ searchable, isSearchIncomplete }: IndexPlan): boolean =>
  searchable.length > 0 && isSearchIncomplete !== true;

/** Returns the index that decides most of a branch. */
function sourceFor(plan: IndexPlan, branch: Predicate): IndexSource | undefined {
  const query = { conditions: withImplied(conjuncts(branch)), sortings: [] };
  return [...freeIndexes, ...plan.indexes]
    .flatMap((index) => useOf(index, query)?.source ?? [])
    .sort((one, other) => other.decided.length - one.decided.length)[0];
}
