// Runs queries as the core plans them.

import type { Query } from "../../model/query/query.ts";
import { planQuery, type Source } from "../core/query-plan.ts";
import type { QueryResult, TooBroad } from "../store.ts";
import { chooseSource, selectFrom } from "./candidates.ts";
import type { CollectionRow } from "./collections.ts";
import type { Sql } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { scanIndex, scanResources } from "./index-scan.ts";
import { search } from "./search.ts";

/** Runs statements on one of the connections for reads. */
export type Read = <T>(send: (sql: Sql) => Promise<T>) => Promise<T>;
type Reply = Versioned<QueryResult | TooBroad> | undefined;

/** Returns undefined when the part was deleted. */
export function runQuery(
  read: Read,
  row: CollectionRow,
  query: Query,
  maxCandidates: number,
): Promise<Reply> {
  const plan = planQuery(row.plan, query);
  switch (plan.kind) {
    case "slice":
      return read((sql) => scanResources(sql, row, query));
    case "scan":
      return read((sql) => scanIndex(sql, row, plan, query));
    case "search":
      return read((sql) => search(sql, row, query));
    case "candidates":
      return selectBest(read, row, plan.sources, query, maxCandidates);
  }
}

async function selectBest(
  read: Read,
  row: CollectionRow,
  sources: readonly Source[],
  query: Query,
  limit: number,
): Promise<Reply> {
  const [only, ...more] = sources;
  const source =
    only && more.length === 0
      ? only
      : await read((sql) => chooseSource(sql, row.part, sources, query, limit + 1));
  return read((sql) => selectFrom(sql, row, source, query, limit));
}
