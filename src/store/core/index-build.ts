// Plans how the index rows of a part follow a new definition, in steps between other writes.

import { definitionLimits } from "../../model/definition-schema.ts";
import { type ListedIndex, readIndex } from "../../model/listed-index.ts";
import { Outage } from "../../model/outage.ts";
import { type IndexPlan, indexPlanOf, isSameSearch } from "../../model/query/index-plan.ts";
import { minKey } from "../../model/query/sort-key.ts";
import type { BuildProgress, Clash } from "../store.ts";
import { type CheckedEntry, isEnough } from "./checked-entries.ts";
import { indexChanges } from "./index-changes.ts";

/**
 * What is left to do. The phases follow each other: rows that are in the way are deleted (`clear`), rows of
 * new indexes are written (`build`), values are compared (`check`), and then the rows of indexes that the
 * definition no longer has are deleted (`drop`). A unique index in which values clash remains an index.
 */
export interface IndexBuild {
  /** Indexes with the name of a new one, whose entries are deleted first. */
  readonly stale: readonly string[];
  readonly areWordsStale: boolean;
  /** The names of the new indexes. */
  readonly built: readonly string[];
  readonly isSearchBuilt: boolean;
  /** Whether the rows of new indexes and words are complete. */
  readonly isBuilt: boolean;
  /** The names of the indexes whose values have to be compared. */
  readonly unique: readonly string[];
  /** The names of those in which values clash. After the last comparison they are not unique any more. */
  readonly failed: readonly string[];
  readonly dropped: readonly string[];
  /** The last resource that is indexed. */
  readonly seq: number;
  /** The last entry that is compared. */
  readonly checked: readonly [key: string, seq: number];
  /** The number of rows that are indexed or compared, and of all. */
  readonly done: number;
  readonly total: number;
  /** The first values of each index that are not unique. */
  readonly clashes: readonly Clash[];
  /** The node that builds, and when it took its last step. */
  readonly builder?: readonly [node: string, at: number];
}

export type BuildPhase = "clear" | "build" | "check" | "drop" | "none";

export function phaseOf({ stale, areWordsStale, ...build }: IndexBuild): BuildPhase {
  if (stale.length > 0 || areWordsStale) return "clear";
  if (!build.isBuilt) return "build";
  if (build.unique.length + build.failed.length > 0) return "check";
  return build.dropped.length > 0 ? "drop" : "none";
}

/** Whether a build is not kept: it is only to show its clashes. */
export const isDone = (build: IndexBuild): boolean =>
  phaseOf(build) === "none" && build.clashes.length === 0;

/** Whether indexes are not complete, or values not compared. */
const isOpen = (build: IndexBuild): boolean => !["drop", "none"].includes(phaseOf(build));

/** Whether an index does not have the entries of all resources yet. */
export const isIncomplete = (build: IndexBuild, index: string): boolean =>
  isOpen(build) && (build.stale.includes(index) || (!build.isBuilt && build.built.includes(index)));

/** Whether the definition has to be replaced by `withoutFailed`. */
export const isFailed = (build: IndexBuild): boolean =>
  phaseOf(build) === "check" && build.unique.length === 0;

/** Returns the definition with the unique indexes in which values clash as indexes that are not unique. */
export function withoutFailed(definition: string, { failed }: IndexBuild): string {
  const { unique = [], indexed = [], ...others }: ListedIndexes = JSON.parse(definition);
  const isClashing = (listed: ListedIndex) => failed.includes(readIndex(listed).name);
  const names = new Set(indexed.map((listed) => readIndex(listed).name));
  const added = unique.filter((each) => isClashing(each) && !names.has(readIndex(each).name));
  const rest = unique.filter((listed) => !isClashing(listed));
  return JSON.stringify({
    ...others,
    ...(rest.length > 0 && { unique: rest }),
    indexed: [...indexed, ...added].slice(0, definitionLimits.maxFields),
  });
}

