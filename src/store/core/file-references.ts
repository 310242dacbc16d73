// Computes which file references change when a resource is written or removed.

import { readFiles } from "../../model/file.ts";
import type { PartWrites } from "./writes.ts";

/** Adds the references to delete and to insert. A resource without files costs nothing. */
export function collectFileReferences(
  writes: Pick<PartWrites, "deletedFiles" | "files">,
  before: string | null,
  after: string | null,
): void {
  if (before === after) return;
  const last = keysIn(before);
  const next = keysIn(after);
  for (const key of last) if (!next.has(key)) writes.deletedFiles.push(key);
  for (const key of next) if (!last.has(key)) writes.files.push(key);
}

const keysIn = (files: string | null): ReadonlySet<string> =>
  new Set(readFiles(files ?? undefined).map(({ key }) => key));
