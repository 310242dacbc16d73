// Applies changes to a whole collection: a new definition with its indexes, and the deletion.

import { indexPlanOf } from "../../model/query/index-plan.ts";
import type { Change, Outcome } from "../store.ts";
import { type AppliedChanges, applyChanges, type LoadedBatch } from "./apply.ts";
import { allOrFirstError, type Connection, rows } from "./connection.ts";
import { loadBatch } from "./lookup.ts";
import type { LockedCollection } from "./open-collection.ts";
import type { Plans } from "./plans.ts";
import {
  deleteEntries,
  deleteFileReferences,
  deleteRows,
  findDuplicate,
  rebuild,
} from "./rebuild.ts";
import { isEmpty, send } from "./writes.ts";

type Define = Extract<Change, { kind: "define" }>;
type Drop = Extract<Change, { kind: "drop" }>;
type Redefinition = Define | Drop;

export const isRedefinition = (change: Change): change is Redefinition =>
  change.kind === "define" || change.kind === "drop";

export interface StepResult {
  readonly outcomes: readonly Outcome[];
  /** Whether there is anything to commit. */
  readonly isWritten: boolean;
}

/** Must run in a transaction. Applies the changes step by step; each step loads the state again. */
export async function applyInSteps(
  connection: Connection,
  changes: readonly Change[],
  plans: Plans,
): Promise<StepResult> {
  const outcomes: Outcome[] = [];
  let isWritten = false;
  for (const step of stepsOf(changes)) {
    const loaded = await connection.run((sql) => loadBatch(sql, step, plans));
    const done = await applyStep(connection, step, loaded);
    outcomes.push(...done.outcomes);
    isWritten ||= done.isWritten;
  }
  return { outcomes, isWritten };
}

/** Puts each redefinition in a step of its own, and groups the changes between them. */
export function stepsOf(changes: readonly Change[]): readonly (readonly Change[])[] {
  const steps: Change[][] = [];
  for (const change of changes) {
    const last = steps.at(-1);
    if (last && !isRedefinition(change) && !last.some(isRedefinition)) last.push(change);
    else steps.push([change]);
  }
  return steps;
}

async function applyStep(
  connection: Connection,
  step: readonly Change[],
  loaded: LoadedBatch,
): Promise<StepResult> {
  const applied = applyChanges(step, loaded);
  const [change] = step;
  const [collection] = loaded.collections;
  if (change?.kind === "define" && collection)
    return define(connection, change, collection, applied);
  if (change?.kind === "drop" && collection) return drop(connection, collection, applied);
  return write(connection, applied);
}

async function write(
  connection: Connection,
  { outcomes, writes }: AppliedChanges,
): Promise<StepResult> {
  if (isEmpty(writes)) return { outcomes, isWritten: false };
  await connection.run((sql) => allOrFirstError(send(sql, writes)));
  return { outcomes, isWritten: true };
}

async function define(
  connection: Connection,
  { definition }: Define,
  { key, plan: before }: LockedCollection,
  applied: AppliedChanges,
): Promise<StepResult> {
  const after = indexPlanOf(definition);
  await connection.run((sql) => rows(sql`SAVEPOINT defining`));
  await rebuild(connection, key, before, after);
  const field = await findDuplicate(connection, key, before, after);
  if (field === undefined) return write(connection, applied);
  await connection.run((sql) => rows(sql`ROLLBACK TO SAVEPOINT defining`));
  return { outcomes: [{ kind: "conflict", field }], isWritten: false };
}

async function drop(
  connection: Connection,
  { key, plan }: LockedCollection,
  { outcomes }: AppliedChanges,
): Promise<StepResult> {
  if (outcomes[0]?.kind !== "done") return { outcomes, isWritten: false };
  for (const { field } of plan.indexes) await deleteEntries(connection, key, field);
  await deleteRows(connection, key, "words", "seq");
  await deleteRows(connection, key, "holes", "place");
  await deleteFileReferences(connection, key);
  await connection.run((sql) => rows(sql`DELETE FROM epochs WHERE collection = ${key}::bigint`));
  await deleteRows(connection, key, "resources", "revision");
  await connection.run((sql) => rows(sql`DELETE FROM collections WHERE key = ${key}::bigint`));
  return { outcomes, isWritten: true };
}
