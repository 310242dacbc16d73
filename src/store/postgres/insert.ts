// Inserts new resources with one statement, which commits by itself, when the head of their collection is known.

import { Outage } from "../../model/outage.ts";
import type { IndexPlan } from "../../model/query/index-plan.ts";
import { applyChanges } from "../core/apply.ts";
import type { Head } from "../core/rows.ts";
import type { State } from "../core/state.ts";
import type { PartWrites } from "../core/writes.ts";
import type { Change, Outcome } from "../store.ts";
import { type Connection, rows, type Sql, type Statement } from "./connection.ts";
import { ConnectionLost, isCanceled, isUncertain, messageOf } from "./errors.ts";
import type { KnownHead, KnownHeads } from "./known-heads.ts";
import type { WriterConnection } from "./writer-pool.ts";
import { countersOf, insertEntries, insertWords, putResources } from "./writes.ts";

/** Returns the collection when all changes are new resources of one, without files. */
export function insertedInto(changes: readonly Change[]): string | undefined {
  const [first] = changes;
  if (first?.kind !== "put") return undefined;
  const { collection } = first;
  const isInsert = (change: Change) =>
    change.kind === "put" &&
    change.isNewId === true &&
    change.files === undefined &&
    change.collection === collection;
  return changes.every(isInsert) ? collection : undefined;
}

/** Returns undefined, and stores nothing, when the state has to be loaded. */
export async function insertNew(
  { connection, epoch }: WriterConnection,
  changes: readonly Change[],
  heads: KnownHeads,
): Promise<readonly Outcome[] | undefined> {
  const name = insertedInto(changes);
  const known = name === undefined ? undefined : heads.find(name);
  if (!known || needsOthers(known.row.writePlan)) return undefined;
  const { outcomes, writes } = applyChanges(changes, stateAt(known, epoch));
  const [part] = writes.parts;
  const areCreated = outcomes.every(({ kind }) => kind === "created");
  if (!part || part.endedEpoch || !areCreated) return undefined;
  const { row, head } = known;
  if (await insert(connection, head, part)) {
    heads.set(row, head, part.head);
    return outcomes;
  }
  heads.delete(row.name);
  return undefined;
}

/** Whether other resources decide about a new one: by their unique values, or because it refers to them. */
const needsOthers = ({ indexes, references = [] }: IndexPlan): boolean =>
  references.length > 0 || indexes.some(({ isUnique }) => isUnique);

/** Returns the state for changes that need nothing but the head. */
const stateAt = ({ row, head }: KnownHead, epoch: number): State => {
  const { name, part, rules, build, writePlan: plan } = row;
  const { definition, referrers = [] } = rules;
  const stored = { name, part, head, definition, build, plan, referrers };
  return {
    collection: () => stored,
    resource: () => undefined,
    removal: () => undefined,
    holders: () => [],
    key: () => undefined,
    hasToken: () => false,
    hasTokenHash: () => false,
    writerEpoch: () => epoch,
  };
};

/** Returns whether the head was `before`; otherwise nothing is stored. */
async function insert(connection: Connection, before: Head, writes: PartWrites): Promise<boolean> {
  try {
    const written = await connection.run((sql) => rows(insertAt(sql, before, writes)));
    return written.length > 0;
  } catch (error) {
    if (error instanceof ConnectionLost || isCanceled(error) || !isUncertain(error)) throw error;
    const message = `the database failed during the commit (${messageOf(error)})`;
    throw new Outage("unknown", message, { cause: error });
  }
}

/** Locks the head, and writes only when it is still `before`. */
function insertAt(sql: Sql, before: Head, writes: PartWrites): Statement {
  const { part, head, inserted, entries, words } = writes;
  const from = sql`written CROSS JOIN`;
  return sql`
    WITH written AS (
      UPDATE heads SET ${countersOf(sql, head)}
      WHERE part = ${part}::bigint AND revision = ${before.revision}::bigint
        AND epoch = ${before.epoch}::bigint
      RETURNING part
    ),
    ${entries.length > 0 ? sql`entry AS (${insertEntries(sql, part, entries, from)}),` : sql``}
    ${words.length > 0 ? sql`word AS (${insertWords(sql, part, words, from)}),` : sql``}
    resource AS (${putResources(sql, part, inserted, from)})
    SELECT part FROM written`;
}
