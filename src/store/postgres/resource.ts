// Reads resources and pages, each with one statement, so that a result comes from one snapshot.

import type { Candidate } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import { Damage } from "../core/stored-resource.ts";
import type { Range, Slice } from "../store.ts";
import { type CollectionRow, type HeadState, toCollection } from "./collections.ts";
import { allOrFirstError, rows, type Sql, type Statement } from "./connection.ts";
import type { Versioned } from "./directory.ts";
import { readWithFields } from "./large-fields.ts";
import { descend } from "./position-tree.ts";
import {
  type FirstRow,
  headColumns,
  headOf,
  type ResourceColumns,
  resourceOf,
  resourcesById,
  rowsWithin,
} from "./row.ts";

export interface Address {
  readonly row: CollectionRow;
  readonly id: string;
}

export type VersionedResource = Versioned<Resource | Damage | undefined> | undefined;

/**
 * Returns the resources at the addresses, in the same order, with one statement per part. A damaged
 * resource does not affect the others. Undefined where the part was deleted.
 */
export async function findResources(
  sql: Sql,
  addresses: readonly Address[],
): Promise<readonly VersionedResource[]> {
  const byPart = Map.groupBy(addresses, ({ row }) => row.part);
  const loaded = await allOrFirstError(
    [...byPart].map(([part, wanted]) => findInPart(sql, part, wanted)),
  );
  const found = new Map([...byPart.keys()].map((part, index) => [part, loaded[index]]));
  return addresses.map(({ row, id }) => {
    const { version, resources } = found.get(row.part) ?? {};
    return version === undefined ? undefined : { version, value: resources?.get(id) };
  });
}

interface FoundInPart {
  readonly version: number;
  readonly resources: ReadonlyMap<string, Resource | Damage>;
}

/** Without a resource, the row of the head has no id. */
type FoundRow = readonly [version: number, ...ResourceColumns] | readonly [number, null];

async function findInPart(
  sql: Sql,
  part: number,
  wanted: readonly Address[],
): Promise<FoundInPart | undefined> {
  const ids = [...new Set(wanted.map(({ id }) => id))];
  const found = await rows<FoundRow>(sql`
    SELECT head.version, resource.*
    FROM (SELECT version FROM heads WHERE part = ${part}::bigint) AS head
    LEFT JOIN LATERAL (${resourcesById(sql, part, ids)}) AS resource ON true`);
  const [first] = found;
  if (!first) return undefined;
  const resources = new Map<string, Resource | Damage>();
  for (const [, ...columns] of found)
    if (columns[0] !== null)
      resources.set(columns[0], resourceOrDamage(columns as ResourceColumns, wanted[0]));
  return { version: first[0], resources };
}

/** A damaged resource does not affect the others of a statement. */
export function resourceOrDamage(
  columns: ResourceColumns,
  address: Pick<Address, "row"> | undefined,
): Resource | Damage {
  try {
    return resourceOf(columns);
  } catch (error) {
    if (!(error instanceof Damage)) throw error;
    return new Damage(error.id, address?.row.name);
  }
}

export async function readSlice(
  sql: Sql,
  row: CollectionRow,
  range: Range,
): Promise<Versioned<Slice> | undefined> {
  // A page that is too large is not sent, so that its fields are not read.
  const isNeeded = (page: readonly FirstRow[]) => !isCutIn(page, range);
  const [first, ...found] = await readRows(sql, row.part, range, isNeeded);
  if (!first) return undefined;
  const head = headOf(first);
  const collection = toCollection(row, head);
  const value = isCutIn([first, ...found], range)
    ? { collection, resources: [], fits: found.length }
    : { collection, resources: inOrder(found, range).map(resourceOf) };
  return { version: head.version, value };
}

interface RangeResult {
  readonly head: HeadState;
  readonly hits: readonly Candidate[];
  readonly isCut: boolean;
}

/** Reads a range in order of creation, with the seqs of its resources. Undefined when the part was deleted. */
export async function readRange(
  sql: Sql,
  part: number,
  range: Range,
): Promise<RangeResult | undefined> {
  const page = await readRows(sql, part, range);
  const [first, ...found] = page;
  if (!first) return undefined;
  const hits = inOrder(found, range).map((row) => ({ seq: row[10], resource: resourceOf(row) }));
  return { head: headOf(first), hits, isCut: isCutIn(page, range) };
}

/** The rows have ascending seqs. */
const inOrder = (found: readonly FirstRow[], { order }: Range): readonly FirstRow[] =>
  order === "created" ? found : found.toReversed();

/** Whether `maxBytes` has left out rows. The first row of the page is the head. */
function isCutIn(page: readonly FirstRow[], { offset, limit, maxBytes }: Range): boolean {
  const [first] = page;
  if (!first || maxBytes === undefined) return false;
  return page.length - 1 < Math.min(limit, headOf(first).total - offset);
}

/** Returns the head and the resources of a range. */
function readRows(
  sql: Sql,
  part: number,
  { offset, limit, order, maxBytes }: Range,
  isNeeded?: (found: readonly FirstRow[]) => boolean,
): Promise<readonly FirstRow[]> {
  const isForward = order === "created";
  const index = isForward ? sql`${offset}::bigint` : sql`total - 1 - ${offset}::bigint`;
  const onward = isForward
    ? sql`seq > descend."row" ORDER BY seq`
    : sql`seq <= descend."row" + 1 ORDER BY seq DESC`;
  const table = sql`
    SELECT * FROM resources
    WHERE part = ${part}::bigint AND ${onward} LIMIT ${limit}::bigint`;
  const select = (columns: Statement) => sql`
    WITH RECURSIVE head AS (
      SELECT *, ${index} AS index FROM heads WHERE part = ${part}::bigint
    ),
    ${descend(sql, part)}
    SELECT ${headColumns(sql)}, 0 AS place
    FROM head
    UNION ALL
    SELECT resource.*
    FROM descend CROSS JOIN LATERAL (
      SELECT ${columns}, 0::bigint, seq
      FROM ${rowsWithin(sql, table, isForward ? sql`seq` : sql`seq DESC`, maxBytes)} AS page
    ) AS resource
    WHERE level = -1
    ORDER BY place`;
  return readWithFields(sql, part, { maxBytes, select, ...(isNeeded && { isNeeded }) });
}
