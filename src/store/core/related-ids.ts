// Turns conditions on other collections into conditions on the ids of their resources, where these are few.

import type { Condition, Predicate, Related } from "../../model/query/predicate.ts";
import type { Query } from "../../model/query/query.ts";
import { indexable, joined, replaceRelated } from "../../model/query/related.ts";
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

const referringTo = ({ field, kind }: Related, ids: readonly string[]): Condition => ({
  field,
  kind,
  spans: unionOf(ids.map((id) => equalTo(keyOf(kind, id)))),
});
