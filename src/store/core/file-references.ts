// Computes which file references change when a resource is written or removed.

import { readFiles, type StoredFile } from "../../model/file.ts";
import type { FileRow } from "./rows.ts";
import type { PartWrites } from "./writes.ts";

/** The size of a file as it counts; a damaged one counts nothing. */
export const countedBytes = ({ size }: StoredFile): number =>
  Number.isSafeInteger(size) && size > 0 ? size : 0;

/** What a resource has of files. */
export interface FileHolder {
  readonly files: string | null;
  readonly owner: string | null;
}

/** Adds the references to delete and to insert. A resource without files costs nothing. */
export function collectFileReferences(
  writes: Pick<PartWrites, "deletedFiles" | "files">,
  before: FileHolder | undefined,
  after: FileHolder | undefined,
): void {
  const isSameOwner = before?.owner === after?.owner;
  if (isSameOwner && before?.files === after?.files) return;
  const last = rowsOf(before);
  const next = rowsOf(after);
  for (const key of last.keys()) if (!next.has(key)) writes.deletedFiles.push(key);
  for (const [key, row] of next) if (!isSameOwner || !last.has(key)) writes.files.push(row);
}

function rowsOf(holder: FileHolder | undefined): ReadonlyMap<string, FileRow> {
  const { files = null, owner = null } = holder ?? {};
  const all = readFiles(files ?? undefined);
  return new Map(
    all.map((file) => [file.key, { key: file.key, owner, bytes: countedBytes(file) }]),
  );
}
