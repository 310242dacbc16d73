// Plans how the index rows of a part follow a new definition, in steps between other writes.

import { Outage } from "../../model/outage.ts";
import {
  emptyIndexPlan,
  type IndexPlan,
  indexPlanOf,
  isSameSearch,
} from "../../model/query/index-plan.ts";
import { minKey } from "../../model/query/sort-key.ts";
import type { BuildProgress, Clash } from "../store.ts";
import { type CheckedEntry, maxClashes } from "./checked-entries.ts";
import { indexChanges } from "./index-changes.ts";

/**
 * What is left to do. The phases follow each other: rows that are in the way are deleted (`clear`), rows of
 * new indexes are written (`build`), values are compared (`check`), and then the rows of indexes that the
 * definition no longer has are deleted (`drop`). Until the last phase the former definition can come back,
 * so the indexes of both definitions are maintained.
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
  readonly dropped: readonly string[];
  /** Indexes of the former definition whose entries are or will be deleted before it can come back. */
  readonly gone?: readonly string[];
  /** The last resource that is indexed. */
  readonly seq: number;
  /** The last entry that is compared. */
  readonly checked: readonly [key: string, seq: number];
  /** The number of rows that are indexed or compared, and of all. */
  readonly done: number;
  readonly total: number;
  /** The first values that are not unique. When they are found, an earlier definition comes back. */
  readonly clashes: readonly Clash[];
  /** The definition that comes back, when it is a later one than the former. */
  readonly back?: string;
  /** The node that builds, and when it took its last step. */
  readonly builder?: readonly [node: string, at: number];
}

export interface StoredBuild {
  /** The last definition whose index rows were complete; empty when none can come back. */
  readonly former: string;
  readonly state: IndexBuild;
}

export type BuildPhase = "clear" | "build" | "check" | "drop" | "none";

export function phaseOf({ stale, areWordsStale, ...build }: IndexBuild): BuildPhase {
  if (stale.length > 0 || areWordsStale) return "clear";
  if (!build.isBuilt) return "build";
  if (build.unique.length > 0) return "check";
  return build.dropped.length > 0 ? "drop" : "none";
}

/** Whether the former definition can still come back. */
const isOpen = (build: IndexBuild): boolean => !["drop", "none"].includes(phaseOf(build));

/** Whether an index does not have the entries of all resources yet. */
export const isIncomplete = ({ state }: StoredBuild, index: string): boolean =>
  isOpen(state) && (state.stale.includes(index) || (!state.isBuilt && state.built.includes(index)));

/** Whether the definition that is being built has to be replaced by the former one. */
export const isFailed = ({ former, state }: StoredBuild): boolean =>
  former !== "" && phaseOf(state) === "check" && state.unique[0] === failedMark;

/** The definition that comes back when values are not unique: the last one that asked for no new unique index. */
export const returnDefinition = ({ former, state }: StoredBuild): string => state.back ?? former;

/** Stands for the rest of the indexes when all are compared and clashes were found. */
const failedMark = "\0";

/** Returns the build without the clashes of these resources; the same object when it has none. */
export function withoutClashes(build: StoredBuild, ids: ReadonlySet<string>): StoredBuild {
  const { clashes } = build.state;
  const kept = clashes.filter((clash) => !clash.ids.some((id) => ids.has(id)));
  return kept.length === clashes.length
    ? build
    : { ...build, state: { ...build.state, clashes: kept } };
}

