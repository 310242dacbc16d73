// Queries that one index answers: its entries stand in the order that is asked for.

import { equalTo, type Span } from "../../model/key.ts";
import type { Plan } from "../../model/plan.ts";
import type { Condition, Position, Query } from "../../model/query.ts";
import type { Found } from "../store.ts";
import { answer, toFound } from "./answer.ts";
import type { Sql, Statement } from "./connection.ts";
import { entriesIn, type Stretch } from "./entries.ts";
import { readRange } from "./resource.ts";

/** A way through an index. */
export interface Walk extends Stretch {
  /** None where all have the same key, and only the order of creation is left. */
  readonly isDescending: boolean | undefined;
}

/** The way through one index that gives the answer, if there is one. */
export function walkFor(plan: Plan, query: Query): Walk | undefined {
  const { conditions, sortings, words } = query;
  if (words.length > 0 || conditions.length > 1 || sortings.length > 1) return undefined;
  const [condition] = conditions;
  const [sorting] = sortings;
  if (condition && !isIndexed(plan, condition)) return undefined;
  if (!sorting) {
    const isEqual = condition?.spans.length === 1 && isPoint(condition.spans[0]);
    return isEqual ? { ...condition, isDescending: undefined } : undefined;
  }
  const { field, kind, isDescending } = sorting;
  const isKnown = plan.indexes.some((index) => index.field === field && index.kind === kind);
  // An array stands in its index more than once.
  if (!isKnown || kind === "any" || (condition && condition.field !== field)) return undefined;
  return { field, spans: condition?.spans, isDescending };
}

/** Whether an index leads to all resources for which the condition may hold. */
export const isNarrowed = ({ indexes }: Plan, { field, kind, isNegated }: Condition): boolean =>
  isNegated !== true && indexes.some((index) => index.field === field && index.kind === kind);

/** Whether it leads to no others, either. */
const isIndexed = (plan: Plan, condition: Condition): boolean =>
  isNarrowed(plan, condition) && condition.pattern === undefined;

export const isPoint = (span: Span | undefined): boolean =>
  span !== undefined && equalTo(span.from).to === span.to;

/** The answer along the way. */
export async function walkAlong(
  sql: Sql,
  collection: string,
  walk: Walk,
  query: Query,
): Promise<Found | undefined> {
  const { start, limit, isCounted } = query;
  const offset = typeof start === "number" ? start : 0;
  const { onward, order } = bearings(sql, walk, query);
  const end = sql`${order} LIMIT ${offset + limit + 1}::bigint`;
  const found = await answer(sql, collection, {
    hits: sql`
      SELECT row_number() OVER (${order}) AS place, seq, key
      FROM (
        SELECT key, seq FROM ${entriesIn(sql, walk, sql`${onward} ${end}`)} AS entry
        ${order} LIMIT ${limit + 1}::bigint OFFSET ${offset}::bigint
      ) AS page`,
    count: isCounted ? countOf(sql, walk) : sql`NULL`,
  });
  return (
    found &&
    toFound(found, query, ({ key, seq }) => {
      return { keys: walk.isDescending === undefined ? [] : [key], seq };
    })
  );
}

/** What is left behind a position, and in which order. */
function bearings(sql: Sql, { isDescending }: Walk, { start, isNewestFirst }: Query) {
  const seqOrder = isNewestFirst ? sql`seq DESC` : sql`seq`;
  if (isDescending === undefined)
    return { onward: beyondSeq(sql, start, isNewestFirst), order: sql`ORDER BY ${seqOrder}` };
  const keyOrder = isDescending ? sql`key DESC` : sql`key`;
  const order = sql`ORDER BY ${keyOrder}, ${seqOrder}`;
  if (typeof start === "number") return { onward: sql``, order };
  const key = start.keys[0] ?? "";
  const rest = isDescending
    ? sql`key <= ${key} AND (key < ${key} OR ${beyond(sql, start, isNewestFirst)})`
    : sql`key >= ${key} AND (key > ${key} OR ${beyond(sql, start, isNewestFirst)})`;
  return { onward: sql`AND ${rest}`, order };
}

const beyondSeq = (sql: Sql, start: Query["start"], isNewestFirst: boolean): Statement =>
  typeof start === "number" ? sql`` : sql`AND ${beyond(sql, start, isNewestFirst)}`;

const beyond = (sql: Sql, { seq }: Position, isNewestFirst: boolean): Statement =>
  isNewestFirst ? sql`seq < ${seq}::bigint` : sql`seq > ${seq}::bigint`;

/** A single value is had by each once: where nothing else is asked for, the collection has the count. */
const countOf = (sql: Sql, walk: Walk): Statement =>
  walk.spans === undefined
    ? sql`total`
    : sql`SELECT count(*) FROM ${entriesIn(sql, walk, sql``)} AS entry`;

/** Without conditions the resources themselves stand in the order of creation. */
export async function walkResources(
  sql: Sql,
  collection: string,
  query: Query,
): Promise<Found | undefined> {
  const { start, limit, isNewestFirst, isCounted } = query;
  const order = isNewestFirst ? "-created" : "created";
  const onward = sql`ORDER BY seq ${isNewestFirst ? sql`DESC` : sql``}`;
  const found =
    typeof start === "number"
      ? await readRange(sql, collection, { offset: start, limit: limit + 1, order })
      : await answer(sql, collection, {
          hits: sql`
            SELECT row_number() OVER (${onward}) AS place, seq, '' AS key
            FROM (
              SELECT seq FROM resources
              WHERE collection = (SELECT key FROM shelf) ${beyondSeq(sql, start, isNewestFirst)}
              ${onward} LIMIT ${limit + 1}::bigint
            ) AS page`,
          count: sql`NULL`,
        });
  if (!found) return undefined;
  const count = isCounted ? found.collection.total : undefined;
  const hits = found.hits.map((hit) => ({ key: "", ...hit }));
  return toFound({ ...found, hits, count }, query, ({ seq }) => ({ keys: [], seq }));
}