/** The words of the log about it. */
export const failureText = (name: string, { failed }: IndexBuild): string =>
  `the values of ${failed.join(", ")} in ${name} are not unique: the definition is in effect without these unique indexes; /-/collections/${name} shows resources with the same values`;

interface ListedIndexes {
  readonly unique?: readonly ListedIndex[];
  readonly indexed?: readonly ListedIndex[];
}

/** Returns the build without the clashes of these resources; the same object when it has none. */
export function withoutClashes(build: IndexBuild, ids: ReadonlySet<string>): IndexBuild {
  const kept = build.clashes.filter((clash) => !clash.ids.some((id) => ids.has(id)));
  return kept.length === build.clashes.length ? build : { ...build, clashes: kept };
}

/** Undefined when the indexes are complete and only rows of former ones are left to delete. */
export function progressOf(build: IndexBuild): BuildProgress | undefined {
  const { done, total, clashes } = build;
  const isRunning = isOpen(build);
  if (!isRunning && clashes.length === 0) return undefined;
  return { isRunning, done: Math.min(done, total), total, clashes };
}

/** As many full steps are done with the definition itself: a small collection is complete at once. */
export const firstFullSteps = 2;

/** The size of the resources that a step indexes; it indexes at least one. */
export const bytesPerStep = 128 * 1024;

/** Whether a step has ended before its work was done. */
export const isFullStep = (before: IndexBuild, after: IndexBuild): boolean =>
  phaseOf(before) === phaseOf(after) &&
  (["stale", "unique", "dropped"] as const).every(
    (names) => before[names].length === after[names].length,
  );

/** How many rows a step has indexed or compared; 0 when it deletes. */
export const rowsOf = (before: IndexBuild, after: IndexBuild): number => after.done - before.done;

/** Whether a step has changed the plans. */
export const isNewPlan = (before: IndexBuild, after: IndexBuild): boolean =>
  isOpen(before) !== isOpen(after) ||
  (phaseOf(before) === "clear" && phaseOf(after) !== "clear") ||
  before.stale.length !== after.stale.length;

/** The plan by which queries are answered, and the one by which rows are written. */
export interface BuildPlans {
  readonly read: IndexPlan;
  readonly write: IndexPlan;
}

export function plansOf(definition: string, build: IndexBuild | undefined): BuildPlans {
  const plan = indexPlanOf(definition);
  if (!build || !isOpen(build)) return { read: plan, write: plan };
  const { stale, areWordsStale, built, isSearchBuilt } = build;
  const written = plan.indexes.filter(({ name }) => !stale.includes(name));
  return {
    read: {
      ...plan,
      indexes: written.filter(({ name }) => !built.includes(name)),
      ...(isSearchBuilt && { isSearchIncomplete: true as const }),
    },
    write: { ...plan, ...(areWordsStale && { searchable: [] }), indexes: written },
  };
}

/** Throws while the index of this name is not complete. */
export function requireIndex({ indexes }: IndexPlan, name: string): void {
  if (!indexes.some((index) => index.name === name))
    throw new Outage("busy", `the index of ${name} is not complete yet`);
}

interface StoredRules {
  readonly definition: string;
  readonly build: IndexBuild | undefined;
}

