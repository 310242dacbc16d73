// Writes references to files, finds which files are referenced, in all collections, and adds up their sizes.

import type { FileRow } from "../core/rows.ts";
import { allOrFirstError, column, rows, type Sql, type Statement } from "./connection.ts";
import { deleteByKeys } from "./delete-rows.ts";

const partsPerRoundTrip = 100;

/** Returns those of the keys that a resource references. Asks each part, so it is not for the request path. */
export async function findReferencedFiles(
  sql: Sql,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const collections = await rows<readonly [part: number]>(sql`SELECT part FROM collections`);
  const found = new Set<string>();
  for (let start = 0; start < collections.length; start += partsPerRoundTrip) {
    const parts = collections.slice(start, start + partsPerRoundTrip);
    const references = await allOrFirstError(
      parts.map(([part]) =>
        rows<readonly [string]>(sql`
          SELECT found.key FROM unnest(${keys}::text[]) AS wanted (key)
          CROSS JOIN LATERAL (
            SELECT key FROM files
            WHERE part = ${part}::bigint AND key BETWEEN wanted.key AND wanted.key
            ORDER BY key LIMIT 1
          ) AS found`),
      ),
    );
    for (const [key] of references.flat()) found.add(key);
  }
  return found;
}

/** Returns the bytes of the files of an owner; without one, of all. Those of a deleted collection do not count. */
export async function readFileBytes(sql: Sql, owner?: string): Promise<number> {
  const [row] = await rows<readonly [bytes: number]>(sql`
    SELECT coalesce(sum(bytes), 0)::bigint FROM files
    WHERE part NOT IN (SELECT part FROM deleted_parts)
      ${owner === undefined ? sql`` : sql`AND owner = ${owner}`}`);
  return row?.[0] ?? 0;
}

export const insertFiles = (sql: Sql, part: number, files: readonly FileRow[]): Statement => sql`
  INSERT INTO files (part, key, owner, bytes)
  SELECT ${part}::bigint, * FROM unnest(
    ${column(files, "key")}::text[], ${column(files, "owner")}::text[],
    ${column(files, "bytes")}::bigint[]
  )
  ON CONFLICT (part, key) DO UPDATE SET owner = excluded.owner, bytes = excluded.bytes`;

export const deleteFiles = (sql: Sql, part: number, keys: readonly string[]): Statement =>
  deleteByKeys(sql, part, "files", { key: sql`${keys}::text[]` });
