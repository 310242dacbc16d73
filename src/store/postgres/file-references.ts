// The keys of the files that resources name: kept in a table, so that one look tells what nobody names.

import { readFiles } from "../../model/file.ts";
import { rows, type Sql } from "./connection.ts";
import type { Writes } from "./writes.ts";

/** Adds what is named no longer, and what is named anew. What has no files costs nothing. */
export function collectFileReferences(
  writes: Writes,
  collection: number,
  before: string | null,
  after: string | null,
): void {
  if (before === after) return;
  const last = keysIn(before);
  const next = keysIn(after);
  for (const key of last) if (!next.has(key)) writes.goneFiles.push({ collection, key });
  for (const key of next) if (!last.has(key)) writes.files.push({ collection, key });
}

const keysIn = (parts: string | null): ReadonlySet<string> =>
  new Set(readFiles(parts ?? undefined).map(({ key }) => key));

/** Those of the keys that a resource names. */
export async function findReferencedFiles(
  sql: Sql,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = await rows<readonly [string]>(sql`
    SELECT key FROM files WHERE key = ANY (${keys}::text[])`);
  return new Set(found.map(([key]) => key));
}
