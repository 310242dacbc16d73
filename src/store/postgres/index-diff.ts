// Computes which index entries and search words change when a resource is written or removed.

import { entriesOf, type IndexPlan, searchTextOf } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import { vectorOf } from "./vector.ts";
import type { EntryWrite, Writes } from "./writes.ts";

interface IndexedContent {
  readonly entries: ReadonlyMap<string, EntryWrite>;
  /** Empty when the resource has no searchable words. */
  readonly vector: string;
}

const nothing: IndexedContent = { entries: new Map(), vector: "" };

/** Adds the index rows to delete and to insert for a resource before and after a batch. */
export function collectIndexChanges(
  writes: Writes,
  plan: IndexPlan,
  collection: number,
  { before, after }: { readonly before?: Candidate; readonly after?: Candidate },
): void {
  const old = before ? indexedContentOf(plan, collection, before) : nothing;
  const next = after ? indexedContentOf(plan, collection, after) : nothing;
  for (const [name, entry] of old.entries)
    if (!next.entries.has(name)) writes.deletedEntries.push(entry);
  for (const [name, entry] of next.entries) if (!old.entries.has(name)) writes.entries.push(entry);
  const isMoved = before?.seq !== after?.seq;
  if (before && old.vector !== "" && (isMoved || next.vector === ""))
    writes.deletedWords.push({ collection, seq: before.seq });
  if (after && next.vector !== "" && (isMoved || next.vector !== old.vector))
    writes.words.push({ collection, seq: after.seq, vector: next.vector });
}

function indexedContentOf(
  plan: IndexPlan,
  collection: number,
  { seq, resource }: Candidate,
): IndexedContent {
  const entries = entriesOf(plan, resource).map(({ field, key }) => {
    return [JSON.stringify([seq, field, key]), { collection, field, key, seq }] as const;
  });
  const words = searchTextOf(plan, resource).trim();
  return { entries: new Map(entries), vector: words === "" ? "" : vectorOf(collection, words) };
}
