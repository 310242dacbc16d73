// Runs queries as the core plans them.

import type { Query } from "../../model/query/query.ts";
import { type FilterPlan, planQuery } from "../core/query-plan.ts";
import { findOrAggregate } from "../core/run-aggregate.ts";
import type { Filtered } from "../core/run-filter.ts";
import type { QueryResult } from "../store.ts";
import { readFor } from "./candidates.ts";
import { type CollectionRow, toCollection } from "./collections.ts";
import { rows, type Sql } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { isDataError } from "./errors.ts";
import { scanIndex, scanResources } from "./index-scan.ts";
import { type FirstRow, headColumns, headOf } from "./row.ts";
import { search } from "./search.ts";

type Reply = Versioned<QueryResult> | undefined;

/** Whether the query reads a range of the resources, which is always short. */
export const isRange = ({ conditions, words, sortings, aggregation }: Query): boolean =>
  conditions.length + words.length + sortings.length === 0 && aggregation === undefined;

/** Returns undefined when the part was deleted. Nothing else may use the connection meanwhile. */
export function runQuery(
  sql: Sql,
  row: CollectionRow,
  query: Query,
  maxCounted: number,
): Promise<Reply> {
  const plan = planQuery(row.plan, query);
  switch (plan.kind) {
    case "slice":
      return scanResources(sql, row, query);
    case "scan":
      return scanIndex(sql, row, plan, query, maxCounted);
    case "search":
      return search(sql, row, query, maxCounted);
    case "nothing":
      return inSnapshot(sql, row, async () => nothing(query));
    case "filter":
      return filterOf(sql, row, plan, query, maxCounted);
  }
}

type Answer = Omit<QueryResult, "collection">;

const nothing = ({ isCounted }: Query): Answer => ({
  resources: [],
  total: isCounted ? 0 : undefined,
  last: undefined,
});

/** Reads the head and the answer in one snapshot. */
async function inSnapshot(
  sql: Sql,
  row: CollectionRow,
  read: (total: number) => Promise<Answer>,
): Promise<Reply> {
  const { part } = row;
  await rows(sql`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`);
  try {
    const [first] = await rows<FirstRow>(sql`
      SELECT ${headColumns(sql)}, 0 AS place FROM heads WHERE part = ${part}::bigint`);
    if (!first) return undefined;
    const head = headOf(first);
    const { version } = head;
    // The definition has changed: the query is planned again.
    if (version !== row.rules.version) return undefined;
    const answer = await read(head.total);
    return { version, value: { collection: toCollection(row, head), ...answer } };
  } finally {
    await rows(sql`ROLLBACK`).catch(() => undefined);
  }
}

async function filterOf(
  sql: Sql,
  row: CollectionRow,
  plan: FilterPlan,
  query: Query,
  maxCounted: number,
): Promise<Reply> {
  const answer = (isVerified: boolean) =>
    inSnapshot(sql, row, (total) =>
      filter(sql, row, plan, query, { plan: row.plan, total, maxCounted, isVerified }),
    );
  try {
    return await answer(false);
  } catch (error) {
    // Postgres cannot read a stored value: we read it ourselves.
    if (!isDataError(error)) throw error;
    return answer(true);
  }
}

async function filter(
  sql: Sql,
  { part }: CollectionRow,
  filterPlan: FilterPlan,
  query: Query,
  filtered: Filtered,
): Promise<Answer> {
  const running = findOrAggregate(filtered, filterPlan, query);
  let step = running.next();
  while (!step.done) step = running.next(await readFor(sql, part, step.value));
  return query.isCounted ? step.value : { ...step.value, total: undefined };
}
