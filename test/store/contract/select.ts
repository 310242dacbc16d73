// Evaluates a query in memory on all resources, without indexes.

import { IndexedContent } from "../../../src/model/query/index-plan.ts";
import { holds } from "../../../src/model/query/predicate.ts";
import {
  type Candidate,
  countWithin,
  isRanked,
  type Position,
  type Query,
} from "../../../src/model/query/query.ts";
import { compareKeys, keyOf } from "../../../src/model/query/sort-key.ts";
import type { Resource } from "../../../src/model/resource.ts";

export interface Selection {
  readonly resources: readonly Resource[];
  readonly total: number;
  /** The position of the last resource when more follow. */
  readonly last: Position | undefined;
  /** Whether `maxBytes` cut the page short. */
  readonly isCut?: boolean;
}

/** Evaluates the query on all candidates. For a ranked query they must be sorted by rank. */
export function select(candidates: readonly Candidate[], query: Query): Selection {
  const matches = candidates.flatMap((candidate) => matchOf(candidate, query));
  if (!isRanked(query)) matches.sort((one, other) => compare(one.position, other.position, query));
  const { start, limit } = query;
  const offset =
    typeof start === "number"
      ? start
      : matches.findIndex(({ position }) => compare(position, start, query) > 0);
  const page = offset < 0 ? [] : matches.slice(offset, offset + limit);
  const count = countWithin(page, ({ resource }) => resource.fields.length, query.maxBytes);
  const shown = page.slice(0, count);
  const isCut = count < page.length;
  const hasMore = isCut || (offset >= 0 && offset + limit < matches.length);
  return {
    resources: shown.map(({ resource }) => resource),
    total: matches.length,
    last: hasMore && !isRanked(query) ? shown.at(-1)?.position : undefined,
    ...(isCut && { isCut }),
  };
}

interface Match {
  readonly resource: Resource;
  readonly position: Position;
}

/** Returns an empty list when the resource does not match. */
function matchOf({ seq, resource }: Candidate, { conditions, sortings }: Query): readonly Match[] {
  const content = new IndexedContent(resource);
  if (!conditions.every((condition) => holds(condition, content))) return [];
  const keys = sortings.map(({ field, kind }) => keyOf(kind, content.at(field)));
  return [{ resource, position: { keys, seq } }];
}

function compare(one: Position, other: Position, query: Query): number {
  for (const [index, { isDescending }] of query.sortings.entries()) {
    const difference = compareKeys(one.keys[index] ?? "", other.keys[index] ?? "");
    if (difference !== 0) return isDescending ? -difference : difference;
  }
  return query.isNewestFirst ? other.seq - one.seq : one.seq - other.seq;
}
