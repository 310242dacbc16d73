// Inserts new resources without loading state, when the head of their collection is known: a few with one
// statement, which commits by itself, many with several.

import { nextTurn } from "../../lib/turns.ts";
import { Outage } from "../../model/outage.ts";
import type { IndexPlan } from "../../model/query/index-plan.ts";
import { applyChanges } from "../core/apply.ts";
import type { Head } from "../core/rows.ts";
import type { StateBefore } from "../core/state.ts";
import type { PartWrites } from "../core/writes.ts";
import type { Change, Outcome } from "../store.ts";
import {
  allOrFirstError,
  type Connection,
  column,
  type Row,
  rows,
  type Sql,
  type Statement,
} from "./connection.ts";
import { ConnectionLost, isCanceled, isUncertain, messageOf } from "./errors.ts";
import type { KnownHead, KnownHeads } from "./known-heads.ts";
import { currentTokens } from "./token.ts";
import { begin, commit, rollback, withRollback } from "./transaction.ts";
import type { WriterConnection } from "./writer-pool.ts";
import { countersOf, insertEntries, insertWords } from "./writes.ts";

/** Returns the collection when all changes are new resources of one, without files, decided by no other. */
export function insertedInto(changes: readonly Change[]): string | undefined {
  const [first] = changes;
  if (first?.kind !== "put") return undefined;
  const { collection } = first;
  const isInsert = (change: Change) =>
    change.kind === "put" &&
    change.isNewId === true &&
    change.files === undefined &&
    change.unchanged === undefined &&
    change.collection === collection;
  return changes.every(isInsert) ? collection : undefined;
}

/** The limits of what is applied in one turn of the event loop, and sent with one statement. */
const maxChanges = 50;
const maxChars = 256 * 1024;
/** A statement of its own saves a round trip, so that a batch of this size is not divided either. */
const maxAtOnce = 128;

/** Returns undefined, and stores nothing, when the state has to be loaded. */
export async function insertNew(
  writer: WriterConnection,
  changes: readonly Change[],
  heads: KnownHeads,
): Promise<readonly Outcome[] | undefined> {
  const name = insertedInto(changes);
  const known = name === undefined ? undefined : heads.find(name);
  if (!known || needsOthers(known.row.writePlan)) return undefined;
  const steps = [...stepsIn(changes)];
  const inserted = await (steps.length === 1
    ? insertAtOnce(writer, known, changes)
    : insertInSteps(writer, known, steps));
  if (typeof inserted === "object") {
    heads.set(known.row, known.head, inserted.head);
    return inserted.outcomes;
  }
  if (inserted === "outdated") heads.delete(known.row.name);
  return undefined;
}

/** Divides a batch. */
function* stepsIn(changes: readonly Change[]): Generator<readonly Change[]> {
  const most = changes.length <= maxAtOnce ? maxAtOnce : maxChanges;
  let [start, chars] = [0, 0];
  for (const [at, change] of changes.entries()) {
    chars += change.kind === "put" ? change.fields.length : 0;
    if (at + 1 - start < most && chars < maxChars) continue;
    yield changes.slice(start, at + 1);
    [start, chars] = [at + 1, 0];
  }
  if (start < changes.length) yield changes.slice(start);
}

interface Inserted {
  readonly outcomes: readonly Outcome[];
  readonly head: Head;
}

/** Nothing is stored: not all of it can be created, or the head was another one. */
type NotInserted = "unable" | "outdated";

/** A single statement commits by itself. */
async function insertAtOnce(
  { connection, epoch }: WriterConnection,
  known: KnownHead,
  changes: readonly Change[],
): Promise<Inserted | NotInserted> {
  const applied = applyAt(known, changes, epoch);
  if (!applied) return "unable";
  const { outcomes, part } = applied;
  const isWritten = await insert(connection, known.head, part, callersOf(changes));
  return isWritten ? { outcomes, head: part.head } : "outdated";
}

/** Applies one step while the database writes the one before, in one transaction. */
async function insertInSteps(
  { connection, epoch }: WriterConnection,
  known: KnownHead,
  steps: readonly (readonly Change[])[],
): Promise<Inserted | NotInserted> {
  const outcomes: Outcome[] = [];
  let { head } = known;
  const failure = await withRollback(connection, () =>
    connection.run(async (sql): Promise<NotInserted | undefined> => {
      const sent: Promise<readonly Row[]>[] = [];
      const send = (answer: Promise<readonly Row[]>) => {
        // An error is thrown when all are sent.
        answer.catch(() => undefined);
        sent.push(answer);
      };
      send(begin(sql));
      for (const step of steps) {
        const applied = applyAt({ ...known, head }, step, epoch);
        if (!applied) return "unable";
        send(rows(insertAt(sql, head, applied.part, callersOf(step))));
        outcomes.push(...applied.outcomes);
        ({ head } = applied.part);
        // Other requests get a turn.
        await nextTurn();
      }
      const [, ...written] = await allOrFirstError(sent);
      return written.every(({ length }) => length > 0) ? undefined : "outdated";
    }),
  );
  if (failure) await rollback(connection);
  else await commit(connection, () => []);
  return failure ?? { outcomes, head };
}

