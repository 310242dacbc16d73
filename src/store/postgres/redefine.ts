// Changes that reach all of a collection: its definition, with the indexes to it, and its end.

import { indexPlanOf } from "../../model/query/index-plan.ts";
import type { Change, Outcome } from "../store.ts";
import { type Judgement, judge, type Known } from "./apply.ts";
import { type Connection, rows, together } from "./connection.ts";
import { lookUp } from "./lookup.ts";
import type { LockedCollection } from "./open-collection.ts";
import type { Plans } from "./plans.ts";
import { findDuplicate, rebuild, removeEntries, removeNames, removeRows } from "./rebuild.ts";
import { isNothing, send } from "./writes.ts";

type Define = Extract<Change, { kind: "define" }>;
type Drop = Extract<Change, { kind: "drop" }>;
type Redefinition = Define | Drop;

export const isRedefinition = (change: Change): change is Redefinition =>
  change.kind === "define" || change.kind === "drop";

export interface Done {
  readonly outcomes: readonly Outcome[];
  /** Whether there is anything to commit. */
  readonly isWritten: boolean;
}

/** Within a transaction: does the changes one step after another, each with what the last has left. */
export async function doInSteps(
  connection: Connection,
  changes: readonly Change[],
  plans: Plans,
): Promise<Done> {
  const outcomes: Outcome[] = [];
  let isWritten = false;
  for (const step of stepsOf(changes)) {
    const known = await connection.ask((sql) => lookUp(sql, step, plans));
    const done = await doStep(connection, step, known);
    outcomes.push(...done.outcomes);
    isWritten ||= done.isWritten;
  }
  return { outcomes, isWritten };
}

/** A reform alone; what is between them together. */
export function stepsOf(changes: readonly Change[]): readonly (readonly Change[])[] {
  const steps: Change[][] = [];
  for (const change of changes) {
    const last = steps.at(-1);
    if (last && !isRedefinition(change) && !last.some(isRedefinition)) last.push(change);
    else steps.push([change]);
  }
  return steps;
}

async function doStep(
  connection: Connection,
  step: readonly Change[],
  known: Known,
): Promise<Done> {
  const judgement = judge(step, known);
  const [change] = step;
  const [collection] = known.collections;
  if (change?.kind === "define" && collection)
    return define(connection, change, collection, judgement);
  if (change?.kind === "drop" && collection) return drop(connection, collection, judgement);
  return write(connection, judgement);
}

async function write(connection: Connection, { outcomes, writes }: Judgement): Promise<Done> {
  if (isNothing(writes)) return { outcomes, isWritten: false };
  await connection.ask((sql) => together(send(sql, writes)));
  return { outcomes, isWritten: true };
}

async function define(
  connection: Connection,
  { definition }: Define,
  { key, plan: before }: LockedCollection,
  judgement: Judgement,
): Promise<Done> {
  const after = indexPlanOf(definition);
  await connection.ask((sql) => rows(sql`SAVEPOINT defining`));
  await rebuild(connection, key, before, after);
  const field = await findDuplicate(connection, key, before, after);
  if (field === undefined) return write(connection, judgement);
  await connection.ask((sql) => rows(sql`ROLLBACK TO SAVEPOINT defining`));
  return { outcomes: [{ kind: "conflict", field }], isWritten: false };
}

async function drop(
  connection: Connection,
  { key, plan }: LockedCollection,
  { outcomes }: Judgement,
): Promise<Done> {
  if (outcomes[0]?.kind !== "done") return { outcomes, isWritten: false };
  for (const { field } of plan.indexes) await removeEntries(connection, key, field);
  await removeRows(connection, key, "words", "seq");
  await removeRows(connection, key, "holes", "place");
  await removeNames(connection, key);
  await connection.ask((sql) => rows(sql`DELETE FROM epochs WHERE collection = ${key}::bigint`));
  await removeRows(connection, key, "resources", "revision");
  await connection.ask((sql) => rows(sql`DELETE FROM collections WHERE key = ${key}::bigint`));
  return { outcomes, isWritten: true };
}
