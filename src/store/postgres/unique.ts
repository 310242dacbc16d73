// Finds resources by their keys in unique indexes, with one statement per part.

import type { IndexEntry } from "../../model/query/index-plan.ts";
import type { Resource } from "../../model/resource.ts";
import type { Damage } from "../core/stored-resource.ts";
import type { CollectionRow } from "./collections.ts";
import { allOrFirstError, column, rows, type Sql } from "./connection.ts";
import { resourceOrDamage, type VersionedResource } from "./resource.ts";
import { type ResourceColumns, resourceColumns } from "./row.ts";

/** A key in a unique index of a collection. */
export interface UniqueAddress extends IndexEntry {
  readonly row: CollectionRow;
}

/** Returns the resources that have the keys, in the same order. Undefined where the part was deleted. */
export async function findUniques(
  sql: Sql,
  addresses: readonly UniqueAddress[],
): Promise<readonly VersionedResource[]> {
  const found = new Map<UniqueAddress, VersionedResource>();
  const byPart = Map.groupBy(addresses, ({ row }) => row.part);
  await allOrFirstError(
    [...byPart].map(async ([part, wanted]) => {
      const inPart = await findInPart(sql, part, wanted);
      for (const [index, address] of wanted.entries()) found.set(address, inPart[index]);
    }),
  );
  return addresses.map((address) => found.get(address));
}

/** Without a resource, the row of the head has no place. */
type FoundUniqueRow =
  | readonly [version: number, place: number, ...ResourceColumns]
  | readonly [version: number, null];

async function findInPart(
  sql: Sql,
  part: number,
  wanted: readonly UniqueAddress[],
): Promise<readonly VersionedResource[]> {
  const found = await rows<FoundUniqueRow>(sql`
    SELECT head.version, resource.*
    FROM (SELECT version FROM heads WHERE part = ${part}::bigint) AS head
    LEFT JOIN LATERAL (
      SELECT found.* FROM unnest(${column(wanted, "field")}::text[], ${column(wanted, "key")}::text[])
        WITH ORDINALITY AS wanted (field, key, place)
      CROSS JOIN LATERAL (
        SELECT seq FROM entries
        WHERE part = ${part}::bigint AND field = wanted.field AND key = wanted.key
        LIMIT 1
      ) AS entry
      CROSS JOIN LATERAL (
        SELECT wanted.place, ${resourceColumns(sql)} FROM resources
        WHERE part = ${part}::bigint AND seq BETWEEN entry.seq AND entry.seq
        ORDER BY seq LIMIT 1
      ) AS found
    ) AS resource ON true`);
  const [first] = found;
  if (!first) return [];
  const [version] = first;
  const byPlace = new Map<number, Resource | Damage>();
  for (const [, place, ...columns] of found)
    if (place !== null)
      byPlace.set(place, resourceOrDamage(columns as unknown as ResourceColumns, wanted[0]));
  return wanted.map((_, index) => ({ version, value: byPlace.get(index + 1) }));
}
