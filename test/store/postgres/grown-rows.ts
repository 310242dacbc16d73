// Writes many rows behind the back of a store: traces of resources that are gone, and tokens.

import type { Sql } from "postgres";
import { erasedText } from "../../../src/store/core/stored-outcomes.ts";

/** Feeds begin after these revisions, so that nobody reads the traces. */
const first = -1_000_000;
const later = 1e15;

/** Adds a trace of each kind for each number, to every collection, and a token. */
export async function addTraces(sql: Sql, from: number, to: number): Promise<void> {
  const now = Date.now();
  const all = sql`collections CROSS JOIN generate_series(${from}::bigint, ${to - 1}::bigint) AS n`;
  for (const rows of [
    sql`tombstones (part, id, revision, removed) SELECT part, 'gone' || n, ${first}::bigint + n, ${now}::bigint`,
    sql`former_owners (part, id, revision, owner, changed) SELECT part, 'gone' || n, ${first}::bigint + n, 'none', ${now}::bigint`,
    sql`former_states (part, id, revision, since, changed, state) SELECT part, 'gone' || n, ${first}::bigint + n, 0, ${now}::bigint, '{}'`,
    sql`positions (part, level, "row", alive) SELECT part, 0, ${later}::bigint + n, '{}'`,
    sql`files (part, key, owner, bytes) SELECT part, 'file' || n, 'none', 1`,
    sql`epochs (part, epoch, last) SELECT part, ${later}::bigint + n, 0`,
    sql`idempotency_keys (part, owner, key, fingerprint, outcomes, expires) SELECT part, 'none', n, '', ${erasedText}, ${later}::bigint`,
  ])
    await sql`INSERT INTO ${rows} FROM ${all}`;
  const numbers = sql`generate_series(${from}::bigint, ${to - 1}::bigint) AS n`;
  await sql`
    INSERT INTO tokens (id, hash, name, subject, scopes, roles, created)
    SELECT 'token' || n, 'hash' || n, 'name', 'none', '[]', '[]', 0 FROM ${numbers}`;
  await sql`INSERT INTO token_uses (id, used) SELECT 'token' || n, 0 FROM ${numbers}`;
}

/** Adds some traces that expired long ago. */
export async function expireTraces(sql: Sql, part: number): Promise<void> {
  const all = sql`generate_series(1, 3) AS n`;
  for (const rows of [
    sql`tombstones (part, id, revision, removed) SELECT ${part}::bigint, 'old' || n, ${2 * first}::bigint + n, 0`,
    sql`former_owners (part, id, revision, owner, changed) SELECT ${part}::bigint, 'old' || n, ${2 * first}::bigint + n, 'none', 0`,
    sql`former_states (part, id, revision, since, changed, state) SELECT ${part}::bigint, 'old' || n, ${2 * first}::bigint + n, 0, 0, '{}'`,
    sql`idempotency_keys (part, owner, key, fingerprint, outcomes, expires) SELECT ${part}::bigint, 'old', n, '', ${erasedText}, 0`,
  ])
    await sql`INSERT INTO ${rows} FROM ${all}`;
}

export async function partOf(sql: Sql, name: string): Promise<number> {
  const [row] = await sql`SELECT part FROM collections WHERE name = ${name}`;
  return Number(row?.part);
}
