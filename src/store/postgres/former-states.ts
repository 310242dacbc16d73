// Writes what changes have ended, the owners and states of resources, and reads the states.

import type { FormerRange, FormerState } from "../../model/feed.ts";
import type { FormerOwner, FormerStateRow } from "../core/rows.ts";
import { column, rows, type Sql, type Statement } from "./connection.ts";

export const insertFormerOwners = (
  sql: Sql,
  part: number,
  owners: readonly FormerOwner[],
): Statement => sql`
  INSERT INTO former_owners (part, revision, id, owner, changed)
  SELECT ${part}::bigint, * FROM unnest(
    ${column(owners, "revision")}::bigint[], ${column(owners, "id")}::text[],
    ${column(owners, "owner")}::text[], ${column(owners, "changedAt")}::bigint[]
  )`;

export const insertFormerStates = (
  sql: Sql,
  part: number,
  states: readonly FormerStateRow[],
): Statement => sql`
  INSERT INTO former_states (part, id, revision, since, changed, state)
  SELECT ${part}::bigint, * FROM unnest(
    ${column(states, "id")}::text[], ${column(states, "revision")}::bigint[],
    ${column(states, "since")}::bigint[], ${column(states, "changedAt")}::bigint[],
    ${column(states, "state")}::text[]
  )`;

type FormerRow = readonly [id: string, endedAt: number, state: string];

/**
 * Returns states of these resources, in order. Those that a later commit has ended began after the range,
 * so this may read a later snapshot than that of the resources. Returns undefined when some are deleted.
 */
export async function readFormerStates(
  sql: Sql,
  part: number,
  ids: readonly string[],
  { after, upTo }: FormerRange,
): Promise<readonly FormerState[] | undefined> {
  const [head, ...found] = await rows<readonly [null, number, null] | FormerRow>(sql`
    SELECT NULL, purged, NULL, 0 AS place FROM heads WHERE part = ${part}::bigint
    UNION ALL
    SELECT id, changed, state, place
    FROM unnest(${ids}::text[]) AS wanted (wanted_id)
    CROSS JOIN LATERAL (
      (SELECT id, changed, state, revision AS place FROM former_states
        WHERE part = ${part}::bigint AND (id, revision) > (wanted_id, ${after}::bigint)
          AND (id, revision) <= (wanted_id, ${upTo}::bigint)
        ORDER BY id, revision)
      UNION ALL
      (SELECT id, changed, state, place FROM (
        SELECT id, changed, state, since, revision AS place FROM former_states
        WHERE part = ${part}::bigint
          AND (id, revision) > (wanted_id, ${Math.max(after, upTo)}::bigint)
          AND (id, revision) <= (wanted_id, ${Number.MAX_SAFE_INTEGER}::bigint)
        ORDER BY id, revision LIMIT 1
      ) AS next WHERE since <= ${upTo}::bigint)
    ) AS former
    ORDER BY place`);
  if (!head || head[1] > after) return undefined;
  return (found as readonly FormerRow[]).map(([id, endedAt, state]) => ({ id, endedAt, state }));
}
