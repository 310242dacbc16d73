// Selects the columns of heads and resources, and converts their rows.

import type { Resource } from "../../model/resource.ts";
import { type StoredResource, toResource } from "../core/stored-resource.ts";
import type { HeadState } from "./collections.ts";
import type { Sql, Statement, Value } from "./connection.ts";

export type ResourceColumns = readonly [...StoredResource, checksum: number | null];

type ResourceCells = readonly [
  ...StoredResource<string | Uint8Array>,
  checksum: number | null,
  ...Value[],
];

export const resourceColumns = (sql: Sql, fields: Statement = sql`fields`): Statement =>
  sql`id, revision, created, updated, ${fields}, owner, files, shares_date, checksum`;

/** The resources with these ids, as a subquery. */
export const resourcesById = (sql: Sql, part: number, ids: readonly string[]): Statement => sql`
  SELECT found.* FROM unnest(${ids}::text[]) AS wanted (id)
  CROSS JOIN LATERAL (
    SELECT ${resourceColumns(sql)} FROM resources
    WHERE part = ${part}::bigint AND id BETWEEN wanted.id AND wanted.id
    ORDER BY id LIMIT 1
  ) AS found`;

/** The fields can be bytes. Throws Damage when the checksum does not match. */
export function resourceOf(row: ResourceCells): Resource {
  const [id, revision, created, updated, fields, owner, files, sharesDate, checksum] = row;
  return toResource([id, revision, created, updated, fields, owner, files, sharesDate], checksum);
}

/** The first row of a result is the head, so that it comes from the same snapshot as the resources. */
export type FirstRow = readonly [...ResourceColumns, total: number, place: number];

/** The columns of a head, in the same number and order as those of a resource. */
export const headColumns = (sql: Sql): Statement =>
  sql`'' AS id, revision, version AS created, updated, epoch::text AS fields, NULL AS owner,
    NULL AS files, shares_date, bytes AS checksum, total`;

export function headOf(row: readonly [...FirstRow, ...Value[]]): HeadState {
  const [, revision, version, updatedAt, epoch, , , sharesDate, bytes, total] = row;
  const counters = { revision, total, bytes: bytes ?? 0 };
  return { ...counters, updatedAt, sharesDate, version, epoch: Number(epoch) };
}

/**
 * Selects the first rows whose fields have at most `maxBytes` together, but at least one row. `size` is
 * the sum of the sizes up to each row, for which the fields are not read, and `among` the number of all rows.
 */
export const rowsWithin = (
  sql: Sql,
  table: Statement,
  order: Statement,
  maxBytes: number | undefined,
): Statement =>
  maxBytes === undefined
    ? sql`(${table})`
    : sql`(
        SELECT * FROM (
          SELECT *, sum(coalesce(octet_length(fields), 0)) OVER (ORDER BY ${order}) AS size,
            row_number() OVER (ORDER BY ${order}) AS nth, count(*) OVER () AS among
          FROM (${table}) AS whole
        ) AS sized
        WHERE size <= ${maxBytes}::bigint OR nth = 1
      )`;
