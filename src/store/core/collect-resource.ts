// Collects the rows that change when a resource is written or removed.

import { writeFormerState } from "../../model/access/former-state.ts";
import type { IndexPlan } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import { collectFileReferences } from "./file-references.ts";
import { collectIndexRows, hasNoIndexes } from "./index-rows.ts";
import type { ResourceRow, Tombstone } from "./rows.ts";
import type { ResourceState, StoredRemoval } from "./state.ts";
import { resourceIn } from "./stored-resource.ts";
import type { PartWrites } from "./writes.ts";

/** What a batch has written for an id. */
export type WrittenRow = ResourceRow | Tombstone;

export const isRemoval = (written: WrittenRow): written is Tombstone => "removedAt" in written;

export const timeOf = (written: WrittenRow): number =>
  isRemoval(written) ? written.removedAt : written.updatedAt;

interface CollectedChange {
  readonly id: string;
  /** The resource before the batch, if it existed. */
  readonly stored: ResourceState | undefined;
  readonly written: WrittenRow;
  /** The removal of an earlier resource with this id before the batch, if there was one. */
  readonly removal: StoredRemoval | undefined;
}

export function collectResource(
  writes: PartWrites,
  plan: IndexPlan,
  { id, stored, written, removal }: CollectedChange,
): void {
  const after = isRemoval(written) ? undefined : written;
  const isUpdate = stored !== undefined && stored.seq === after?.seq;
  if (stored && !isUpdate) writes.deleted.push(stored.seq);
  if (isRemoval(written)) writes.tombstones.push(written);
  else if (isUpdate) writes.updated.push(written);
  else writes.inserted.push(written);
  if (after && removal) writes.deletedTombstones.push(id);
  const { owner } = stored ?? removal ?? { owner: null };
  if (owner !== null && owner !== written.owner)
    writes.formerOwners.push({ id, revision: written.revision, owner, changedAt: timeOf(written) });
  if (stored && plan.formerFields) {
    const state = writeFormerState(plan.formerFields, { ...stored, fields: stored.fields ?? "{}" });
    const { revision } = written;
    const changedAt = timeOf(written);
    writes.formerStates.push({ id, revision, since: stored.revision, changedAt, state });
  }
  if (stored?.files || after?.files) collectFileReferences(writes, stored, after);
  if (hasNoIndexes(plan)) return;
  collectIndexRows(
    writes,
    plan,
    stored && candidateOf(id, stored),
    after && candidateOf(id, after),
  );
}

export function candidateOf(id: string, state: ResourceState): Candidate {
  const { seq, revision, createdAt, updatedAt, fields, owner } = state;
  const times = [createdAt, updatedAt] as const;
  return { seq, resource: resourceIn([id, revision, ...times, fields ?? "{}", owner, null, 0]) };
}
