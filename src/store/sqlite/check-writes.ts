// Checks when a store is opened that its tables are the newest and that writes work.

import { Outage } from "../../model/outage.ts";
import { Connection } from "./connection.ts";
import { type DatabaseFile, hasVerifiedCopy } from "./file.ts";
import { requireNewest } from "./schema.ts";
import type { WriterClient } from "./writer-client.ts";

/**
 * Lets the writer create the tables and test a write. On a full or failing disk reads of
 * tables of the newest version still work.
 */
export async function checkWrites(writerClient: WriterClient, file: DatabaseFile): Promise<void> {
  let [result] = await Promise.allSettled([writerClient.commit([])]);
  if (isOutage(result, "suspect")) {
    await writerClient.repair();
    [result] = await Promise.allSettled([writerClient.commit([])]);
  }
  if (result.status === "fulfilled") return;
  if (!isOutage(result, "suspect") && !isOutage(result, "full")) throw result.reason;
  // In the middle of a swap the WAL can be deleted already.
  if (hasVerifiedCopy(file) || !hasNewestTables(file)) throw result.reason;
}

const isOutage = (result: PromiseSettledResult<unknown>, reason: Outage["reason"]): boolean =>
  result.status === "rejected" &&
  result.reason instanceof Outage &&
  result.reason.reason === reason;

function hasNewestTables(file: DatabaseFile): boolean {
  try {
    requireNewestTables(file);
    return true;
  } catch {
    return false;
  }
}

export function requireNewestTables({ path }: DatabaseFile): void {
  const connection = new Connection(path, "read");
  try {
    requireNewest(connection);
  } finally {
    connection.close();
  }
}
