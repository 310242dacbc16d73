// Computes which index entries and search words change when a resource is written or removed.

import { entriesOf, type IndexPlan, searchTextsOf } from "../../model/query/index-plan.ts";
import type { Candidate } from "../../model/query/query.ts";
import { termsIn } from "../../model/query/rank.ts";
import type { EntryRow, WordRow } from "./rows.ts";
import { nameOf } from "./unique-values.ts";
import type { PartWrites } from "./writes.ts";

export type IndexWrites = Pick<PartWrites, "deletedEntries" | "entries" | "deletedWords" | "words">;

export const noIndexWrites = (): IndexWrites => ({
  deletedEntries: [],
  entries: [],
  deletedWords: [],
  words: [],
});

/** Whether the plan has neither indexes nor searchable fields. */
export const hasNoIndexes = ({ indexes, searchable }: IndexPlan): boolean =>
  indexes.length === 0 && searchable.length === 0;

/** Whether the rows of a change depend on the fields before it. */
export const needsFields = (plan: IndexPlan): boolean =>
  !hasNoIndexes(plan) || plan.formerFields !== undefined;

/** Adds the rows to delete and to insert for a resource before and after a batch. Only differences are written. */
export function collectIndexRows(
  writes: IndexWrites,
  plan: IndexPlan,
  before: Candidate | undefined,
  after: Candidate | undefined,
): void {
  if (before && after && before.seq !== after.seq) {
    collectIndexRows(writes, plan, before, undefined);
    collectIndexRows(writes, plan, undefined, after);
    return;
  }
  const oldEntries = entryRows(plan, before);
  const newEntries = entryRows(plan, after);
  for (const [name, row] of oldEntries) if (!newEntries.has(name)) writes.deletedEntries.push(row);
  for (const [name, row] of newEntries) if (!oldEntries.has(name)) writes.entries.push(row);
  if (plan.searchable.length === 0) return;
  const oldWords = wordRows(plan, before);
  const newWords = wordRows(plan, after);
  for (const [word, row] of oldWords)
    if (newWords.get(word)?.weight !== row.weight) writes.deletedWords.push(row);
  for (const [word, row] of newWords)
    if (oldWords.get(word)?.weight !== row.weight) writes.words.push(row);
}

function entryRows(
  plan: IndexPlan,
  candidate: Candidate | undefined,
): ReadonlyMap<string, EntryRow> {
  if (!candidate) return new Map();
  const { seq, resource } = candidate;
  return new Map(
    entriesOf(plan, resource).map(({ field, key }) => [
      nameOf({ field, key }),
      { field, key, seq },
    ]),
  );
}

function wordRows(plan: IndexPlan, candidate: Candidate | undefined): ReadonlyMap<string, WordRow> {
  if (!candidate) return new Map();
  const { seq, resource } = candidate;
  const terms = termsIn(searchTextsOf(plan, resource));
  return new Map([...terms].map(([word, weight]) => [word, { word, seq, weight }]));
}
