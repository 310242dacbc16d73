// Checks that the disk has room for a copy of the database.

import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { Outage } from "../../model/outage.ts";
import type { Connection } from "./connection.ts";
import type { DatabaseFile } from "./file.ts";

export function sizeOf(source: Connection): number {
  const [pages = 0] = source.query<readonly [number]>("PRAGMA page_count").one() ?? [];
  const [pageBytes = 0] = source.query<readonly [number]>("PRAGMA page_size").one() ?? [];
  return pages * pageBytes;
}

export function assertFreeSpace({ path }: DatabaseFile, needed: number): void {
  const { bavail, bsize } = statfsSync(dirname(path));
  const free = bavail * bsize;
  if (free < needed)
    throw new Outage(
      "suspect",
      `a copy of the database needs ${needed} bytes, but only ${free} are free: free up disk space in ${dirname(path)}`,
    );
}