/** Undefined when the indexes are complete and only rows of former ones are left to delete. */
export function progressOf({ former, state }: StoredBuild): BuildProgress | undefined {
  const { done, total, clashes } = state;
  const isUndone = former === "" && clashes.length > 0;
  const isRunning = isOpen(state) && !isUndone;
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

export function plansOf(definition: string, build: StoredBuild | undefined): BuildPlans {
  const plan = indexPlanOf(definition);
  if (!build || !isOpen(build.state)) return { read: plan, write: plan };
  const { stale, areWordsStale, built, isSearchBuilt } = build.state;
  const { indexes, ...search } = plan;
  const kept = keptIndexes(formerPlan(build), build.state);
  const written = indexes
    .filter(({ name }) => !stale.includes(name))
    .map((index) => {
      const isUnique = kept.some(({ name, isUnique }) => name === index.name && isUnique);
      return isUnique ? { ...index, isUnique } : index;
    });
  const others = kept.filter(({ name }) => !indexes.some((index) => index.name === name));
  return {
    read: {
      ...search,
      indexes: indexes.filter(({ name }) => !built.includes(name) && !stale.includes(name)),
      ...(isSearchBuilt && { isSearchIncomplete: true as const }),
    },
    write: {
      ...search,
      ...(areWordsStale && { searchable: [] }),
      indexes: [...written, ...others],
    },
  };
}

/** Throws while the index of this name is not complete. */
export function requireIndex({ indexes }: IndexPlan, name: string): void {
  if (!indexes.some((index) => index.name === name))
    throw new Outage("busy", `the index of ${name} is not complete yet`);
}

/** The indexes of the former definition that are complete. */
const keptIndexes = ({ indexes }: IndexPlan, { stale, built, gone = [] }: IndexBuild) =>
  indexes.filter(({ name }) => ![stale, built, gone].some((names) => names.includes(name)));

const formerPlan = ({ former }: StoredBuild): IndexPlan =>
  former === "" ? emptyIndexPlan : indexPlanOf(former);

interface StoredRules {
  readonly definition: string;
  readonly build: StoredBuild | undefined;
}

/** Returns what has to be done for a new definition; undefined for nothing. */
export function planBuild(
  { definition: before, build }: StoredRules,
  after: string,
  rows: number,
): StoredBuild | undefined {
  const open = build && isOpen(build.state) ? build : undefined;
  const isReturn = open !== undefined && isFailed(open) && after === returnDefinition(open);
  const base = open ? completePlan(before, open) : indexPlanOf(before);
  const next = indexPlanOf(after);
  const changes = indexChanges(base, next);
  const names = new Set(next.indexes.map(({ name }) => name));
  const partial = open ? open.state.built.filter((name) => !isContinued(before, next, name)) : [];
  const replaced = changes.deletedIndexes.filter((name) => names.has(name));
  const stale = unique([
    ...(build?.state.stale ?? []),
    ...(open && open.former !== "" ? [] : (build?.state.dropped ?? [])),
    ...partial,
    ...replaced,
  ]);
  const hasPartialWords = open?.state.isSearchBuilt === true || open?.state.areWordsStale === true;
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
    dropped: changes.deletedIndexes.filter((name) => !stale.includes(name)),
    gone: unique([...(open && open.former !== "" ? (open.state.gone ?? []) : []), ...stale]),
    ...startOfCheck,
    seq: 0,
    done: 0,
    total: passes * rows,
    clashes: isReturn ? open.state.clashes : [],
    ...(!isReturn && open && backAfter(open, before)),
  };
  const former = isReturn ? "" : open && open.former !== "" ? open.former : before;
  return phaseOf(state) === "none" && state.clashes.length === 0 ? undefined : { former, state };
}

/** While the values of another unique index are not compared, nobody knows whether its definition can stay. */
function backAfter(open: StoredBuild, before: string): Pick<IndexBuild, "back"> {
  if (open.former === "") return {};
  if (open.state.unique.length === 0) return { back: before };
  return open.state.back === undefined ? {} : { back: open.state.back };
}

const startOfCheck = { checked: [minKey, Number.MAX_SAFE_INTEGER] } as const;

/**
 * The indexes whose rows are complete while others are built. Words of the former definition are not when
 * the definition has others or none: then they were deleted first.
 */
function completePlan(definition: string, build: StoredBuild): IndexPlan {
  const { isSearchBuilt, areWordsStale } = build.state;
  const plan = build.former === "" ? plansOf(definition, build).read : formerPlan(build);
  const indexes = keptIndexes(plan, build.state);
  const hasWords = !isSearchBuilt && !areWordsStale && isSameSearch(plan, indexPlanOf(definition));
  return { ...(hasWords ? plan : { searchable: [] }), indexes };
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
  const clashes = [...build.clashes, ...found];
  const done = build.done + entries.length;
  const checked = entries.at(-1) ?? build.checked;
  if (!isLast && clashes.length < maxClashes) return { ...build, clashes, done, checked };
  const rest = build.unique.slice(1);
  const isFailing = clashes.length > 0 && (rest.length === 0 || clashes.length >= maxClashes);
  return { ...build, ...startOfCheck, clashes, done, unique: isFailing ? [failedMark] : rest };
}

/** When there is no former definition, the clashes are only reported. */
export const withoutReturn = ({ former, state }: StoredBuild): IndexBuild =>
  former === "" && state.unique[0] === failedMark ? { ...state, unique: [] } : state;
