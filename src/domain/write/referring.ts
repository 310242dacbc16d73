// Reads the resources that refer to another one.

import type { Rules } from "../../model/collection.ts";
import { kindOf } from "../../model/field-kind.ts";
import type { Predicate } from "../../model/query/predicate.ts";
import type { Query } from "../../model/query/query.ts";
import { equalTo, keyOf } from "../../model/query/sort-key.ts";
import type { Reference } from "../../model/reference.ts";
import type { Resource } from "../../model/resource.ts";
import type { Store } from "../../store/store.ts";

/** They are read in pages, of which only what is needed is kept. */
export const referringLimits = { page: 100 };
const pageBytes = 8 * 1024 * 1024;

/** A reference of a collection. */
export interface Referrer {
  readonly collection: string;
  readonly rules: Rules;
  readonly reference: Reference;
}

export interface Referring {
  readonly resource: Resource;
  /** How many follow. */
  readonly left: number;
}

/** Yields the resources with a reference to the id that match the conditions. */
export async function* referringTo(
  store: Store,
  { collection, rules, reference }: Referrer,
  id: string,
  conditions: readonly Predicate[] = [],
): AsyncGenerator<Referring> {
  let start: Query["start"] | undefined = 0;
  let left = 0;
  while (start !== undefined) {
    const query = queryFor(rules, reference, id, start);
    const asked = { ...query, conditions: [...query.conditions, ...conditions] };
    const page = await store.query(collection, asked);
    left = page?.total ?? left;
    for (const resource of page?.resources ?? []) yield { resource, left: --left };
    start = page?.last;
  }
}

/** The total is only asked for with the first page. */
function queryFor(
  { definition }: Rules,
  { field }: Reference,
  id: string,
  start: Query["start"],
): Query {
  const kind = kindOf(JSON.parse(definition).schema, field);
  return {
    conditions: [{ field, kind, spans: [equalTo(keyOf(kind, id))] }],
    words: [],
    sortings: [],
    isNewestFirst: false,
    start,
    limit: referringLimits.page,
    isCounted: start === 0,
    maxBytes: pageBytes,
  };
}
