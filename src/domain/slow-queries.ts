// Records queries that were slow, checked many resources or were stopped, by shape and without their values.

import type { Collection, Rules } from "../model/collection.ts";
import type { ListedIndex } from "../model/listed-index.ts";
import type { Principal } from "../model/principal.ts";
import type { Problem } from "../model/problem.ts";
import { indexPlanOf } from "../model/query/index-plan.ts";
import {
  missingIndexes,
  missingIndexesElsewhere,
  undeclaredFields,
} from "../model/query/missing-indexes.ts";
import type { Query } from "../model/query/query.ts";
import { type QueryShape, shapeOf } from "../model/query/query-shape.ts";
import { redactSecrets } from "../model/secret.ts";
import { describePlan } from "../store/core/query-plan.ts";
import { requireAdmin } from "./access.ts";

/** A query that takes longer is recorded. */
export const slowMs = 1_000;
/** A query that checks more resources one by one is recorded. */
export const manyChecked = 1_000;

const maxShapes = 100;
/** Queries that need the same indexes are logged once in this time. */
const logIntervalMs = 60_000;

/** How one query went. */
export interface QueryRun {
  readonly collection: Pick<Collection, "name" | "definition">;
  /** The collections that it refers to. */
  readonly others: readonly { readonly name: string; readonly rules: Rules | undefined }[];
  readonly query: Query;
  readonly milliseconds: number;
  /** How many resources were checked one by one; undefined when it was stopped. */
  readonly checked: number | undefined;
  readonly isStopped: boolean;
}

/** All queries of one shape. */
export interface SlowQuery {
  readonly collection: string;
  readonly shape: QueryShape;
  /** How it is answered. */
  readonly plan: string;
  /** What `indexed` in the definition lacks. */
  readonly missingIndexes: readonly ListedIndex[];
  /** What the definitions of other collections lack, by their names. */
  readonly relatedIndexes: Readonly<Record<string, readonly ListedIndex[]>>;
  /** The fields whose type the schema must declare before an index helps. */
  readonly undeclaredFields: readonly string[];
  readonly count: number;
  /** How many of them were stopped at the deadline. */
  readonly stopped: number;
  readonly lastAt: number;
  readonly longestMs: number;
  readonly totalMs: number;
  /** The most resources that one of them checked. */
  readonly checked: number;
}

export class SlowQueries {
  readonly #clock: () => number;
  /** By collection and shape, the least recent first. */
  readonly #byShape = new Map<string, SlowQuery>();
  /** When a line was logged, by collection and advice. */
  readonly #loggedAt = new Map<string, number>();

  /** How many queries were recorded since the start of this process. */
  count = 0;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Returns undefined when the query was neither slow nor stopped, and checked few resources. */
  record(run: QueryRun): SlowQuery | undefined {
    const { collection, others, query, milliseconds, checked = 0, isStopped } = run;
    if (!isStopped && milliseconds < slowMs && checked < manyChecked) return undefined;
    this.count++;
    const shape = shapeOf(query);
    const plan = indexPlanOf(collection.definition);
    const key = JSON.stringify([collection.name, shape]);
    const earlier = this.#byShape.get(key);
    const recorded: SlowQuery = {
      collection: collection.name,
      shape,
      plan: redactSecrets(describePlan(plan, query)),
      missingIndexes: missingIndexes(query, plan),
      relatedIndexes: missingIndexesElsewhere(query.conditions, (name) => {
        const rules = others.find((other) => other.name === name)?.rules;
        return rules && indexPlanOf(rules.definition);
      }),
      undeclaredFields: undeclaredFields(query),
      count: (earlier?.count ?? 0) + 1,
      stopped: (earlier?.stopped ?? 0) + (isStopped ? 1 : 0),
      lastAt: this.#clock(),
      longestMs: Math.max(earlier?.longestMs ?? 0, milliseconds),
      totalMs: (earlier?.totalMs ?? 0) + milliseconds,
      checked: Math.max(earlier?.checked ?? 0, checked),
    };
    this.#byShape.delete(key);
    this.#byShape.set(key, recorded);
    removeFirst(this.#byShape, maxShapes);
    return recorded;
  }

  /** Whether a line should be logged for it: not when one with the same advice was logged in the last minute. */
  isToLog({ collection, missingIndexes, relatedIndexes, undeclaredFields }: SlowQuery): boolean {
    const key = JSON.stringify([collection, missingIndexes, relatedIndexes, undeclaredFields]);
    const now = this.#clock();
    if (now - (this.#loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < logIntervalMs) return false;
    this.#loggedAt.delete(key);
    this.#loggedAt.set(key, now);
    removeFirst(this.#loggedAt, maxShapes);
    return true;
  }

  /** Returns those since the start of this process, the longest total time first. */
  list(principal: Principal): readonly SlowQuery[] | Problem {
    const forbidden = requireAdmin(principal);
    if (forbidden !== undefined) return forbidden;
    return [...this.#byShape.values()].sort((one, other) => other.totalMs - one.totalMs);
  }
}

function removeFirst(map: Map<string, unknown>, max: number): void {
  for (const key of map.keys()) {
    if (map.size <= max) return;
    map.delete(key);
  }
}
