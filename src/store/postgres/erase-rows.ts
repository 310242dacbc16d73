// Erases resources or a subject with every row that is a trace of them, in one transaction.

import { applyChanges } from "../core/apply.ts";
import { withoutClashes } from "../core/index-build.ts";
import { ErasedTraces, erasedOf, withoutTraces } from "../core/traces.ts";
import type { EngineWrites } from "../core/writes.ts";
import type { Erased, ErasedRows, Erasure } from "../erasure.ts";
import type { Change } from "../store.ts";
import { type CollectionRow, listCollectionRows } from "./collections.ts";
import { allOrFirstError, type Connection, column, rows, type Sql } from "./connection.ts";
import { deleteByKeys } from "./delete-rows.ts";
import { loadState, lockAll } from "./load-state.ts";
import { saveBuild } from "./save-build.ts";
import { computeTrees, sendWrites } from "./writes.ts";

const keysPerStep = 1_000;

/** Must run in a transaction. */
export async function eraseRows(
  connection: Connection,
  erasure: Erasure,
  epoch: number,
): Promise<Erased> {
  const changes: readonly Change[] = [{ kind: "all", changes: erasure.changes }];
  await connection.run((sql) => lockAll(sql, changes, undefined));
  const state = await connection.run((sql) => loadState(sql, changes, new Map(), epoch));
  const applied = applyChanges(changes, state);
  const [outcome] = applied.outcomes;
  if (outcome?.kind === "none") return outcome;
  const writes = withoutTraces(applied.writes);
  const trees = await computeTrees(connection, writes);
  await connection.run((sql) => allOrFirstError([...sendWrites(sql, writes, trees)]));
  return connection.run((sql) => eraseTraces(sql, erasure, writes));
}

async function eraseTraces(sql: Sql, erasure: Erasure, { parts }: EngineWrites): Promise<Erased> {
  const tokenIds = await deleteTokens(sql, erasure.subject);
  const traces = new ErasedTraces(erasure, tokenIds);
  const written = new Map(parts.map((part) => [part.part, part]));
  const erased: ErasedRows[] = [];
  for (const row of await listCollectionRows(sql)) {
    const { deleted = [], head } = written.get(row.part) ?? {};
    const { removals, former } = await deleteRevisions(sql, row, traces);
    await savePurged(sql, row.part, [...removals, ...former], head?.revision ?? 0);
    await deleteClashes(sql, row, traces);
    erased.push({
      collection: row.name,
      resources: deleted.length,
      removals: removals.length,
      formerStates: former.length,
      keys: await deleteKeys(sql, row, traces),
    });
  }
  return erasedOf(erased, tokenIds.length);
}

/** Returns the ids of the subject's tokens. */
async function deleteTokens(sql: Sql, subject: string | undefined): Promise<readonly string[]> {
  if (subject === undefined) return [];
  const found = await rows<readonly [string]>(
    sql`DELETE FROM tokens WHERE subject = ${subject} RETURNING id`,
  );
  const ids = found.map(([id]) => id);
  await rows(sql`DELETE FROM token_uses WHERE id = ANY (${ids}::text[])`);
  return ids;
}

/** Returns the revisions of what was deleted. */
async function deleteRevisions(sql: Sql, { part, name }: CollectionRow, traces: ErasedTraces) {
  if (!traces.isAnyIn(name)) return { removals: [], former: [] };
  const ids = [...traces.idsIn(name)];
  const subject = traces.subject ?? null;
  const isOf = sql`(id = ANY (${ids}::text[]) OR owner = ${subject}::text)`;
  const [removals, owners, states] = await allOrFirstError([
    rows<readonly [number]>(sql`
      DELETE FROM tombstones WHERE part = ${part}::bigint AND ${isOf} RETURNING revision`),
    rows<readonly [number]>(sql`
      DELETE FROM former_owners WHERE part = ${part}::bigint AND ${isOf} RETURNING revision`),
    rows<readonly [number]>(sql`
      DELETE FROM former_states
      WHERE part = ${part}::bigint
        AND (id = ANY (${ids}::text[]) OR state::json ->> 'owner' = ${subject}::text)
      RETURNING revision`),
  ]);
  const revisionOf = ([revision]: readonly [number]) => revision;
  return { removals: removals.map(revisionOf), former: [...owners, ...states].map(revisionOf) };
}

/** Feeds that miss the revisions know it. */
async function savePurged(
  sql: Sql,
  part: number,
  revisions: readonly number[],
  written: number,
): Promise<void> {
  const last = revisions.reduce((one, other) => Math.max(one, other), written);
  if (last > 0)
    await rows(sql`
      UPDATE heads SET purged = greatest(purged, ${last}::bigint) WHERE part = ${part}::bigint`);
}

/** A build that is done names resources that have the same values. */
async function deleteClashes(
  sql: Sql,
  { part, name, build }: CollectionRow,
  traces: ErasedTraces,
): Promise<void> {
  const kept = build && withoutClashes(build, traces.idsIn(name));
  if (kept !== undefined && kept !== build) await rows(saveBuild(sql, part, kept));
}

interface KeyOutcomes {
  readonly owner: string;
  readonly key: string;
}

async function deleteKeys(sql: Sql, { part }: CollectionRow, traces: ErasedTraces) {
  const found: KeyOutcomes[] = [];
  for (let after: KeyOutcomes | undefined = { owner: "", key: "" }; after; ) {
    const page: readonly (readonly [owner: string, key: string, outcomes: string])[] =
      await rows(sql`
      SELECT owner, key, outcomes FROM idempotency_keys
      WHERE part = ${part}::bigint AND (owner, key) > (${after.owner}, ${after.key})
      ORDER BY owner, key LIMIT ${keysPerStep}::bigint`);
    for (const [owner, key, outcomes] of page)
      if (traces.isKey(owner, outcomes)) found.push({ owner, key });
    const [owner = "", key = ""] = page.at(-1) ?? [];
    after = page.length < keysPerStep ? undefined : { owner, key };
  }
  if (found.length > 0)
    await rows(
      deleteByKeys(sql, part, "idempotency_keys", {
        owner: sql`${column(found, "owner")}::text[]`,
        key: sql`${column(found, "key")}::text[]`,
      }),
    );
  return found.length;
}
