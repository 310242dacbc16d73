// Locks and loads the sizes of files that a batch is compared with.

import type { FileQuotas, StoredFileUse } from "../core/file-use.ts";
import type { Change, ResourceChange } from "../store.ts";
import { rows, type Sql } from "./connection.ts";
import { readFileBytes } from "./files.ts";

/** Two batches with files wait for each other, on any node, so that together they do not exceed a quota. */
export async function lockFileUse(sql: Sql): Promise<void> {
  await rows(sql`SELECT one FROM store WHERE one FOR UPDATE`);
}

/** Whether the changes can add files. */
export const addsFiles = (changes: readonly Change[]): boolean =>
  changes.some((change) =>
    change.kind === "all" ? addsFiles(change.changes) : change.kind === "put" && change.files,
  );

/** Called after `lockFileUse`. `owners` are those of the stored resources. */
export async function loadFileUse(
  sql: Sql,
  quotas: FileQuotas,
  changes: readonly Change[],
  owners: readonly string[],
): Promise<StoredFileUse> {
  const all = new Set([...owners, ...changes.flatMap(resourceChanges).flatMap(ownersIn)]);
  const known = quotas.perSubject === undefined ? [] : [...all];
  const asked = [...(quotas.total === undefined ? [] : [undefined]), ...known];
  const sums = new Map<string | undefined, number>();
  for (const owner of asked) sums.set(owner, await readFileBytes(sql, owner));
  return { quotas, bytes: (owner) => sums.get(owner) ?? 0 };
}

const resourceChanges = (change: Change): readonly ResourceChange[] => {
  if (change.kind === "all") return change.changes;
  return change.kind === "put" ? [change] : [];
};

const ownersIn = (change: ResourceChange): readonly string[] =>
  change.kind === "put" && change.files
    ? [change.owner, change.setOwner].filter((owner) => typeof owner === "string")
    : [];