/** Returns what has to be done for a new definition; undefined for nothing. */
export function planBuild(
  { definition: before, build }: StoredRules,
  after: string,
  rows: number,
): IndexBuild | undefined {
  const next = indexPlanOf(after);
  const names = new Set(next.indexes.map(({ name }) => name));
  if (build && isFailed(build) && after === withoutFailed(before, build)) {
    const gone = build.failed.filter((name) => !names.has(name));
    return kept({ ...build, failed: [], dropped: [...build.dropped, ...gone] });
  }
  const open = build && isOpen(build) ? build : undefined;
  const base = open ? completePlan(before, open) : indexPlanOf(before);
  const changes = indexChanges(base, next);
  const partial = open ? open.built.filter((name) => !isContinued(before, next, name)) : [];
  const left = unique([
    ...(build?.stale ?? []),
    ...(build?.dropped ?? []),
    ...partial,
    ...changes.deletedIndexes,
  ]);
  const stale = left.filter((name) => names.has(name));
  const hasPartialWords = open?.isSearchBuilt === true || open?.areWordsStale === true;
  const isSearchChanged = hasPartialWords || !isSameSearch(base, next);
  const built = changes.built.indexes.map(({ name }) => name);
  const isSearchBuilt = isSearchChanged && next.searchable.length > 0;
  const compared = changes.newlyUnique.map(({ name }) => name);
  const passes = (built.length > 0 || isSearchBuilt ? 1 : 0) + compared.length;
  const state: IndexBuild = {
    stale,
    areWordsStale: isSearchChanged && (hasPartialWords || base.searchable.length > 0),
    built,
    isSearchBuilt,
    isBuilt: built.length === 0 && !isSearchBuilt,
    unique: compared,
    failed: [],
    dropped: left.filter((name) => !names.has(name)),
    ...startOfCheck,
    seq: 0,
    done: 0,
    total: passes * rows,
    clashes: [],
  };
  return kept(state);
}

const kept = (build: IndexBuild): IndexBuild | undefined => (isDone(build) ? undefined : build);

const startOfCheck = { checked: [minKey, Number.MAX_SAFE_INTEGER] } as const;

/** The indexes whose rows are complete while others are built. Values that are not compared are not unique. */
function completePlan(definition: string, build: IndexBuild): IndexPlan {
  const { isSearchBuilt, areWordsStale, unique, failed } = build;
  const { read } = plansOf(definition, build);
  const isOpenValue = (name: string) => unique.includes(name) || failed.includes(name);
  return {
    ...read,
    ...((isSearchBuilt || areWordsStale) && { searchable: [] }),
    indexes: read.indexes.map((index) =>
      isOpenValue(index.name) ? { ...index, isUnique: false } : index,
    ),
  };
}

/** Whether an index that is being built is the same in the next definition, so that its rows can stay. */
function isContinued(before: string, next: IndexPlan, name: string): boolean {
  const kinds = ({ indexes }: IndexPlan) =>
    indexes.find((index) => index.name === name)?.fields.map(({ kind }) => kind);
  return JSON.stringify(kinds(indexPlanOf(before))) === JSON.stringify(kinds(next));
}

const unique = (names: readonly string[]): readonly string[] => [...new Set(names)];

/** The indexes and searchable fields whose rows are written. */
export function builtPlan(definition: string, { built, isSearchBuilt }: IndexBuild): IndexPlan {
  const { indexes, ...search } = indexPlanOf(definition);
  return {
    ...(isSearchBuilt ? search : { searchable: [] }),
    indexes: indexes.filter(({ name }) => built.includes(name)),
  };
}

/** After a step of `clear` that has deleted all rows of the first index, or of the words. */
export const cleared = (build: IndexBuild): IndexBuild =>
  build.stale.length > 0
    ? { ...build, stale: build.stale.slice(1) }
    : { ...build, areWordsStale: false };

/** After a step of `build`; without a last seq nothing is left. */
export const indexed = (build: IndexBuild, count: number, last: number | undefined): IndexBuild =>
  last === undefined
    ? { ...build, isBuilt: true }
    : { ...build, seq: last, done: build.done + count };

export const droppedOne = (build: IndexBuild): IndexBuild => ({
  ...build,
  dropped: build.dropped.slice(1),
});

/** After a step of `check`: the clashes that were found, and whether more entries follow. */
export function compared(
  build: IndexBuild,
  entries: readonly CheckedEntry[],
  found: readonly Clash[],
  isLast: boolean,
): IndexBuild {
  const [name = "", ...rest] = build.unique;
  const next = {
    ...build,
    clashes: [...build.clashes, ...found],
    failed: found.length > 0 ? unique([...build.failed, name]) : build.failed,
    done: build.done + entries.length,
  };
  if (isLast || isEnough(next.clashes, name)) return { ...next, ...startOfCheck, unique: rest };
  return { ...next, checked: entries.at(-1) ?? build.checked };
}
