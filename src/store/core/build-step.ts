// Runs one step of an index build. The engine does the reads and writes, at once or with a round trip.

import { type Index, type IndexPlan, indexPlanOf } from "../../model/query/index-plan.ts";
import type { Clash } from "../store.ts";
import { type CheckedEntry, pairsIn } from "./checked-entries.ts";
import {
  builtPlan,
  cleared,
  compared,
  droppedOne,
  type IndexBuild,
  indexed,
  phaseOf,
} from "./index-build.ts";

/** What the engine does for a step, with as many rows as the step takes. */
export type BuildAction =
  /** Deletes entries of an index, or words. Returns whether none are left. */
  | { readonly kind: "delete"; readonly index: string | undefined }
  /** Adds the index rows of the resources after a seq. */
  | { readonly kind: "index"; readonly plan: IndexPlan; readonly after: number }
  /** Returns the next entries of an index. */
  | { readonly kind: "entries"; readonly index: string; readonly after: CheckedEntry }
  /** Returns the ids of resources. */
  | { readonly kind: "ids"; readonly seqs: readonly number[] };

/** The results of actions, by their kind. */
export interface ActionResults {
  readonly delete: boolean;
  readonly index: { readonly count: number; readonly last: number | undefined };
  readonly entries: { readonly entries: readonly CheckedEntry[]; readonly isLast: boolean };
  readonly ids: ReadonlyMap<number, string>;
}

/** A running step: it yields actions, and gets their results. */
type StepActions<T> = Generator<BuildAction, T, unknown>;

function* act<K extends BuildAction["kind"]>(
  action: Extract<BuildAction, { kind: K }>,
): StepActions<ActionResults[K]> {
  return (yield action) as ActionResults[K];
}

/** Returns what is left to do. */
export function* buildStep(definition: string, build: IndexBuild): StepActions<IndexBuild> {
  switch (phaseOf(build)) {
    case "clear": {
      const isCleared = yield* act<"delete">({ kind: "delete", index: build.stale[0] });
      return isCleared ? cleared(build) : build;
    }
    case "build": {
      const plan = builtPlan(definition, build);
      const { count, last } = yield* act<"index">({ kind: "index", plan, after: build.seq });
      return indexed(build, count, last);
    }
    case "check": {
      const [name] = build.unique;
      const index = indexPlanOf(definition).indexes.find((each) => each.name === name);
      return index ? yield* check(build, index) : build;
    }
    case "drop": {
      const isDropped = yield* act<"delete">({ kind: "delete", index: build.dropped[0] });
      return isDropped ? droppedOne(build) : build;
    }
    case "none":
      return build;
  }
}

function* check(build: IndexBuild, index: Index): StepActions<IndexBuild> {
  const { name } = index;
  const { entries, isLast } = yield* act<"entries">({
    kind: "entries",
    index: name,
    after: build.checked,
  });
  const pairs = pairsIn(build, index, entries);
  if (pairs.length === 0) return compared(build, entries, [], isLast);
  const ids = yield* act<"ids">({ kind: "ids", seqs: pairs.flat() });
  const clashes = pairs.map(
    ([one, other]): Clash => ({ index: name, ids: [ids.get(one) ?? "", ids.get(other) ?? ""] }),
  );
  return compared(build, entries, clashes, isLast);
}
