// Applies a batch that contains definitions, step by step: the index rows of existing resources follow each one.

import { type AppliedChanges, applyChanges, stepsOf } from "../core/apply.ts";
import { indexChanges } from "../core/index-changes.ts";
import { type CollectionWrite, isEmpty } from "../core/writes.ts";
import type { Change, Outcome } from "../store.ts";
import { allOrFirstError, type Connection, rows } from "./connection.ts";
import { loadState, type RowCache } from "./load-state.ts";
import { findDuplicate, rebuild } from "./rebuild.ts";
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
): Promise<StepResult> {
  const cache: RowCache = new Map();
  const outcomes: Outcome[] = [];
  let isWritten = false;
  for (const step of stepsOf(changes)) {
    const state = await connection.run((sql) => loadState(sql, step, cache, epoch));
    const applied = applyChanges(step, state);
    const done = await writeStep(connection, applied);
    outcomes.push(...done.outcomes);
    isWritten ||= done.isWritten;
  }
  return { outcomes, isWritten };
}

async function writeStep(connection: Connection, applied: AppliedChanges): Promise<StepResult> {
  const { outcomes, writes } = applied;
  if (isEmpty(writes)) return { outcomes, isWritten: false };
  await connection.run((sql) => rows(sql`SAVEPOINT step`));
  for (const collection of writes.collections) {
    const field = await followDefinition(connection, collection);
    if (field === undefined) continue;
    await connection.run((sql) => rows(sql`ROLLBACK TO SAVEPOINT step`));
    return { outcomes: [{ kind: "conflict", field }], isWritten: false };
  }
  const trees = await computeTrees(connection, writes);
  await connection.run((sql) => allOrFirstError([...sendWrites(sql, writes, trees)]));
  return { outcomes, isWritten: true };
}

/** Returns a field that has become unique and in which two resources have the same value. */
async function followDefinition(
  connection: Connection,
  { part, createdAt, plans }: CollectionWrite,
): Promise<string | undefined> {
  if (createdAt !== undefined) return undefined;
  const changes = indexChanges(plans.before, plans.after);
  await rebuild(connection, part, changes);
  return findDuplicate(connection, part, changes);
}
