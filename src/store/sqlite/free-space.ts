// Measures a database, and checks that the disk has room for a copy of it.

import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { Outage } from "../../model/outage.ts";
import type { Connection } from "./connection.ts";
import type { DatabaseFile } from "./file.ts";

export function sizeOf(source: Connection): number {
  const [pages = 0] = source.query<readonly [number]>("PRAGMA page_count").one() ?? [];
  return pages * pageBytes(source);
}

const pageBytes = (source: Connection): number =>
  source.query<readonly [number]>("PRAGMA page_size").one()?.[0] ?? 0;

/** A migrated copy can have new indexes. */
const copyToSource = 1.5;

export const migratedSize = (source: Connection): number =>
  Math.ceil(copyToSource * sizeOf(source));

/** Said of a migration. */
export const untouched =
  ", or move the folder to a larger disk. The database is unchanged, and the version that wrote it opens it";

export function unusedBytes(source: Connection): number {
  const [pages = 0] = source.query<readonly [number]>("PRAGMA freelist_count").one() ?? [];
  return pages * pageBytes(source);
}

/** The part of the pages that is not in use. */
export function unusedPart(source: Connection): number {
  const pages = source.query<readonly [unused: number, all: number]>(
    "SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count",
  );
  const [unused, all] = pages.one() ?? [0, 1];
  return unused / all;
}

/** The free space of the disk that a file is on. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = statfsSync(dirname(path));
  return bavail * bsize;
}

export function assertFreeSpace(
  { path }: DatabaseFile,
  needed: number,
  otherwise = "",
  reason: Outage["reason"] = "suspect",
): void {
  const free = freeBytes(path);
  if (free < needed)
    throw new Outage(
      reason,
      `a copy of the database needs ${needed} bytes, but only ${free} are free: free up disk space in ${dirname(path)}${otherwise}`,
    );
}
