// Turns conditions on other collections into conditions on the ids of their resources, where these are few.

import { isOfElements } from "../../model/field-kind.ts";
import type { Condition, Predicate, Related } from "../../model/query/predicate.ts";
import type { Query } from "../../model/query/query.ts";
import { replaceRelated } from "../../model/query/related.ts";
import { simplified } from "../../model/query/simplify.ts";
import { equalTo, keyOf } from "../../model/query/sort-key.ts";
import { unionOf } from "../../model/query/spans.ts";
import type { QueryResult } from "../store.ts";
import { ask, type Running } from "./filter-reads.ts";

/** With more ids it is cheaper to look at what each resource refers to. */
const maxIds = 10_000;
const maxIdBytes = 8 * 1024 * 1024;
/** How many conditions are looked up. Each can take a scan of another collection. */
const maxQueries = 8;

/** The query for the resources that match. */
const idQuery = (related: Predicate): Query => ({
  conditions: simplified([related]),
  words: [],
  sortings: [],
  isNewestFirst: false,
  start: 0,
  limit: maxIds,
  maxBytes: maxIdBytes,
  isCounted: false,
});

/** Returns undefined when there are more results. */
export const idsOf = ({
  resources,
  last,
}: Pick<QueryResult, "resources" | "last">): readonly string[] | undefined =>
  last === undefined ? resources.map(({ id }) => id) : undefined;

/** Returns an equal query, which the index of a reference can answer where few resources match. */
export function* withRelatedIds(query: Query): Running<Query> {
  const conditions = joined(query.conditions);
  const found = new Map<Related, Predicate>();
  for (const related of conditions.flatMap(indexable).slice(0, maxQueries)) {
    const { collection } = related;
    const ids = yield* ask("ids", { kind: "ids", collection, query: idQuery(related.related) });
    found.set(related, ids === undefined ? related : referringTo(related, ids));
  }
  const replaced = conditions.map((predicate) =>
    replaceRelated(predicate, (related) => found.get(related) ?? related),
  );
  return { ...query, conditions: simplified(replaced) };
}

/** Returns the conditions for which the index of a reference narrows a query down. */
function indexable(predicate: Predicate): readonly Related[] {
  if ("related" in predicate) return [predicate];
  if ("allOf" in predicate) return predicate.allOf.flatMap(indexable);
  if ("some" in predicate) return indexable(predicate.some);
  return "anyOf" in predicate ? predicate.anyOf.flatMap(indexable) : [];
}

const referringTo = ({ field, kind }: Related, ids: readonly string[]): Condition => ({
  field,
  kind,
  spans: unionOf(ids.map((id) => equalTo(keyOf(kind, id)))),
});

/** Joins the conditions on one reference, so that fewer resources match them. */
function joined(predicates: readonly Predicate[]): readonly Predicate[] {
  const results: Predicate[] = [];
  for (const predicate of predicates) {
    const index = results.findIndex((other) => isSameResource(other, predicate));
    const other = results[index];
    if (other && "related" in other && "related" in predicate)
      results[index] = { ...other, related: { allOf: [other.related, predicate.related] } };
    else results.push(predicate);
  }
  return results;
}

/** Several elements of an array can refer to different resources. */
const isSameResource = (one: Predicate, other: Predicate): boolean =>
  "related" in one &&
  "related" in other &&
  one.reference === other.reference &&
  one.kind !== "any" &&
  !isOfElements(one.reference);
