// Applies a batch that contains definitions, step by step: the index rows of existing resources follow each one.

import { type AppliedChanges, applyChanges, undoneOutcomes, unitsOf } from "../core/apply.ts";
import type { FileQuotas } from "../core/file-use.ts";
import { firstFullSteps, isFailed, isFullStep, phaseOf } from "../core/index-build.ts";
import { firstRows } from "../core/step-size.ts";
import { type CollectionWrite, isEmpty } from "../core/writes.ts";
import type { Change, Clash, Outcome } from "../store.ts";
import { allOrFirstError, type Connection, rows } from "./connection.ts";
import { loadState, type RowCache } from "./load-state.ts";
import { rebuildStep } from "./rebuild.ts";
import { saveBuild } from "./save-build.ts";
import { computeTrees, sendWrites } from "./writes.ts";

export interface StepResult {
  readonly outcomes: readonly Outcome[];
  /** Whether there is anything to commit. */
  readonly isWritten: boolean;
}

/** Must run in a transaction. What it has cached is not used later, because the transaction can be rolled back. */
export async function applyInSteps(
  connection: Connection,
  changes: readonly Change[],
  epoch: number,
  fileQuotas: FileQuotas | undefined,
): Promise<StepResult> {
  const cache: RowCache = new Map();
  const apply = async (steps: readonly (readonly Change[])[]): Promise<StepResult> => {
    const outcomes: Outcome[] = [];
    let isWritten = false;
    for (const step of steps) {
      const state = await connection.run((sql) => loadState(sql, step, cache, epoch, fileQuotas));
      const done = await writeStep(connection, applyChanges(step, state));
      outcomes.push(...done.outcomes);
      isWritten ||= done.isWritten;
    }
    return { outcomes, isWritten };
  };
  const outcomes: Outcome[] = [];
  let isWritten = false;
  for (const unit of unitsOf(changes)) {
    if (unit.length > 1) await connection.run((sql) => rows(sql`SAVEPOINT together`));
    const done = await apply(unit);
    const undone = unit.length > 1 ? undoneOutcomes(done.outcomes) : undefined;
    if (undone) {
      await connection.run((sql) => rows(sql`ROLLBACK TO SAVEPOINT together`));
      cache.clear();
    }
    outcomes.push(...(undone ?? done.outcomes));
    isWritten ||= undone === undefined && done.isWritten;
  }
  return { outcomes, isWritten };
}

async function writeStep(connection: Connection, applied: AppliedChanges): Promise<StepResult> {
  const { outcomes, writes } = applied;
  if (isEmpty(writes)) return { outcomes, isWritten: false };
  await connection.run((sql) => rows(sql`SAVEPOINT step`));
  const trees = await computeTrees(connection, writes);
  await connection.run((sql) => allOrFirstError([...sendWrites(sql, writes, trees)]));
  for (const collection of writes.collections) {
    const clashes = await beginBuild(connection, collection);
    if (clashes === undefined) continue;
    await connection.run((sql) => rows(sql`ROLLBACK TO SAVEPOINT step`));
    const field = clashes[0]?.index ?? "";
    return { outcomes: [{ kind: "conflict", field, clashes }], isWritten: false };
  }
  return { outcomes, isWritten: true };
}

/** Runs the first steps with the definition. Returns the clashes when its values are not unique. */
async function beginBuild(
  connection: Connection,
  { part, definition, build }: CollectionWrite,
): Promise<readonly Clash[] | undefined> {
  if (build === undefined) return undefined;
  let state = build;
  for (let fullSteps = 0; fullSteps < firstFullSteps && phaseOf(state) !== "none"; ) {
    const before = state;
    state = await connection.run((sql) => rebuildStep(sql, part, definition, before, firstRows));
    if (isFullStep(before, state)) fullSteps++;
    if (isFailed(state)) return state.clashes;
  }
  const left = state;
  await connection.run((sql) => rows(saveBuild(sql, part, left)));
  return undefined;
}
