// Intersects the sources of a filter, as far as that is cheaper than checking resources.

import type { Predicate } from "../../model/query/predicate.ts";
import type { Query } from "../../model/query/query.ts";
import { ask, type Running } from "./filter-reads.ts";
import { inBoth } from "./in-turns.ts";
import type { IndexSource } from "./index-use.ts";

export interface CountedSource {
  readonly source: IndexSource;
  readonly count: number;
}

/**
 * So many are always read from their source. It makes little difference, and the time does not tell a
 * caller who sees these how many others there are.
 */
export const fewResources = 200;
/** How many seqs of a source are held in memory. */
export const maxSeqs = 1_000_000;

/** Sources are counted up to this many entries first, and then up to this many times more. */
const firstCounted = 1_000;
const countedMore = 32;

/**
 * Returns the sources with their counts, the smallest first. A count beyond `max` is not exact, and `max`
 * stands for the count of a source that is too large to be read beside the smallest. With `isEnough`
 * no more is counted when it is enough that all sources have this many entries.
 */
export function* countSources(
  sources: readonly IndexSource[],
  max: number,
  isEnough?: (count: number) => boolean,
): Running<readonly CountedSource[]> {
  const isExact = sources.length === 1 && isEnough === undefined;
  let most = isExact ? max : Math.min(firstCounted, max);
  let counted = yield* countUpTo(sources, most);
  while (most < max && counted.every(({ count }) => count >= most)) {
    if (isEnough?.(most)) return counted;
    most = Math.min(most * countedMore, max);
    counted = yield* countUpTo(sources, most);
  }
  const smallest = Math.min(...counted.map(({ count }) => count));
  const enough = Math.min(countedBeside(smallest), max);
  const exact = counted.filter(({ count }) => count < most || most === max);
  const others = counted.flatMap((each) => (exact.includes(each) ? [] : each.source));
  const recounted = enough > most ? yield* countUpTo(others, enough) : [];
  const large = others.map((source, at) => {
    const count = recounted[at]?.count ?? enough;
    return { source, count: count < enough ? count : max };
  });
  return [...exact, ...large].sort((one, other) => one.count - other.count);
}

function* countUpTo(
  sources: readonly IndexSource[],
  max: number,
): Running<readonly CountedSource[]> {
  const counted: CountedSource[] = [];
  for (const source of sources)
    counted.push({ source, count: yield* ask("count", { kind: "count", source, max }) });
  return counted;
}

/** Whether the count of the source is the number of resources that match. */
export const decidesAll = ({ decided, isDistinct }: IndexSource, { conditions }: Query): boolean =>
  isDistinct && conditions.every((predicate) => decided.includes(predicate));

/** Reading the entry of another source costs this part of checking a resource. */
const entryCost = 0.2;

/** How many entries of a source are counted at most, when it is to be read beside so many resources. */
export const countedBeside = (resources: number): number => Math.ceil(resources / entryCost) + 1;

interface Narrowed {
  readonly seqs: readonly number[];
  /** The predicates that are left to check. */
  readonly rest: readonly Predicate[];
}

/** Keeps the seqs that are in other sources too, the smallest of which comes first. */
export function* narrowed(
  { conditions }: Query,
  from: { readonly seqs: readonly number[]; readonly decided: readonly Predicate[] },
  sources: readonly CountedSource[],
): Running<Narrowed> {
  let { seqs } = from;
  const decided = new Set(from.decided);
  for (const { source, count } of sources) {
    const isNew = source.decided.some((predicate) => !decided.has(predicate));
    if (!isNew || count * entryCost > seqs.length) continue;
    seqs = yield* inBoth(seqs, yield* ask("seqs", { kind: "seqs", source }));
    for (const predicate of source.decided) decided.add(predicate);
  }
  return { seqs, rest: conditions.filter((predicate) => !decided.has(predicate)) };
}
