// Computes which indexes have to be deleted and built when a definition changes.

import { type Index, type IndexPlan, isSameSearch } from "../../model/query/index-plan.ts";

export interface IndexChanges {
  /** The names of the indexes whose entries are deleted. */
  readonly deletedIndexes: readonly string[];
  /** Whether all words are deleted. */
  readonly areWordsDeleted: boolean;
  /** What is built from the existing resources. */
  readonly built: IndexPlan;
  /** The indexes that became unique: no two resources may have the same values. */
  readonly newlyUnique: readonly Index[];
}

export function indexChanges(before: IndexPlan, after: IndexPlan): IndexChanges {
  const isSame = isSameSearch(before, after);
  const { indexes: _, ...search } = after;
  return {
    deletedIndexes: without(before.indexes, after.indexes).map(({ name }) => name),
    areWordsDeleted: !isSame && before.searchable.length > 0,
    built: {
      ...(isSame ? { searchable: [] } : search),
      indexes: without(after.indexes, before.indexes),
    },
    newlyUnique: without(unique(after.indexes), unique(before.indexes)),
  };
}

const unique = (indexes: readonly Index[]): readonly Index[] =>
  indexes.filter(({ isUnique }) => isUnique);

/** Returns the indexes whose entries are not those of another. */
const without = (indexes: readonly Index[], others: readonly Index[]): readonly Index[] =>
  indexes.filter(({ name, fields }) => {
    const same = others.find((other) => other.name === name);
    return !same?.fields.every(({ kind }, index) => kind === fields[index]?.kind);
  });
