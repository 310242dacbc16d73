// Finds which files are referenced, in all collections.

import { allOrFirstError, rows, type Sql } from "./connection.ts";

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
          SELECT key FROM files
          WHERE part = ${part}::bigint AND key = ANY (${keys}::text[])`),
      ),
    );
    for (const [key] of references.flat()) found.add(key);
  }
  return found;
}
