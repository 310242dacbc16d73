// Runs queries as the core plans them.

import type { Query } from "../../model/query/query.ts";
import { isRelated } from "../../model/query/related.ts";
import type { Read, ReadResults, Running } from "../core/filter-reads.ts";
import { findOrAggregate } from "../core/find-or-aggregate.ts";
import { type FilterPlan, planQuery, type QueryPlan } from "../core/query-plan.ts";
import { idsOf, withRelatedIds } from "../core/related-ids.ts";
import type { Head } from "../core/rows.ts";
import type { QueryResult } from "../store.ts";
import { namedResources, readFor } from "./candidates.ts";
import { type CollectionRow, findCollectionRows, findHeads, toCollection } from "./collections.ts";
import { rows, type Sql } from "./connection.ts";
import { isDataError } from "./errors.ts";
import { scanIndex, scanResources } from "./index-scan.ts";
import { type FirstRow, headColumns, headOf } from "./row.ts";
import { search, type VersionedResult } from "./search.ts";

/** Returns undefined when the part was deleted. Nothing else may use the connection meanwhile. */
export function runQuery(
  sql: Sql,
  row: CollectionRow,
  query: Query,
  maxCounted: number,
): Promise<VersionedResult> {
  if (isRelated(query)) return inSnapshot(sql, row, (run) => run.answer(row, query), maxCounted);
  const plan = planQuery(row.plan, query);
  if (plan.kind === "filter" || plan.kind === "nothing")
    return inSnapshot(sql, row, (run, size) => run.execute(row, plan, query, size), maxCounted);
  return runStatementOf(sql, row, plan, query, maxCounted);
}

type OneStatement = Exclude<QueryPlan, FilterPlan | { kind: "nothing" }>;

/** Runs a plan that takes one statement, which is a snapshot of its own. */
function runStatementOf(
  sql: Sql,
  row: CollectionRow,
  plan: OneStatement,
  query: Query,
  maxCounted: number,
): Promise<VersionedResult> {
  switch (plan.kind) {
    case "slice":
      return scanResources(sql, row, query);
    case "scan":
      return scanIndex(sql, row, plan, query, maxCounted);
    case "search":
      return search(sql, row, query, maxCounted);
  }
}

type EngineResult = Omit<QueryResult, "collection">;

/** How large a collection is. */
type Size = Pick<Head, "total" | "bytes">;

/** Reads the head and the answer in one snapshot; again when Postgres cannot read a stored value. */
async function inSnapshot(
  sql: Sql,
  row: CollectionRow,
  read: (run: SnapshotRun, size: Size) => Promise<EngineResult>,
  maxCounted: number,
): Promise<VersionedResult> {
  const run = (isVerified: boolean) => new SnapshotRun(sql, maxCounted, isVerified);
  try {
    return await readInSnapshot(sql, row, (size) => read(run(false), size));
  } catch (error) {
    if (!isDataError(error)) throw error;
    // The checker reads every value itself.
    return readInSnapshot(sql, row, (size) => read(run(true), size));
  }
}

async function readInSnapshot(
  sql: Sql,
  row: CollectionRow,
  read: (size: Size) => Promise<EngineResult>,
): Promise<VersionedResult> {
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
    const answer = await read(head);
    return { version, value: { collection: toCollection(row, head), ...answer } };
  } finally {
    await rows(sql`ROLLBACK`).catch(() => undefined);
  }
}

/** Runs a query in a snapshot, and those on other collections that it needs. */
class SnapshotRun {
  readonly #sql: Sql;
  readonly #maxCounted: number;
  readonly #isVerified: boolean;
  readonly #others = new Map<string, CollectionRow | undefined>();

  constructor(sql: Sql, maxCounted: number, isVerified: boolean) {
    this.#sql = sql;
    this.#maxCounted = maxCounted;
    this.#isVerified = isVerified;
  }

  async answer(row: CollectionRow, query: Query): Promise<EngineResult> {
    const asked = isRelated(query) ? await this.#finish(row, withRelatedIds(query)) : query;
    const [head] = await findHeads(this.#sql, [row.part]);
    return this.execute(row, planQuery(row.plan, asked), asked, head ?? noSize);
  }

  async execute(
    row: CollectionRow,
    plan: QueryPlan,
    query: Query,
    size: Size,
  ): Promise<EngineResult> {
    if (plan.kind === "nothing") return nothing(query);
    if (plan.kind === "filter") return this.#filter(row, plan, query, size);
    const reply = await runStatementOf(this.#sql, row, plan, query, this.#maxCounted);
    return reply?.value ?? nothing(query);
  }

  async #filter(
    row: CollectionRow,
    filterPlan: FilterPlan,
    query: Query,
    size: Size,
  ): Promise<EngineResult> {
    const filtered = {
      plan: row.plan,
      total: size.total,
      maxCounted: this.#maxCounted,
      isVerified: this.#isVerified,
    };
    const result = await this.#finish(row, findOrAggregate(filtered, filterPlan, query), size);
    return query.isCounted ? result : { ...result, total: undefined };
  }

  async #finish<T>(row: CollectionRow, running: Running<T>, size: Size = noSize): Promise<T> {
    let step = running.next();
    while (!step.done) step = running.next(await this.#read(row, limited(step.value, size)));
    return step.value;
  }

  async #read({ part }: CollectionRow, read: Read): Promise<ReadResults[Read["kind"]]> {
    if (read.kind !== "related" && read.kind !== "ids") return readFor(this.#sql, part, read);
    const other = await this.#find(read.collection);
    if (read.kind === "related")
      return other ? namedResources(this.#sql, other.part, read) : read.ids.map(() => undefined);
    return other ? idsOf(await this.answer(other, read.query)) : [];
  }

  /** Reads the row in the snapshot, because a cached one can be of another time. */
  async #find(name: string): Promise<CollectionRow | undefined> {
    if (!this.#others.has(name))
      this.#others.set(name, (await findCollectionRows(this.#sql, [name]))[0]);
    return this.#others.get(name);
  }
}

const noSize: Size = { total: 0, bytes: 0 };

/** Large resources are tested in smaller steps, because the page may be full after the first ones. */
const maxTestedBytes = 8 * 1024 * 1024;

function limited(read: Read, { total, bytes }: Size): Read {
  if (read.kind !== "test") return read;
  const fitting = Math.ceil((maxTestedBytes * total) / Math.max(1, bytes));
  return { ...read, limit: Math.max(1, Math.min(read.limit, fitting)) };
}

const nothing = ({ isCounted }: Query): EngineResult => ({
  resources: [],
  total: isCounted ? 0 : undefined,
  last: undefined,
});
