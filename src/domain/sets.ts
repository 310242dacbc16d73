// The sets of a caller ($my.{set}): the values that the resources of a collection have for its subject.

import type { MaybePromise } from "../lib/maybe-promise.ts";
import type { SetValue } from "../model/access/caller-values.ts";
import type { Principal } from "../model/principal.ts";
import type { RuleRead } from "./bound-rules.ts";

/** The same object while the values stay the same. */
export interface CallerSets {
  values(name: string): readonly SetValue[];
  readonly reads: readonly RuleRead[];
}

export interface Sets {
  /** Reads the sets with these names, as they are now. */
  read(principal: Principal, names: readonly string[]): MaybePromise<CallerSets>;
}

const noSets: CallerSets = { values: () => [], reads: [] };

/** No sets are defined. */
export const emptySets: Sets = { read: () => noSets };
