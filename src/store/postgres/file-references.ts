// Maintains the table of file keys that resources reference, so that unreferenced files can be found.

import { readFiles } from "../../model/file.ts";
import { rows, type Sql } from "./connection.ts";
import type { Writes } from "./writes.ts";

/** Adds the file references to delete and to insert. A resource without files costs nothing. */
export function collectFileReferences(
  writes: Writes,
  collection: number,
  before: string | null,
  after: string | null,
): void {
  if (before === after) return;
  const last = keysIn(before);
  const next = keysIn(after);
  for (const key of last) if (!next.has(key)) writes.deletedFiles.push({ collection, key });
  for (const key of next) if (!last.has(key)) writes.files.push({ collection, key });
}

const keysIn = (parts: string | null): ReadonlySet<string> =>
  new Set(readFiles(parts ?? undefined).map(({ key }) => key));

/** Returns those of the keys that a resource references. */
export async function findReferencedFiles(
  sql: Sql,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const found = await rows<readonly [string]>(sql`
    SELECT key FROM files WHERE key = ANY (${keys}::text[])`);
  return new Set(found.map(([key]) => key));
}
