// Computes which indexes have to be deleted and built when a definition changes.

import { type Index, type IndexPlan, isSameSearch } from "../../model/query/index-plan.ts";

export interface IndexChanges {
  /** The fields whose entries are deleted. */
  readonly deletedFields: readonly string[];
  /** Whether all words are deleted. */
  readonly areWordsDeleted: boolean;
  /** What is built from the existing resources. */
  readonly built: IndexPlan;
  /** The fields that became unique: no two resources may have the same value. */
  readonly newlyUnique: readonly string[];
}

export function indexChanges(before: IndexPlan, after: IndexPlan): IndexChanges {
  const isSame = isSameSearch(before, after);
  const { indexes: _, ...search } = after;
  return {
    deletedFields: without(before.indexes, after.indexes).map(({ field }) => field),
    areWordsDeleted: !isSame && before.searchable.length > 0,
    built: {
      ...(isSame ? { searchable: [] } : search),
      indexes: without(after.indexes, before.indexes),
    },
    newlyUnique: without(unique(after.indexes), unique(before.indexes)).map(({ field }) => field),
  };
}

const unique = (indexes: readonly Index[]): readonly Index[] =>
  indexes.filter(({ isUnique }) => isUnique);

/** Returns the indexes whose entries are not those of another. */
const without = (indexes: readonly Index[], others: readonly Index[]): readonly Index[] =>
  indexes.filter(
    ({ field, kind }) => !others.some((other) => other.field === field && other.kind === kind),
  );