interface Applied {
  readonly outcomes: readonly Outcome[];
  readonly part: PartWrites;
}

/** Returns undefined when not all of the resources can be created, or more than rows of the part must be written. */
function applyAt(known: KnownHead, changes: readonly Change[], epoch: number): Applied | undefined {
  const { outcomes, writes } = applyChanges(changes, stateAt(known, epoch));
  const [part] = writes.parts;
  const areCreated = outcomes.every(({ kind }) => kind === "created");
  return part && !part.endedEpoch && areCreated ? { outcomes, part } : undefined;
}

/** Whether other resources decide about a new one: by their unique values, or because it refers to them. */
export const needsOthers = ({ indexes, references = [] }: IndexPlan): boolean =>
  references.length > 0 || indexes.some(({ isUnique }) => isUnique);

/** Returns the state for changes that need nothing but the head. */
const stateAt = ({ row, head }: KnownHead, epoch: number): StateBefore => {
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
    // The statement looks.
    isTokenRevoked: () => false,
    hasTokenHash: () => false,
    writerEpoch: () => epoch,
  };
};

/** The tokens of the callers. */
const callersOf = (changes: readonly Change[]): readonly string[] => [
  ...new Set(changes.flatMap((change) => (change.kind === "put" && change.callerToken) || [])),
];

/** Returns whether the head was `before` and no caller's token is revoked; otherwise nothing is stored. */
async function insert(
  connection: Connection,
  before: Head,
  writes: PartWrites,
  callers: readonly string[],
): Promise<boolean> {
  try {
    const written = await connection.run((sql) => rows(insertAt(sql, before, writes, callers)));
    return written.length > 0;
  } catch (error) {
    if (error instanceof ConnectionLost || isCanceled(error) || !isUncertain(error)) throw error;
    const message = `the database failed during the commit (${messageOf(error)})`;
    throw new Outage("unknown", message, { cause: error });
  }
}

/** Locks the head, and writes only when it is still `before`, and the tokens of the callers are not revoked. */
function insertAt(
  sql: Sql,
  before: Head,
  writes: PartWrites,
  callers: readonly string[],
): Statement {
  const { part, head, entries, words } = writes;
  const from = sql`written CROSS JOIN`;
  return sql`
    WITH written AS (
      UPDATE heads SET ${countersOf(sql, head)}
      WHERE part = ${part}::bigint AND revision = ${before.revision}::bigint
        AND epoch = ${before.epoch}::bigint AND version = ${before.version}::bigint
        ${callers.length > 0 ? sql`AND ${areCurrent(sql, callers)}` : sql``}
      RETURNING part
    ),
    ${entries.length > 0 ? sql`entry AS (${insertEntries(sql, part, entries, from)}),` : sql``}
    ${words.length > 0 ? sql`word AS (${insertWords(sql, part, words, from)}),` : sql``}
    resource AS (${insertInOrder(sql, before, writes)})
    SELECT part FROM written`;
}

const areCurrent = (sql: Sql, tokens: readonly string[]): Statement => sql`
  (SELECT count(*) FROM (${currentTokens(sql, tokens)} FOR SHARE) AS current_token)
    = ${tokens.length}::bigint`;

/**
 * Each resource has the next sequence number and revision. With ON CONFLICT Postgres would look for others
 * first, which takes up to twice the time.
 */
const insertInOrder = (sql: Sql, { seq, revision }: Head, writes: PartWrites): Statement => {
  const { part, inserted } = writes;
  return sql`
    INSERT INTO resources
      (part, seq, id, revision, created, updated, fields, owner, files, shares_date, checksum)
    SELECT ${part}::bigint, ${seq}::bigint + place, id, ${revision}::bigint + place, created,
      created, fields, owner, NULL, 0, checksum
    FROM written CROSS JOIN unnest(
      ${column(inserted, "id")}::text[], ${column(inserted, "createdAt")}::bigint[],
      ${column(inserted, "fields")}::text[], ${column(inserted, "owner")}::text[],
      ${column(inserted, "checksum")}::bigint[]
    ) WITH ORDINALITY AS next (id, created, fields, owner, checksum, place)`;
};
