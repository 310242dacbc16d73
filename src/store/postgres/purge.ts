// Deletes removals and Idempotency-Keys that have expired, in short steps.

import { advanceClock } from "../core/key-clock.ts";
import {
  type Expiry,
  expiredUpTo,
  expiryOf,
  mayBeExpired,
  type Retention,
  rowsPerStep,
} from "../core/retention.ts";
import { type CollectionRow, listCollectionRows } from "./collections.ts";
import { allOrFirstError, rows, type Sql } from "./connection.ts";
import type { RunWriter } from "./deleted-parts.ts";

/** How many collections are checked in one round trip. */
const partsPerRoundTrip = 200;

/** Every node does this; what another has deleted is no longer found. */
export async function purge(
  run: RunWriter,
  isStopped: () => boolean,
  retention: Retention,
): Promise<void> {
  const all = await run((connection) => connection.run(listCollectionRows));
  for (let first = 0; first < all.length; first += partsPerRoundTrip) {
    const some = all.slice(first, first + partsPerRoundTrip);
    for (const { part, work } of await run((connection) =>
      connection.run((sql) => findExpired(sql, some, retention)),
    ))
      while (!isStopped() && (await run((connection) => connection.run((sql) => work(sql, part)))));
    if (isStopped()) return;
  }
}

interface Expired {
  readonly part: number;
  /** Deletes some rows. Returns whether there can be more. */
  readonly work: (sql: Sql, part: number) => Promise<boolean>;
}

async function findExpired(
  sql: Sql,
  collections: readonly Pick<CollectionRow, "name" | "part">[],
  retention: Retention,
): Promise<readonly Expired[]> {
  const found = await allOrFirstError(
    collections.map(async ({ name, part }): Promise<readonly Expired[]> => {
      const expiry = expiryOf(retention, name);
      const [row] = await rows<readonly (number | null)[]>(sql`
        SELECT
          (SELECT removed FROM tombstones WHERE part = ${part}::bigint ORDER BY revision LIMIT 1),
          (SELECT changed FROM former_owners WHERE part = ${part}::bigint ORDER BY revision LIMIT 1),
          (SELECT changed FROM former_states WHERE part = ${part}::bigint ORDER BY revision LIMIT 1),
          (SELECT count(*) FROM (
            SELECT FROM idempotency_keys WHERE part = ${part}::bigint LIMIT 1) AS any_key)`);
      const expired = removalTables.flatMap(({ table, time }, index) => {
        const oldest = row?.[index];
        return typeof oldest === "number" && mayBeExpired(oldest, expiry)
          ? [{ part, work: purgeRemovals(table, time, expiry) }]
          : [];
      });
      const hasKeys = row?.[removalTables.length] === 1;
      return [...expired, ...(hasKeys ? [{ part, work: purgeKeys }] : [])];
    }),
  );
  return found.flat();
}

/** What feeds need until it expires, in the order of the statement above. */
const removalTables = [
  { table: "tombstones", time: "removed" },
  { table: "former_owners", time: "changed" },
  { table: "former_states", time: "changed" },
] as const;

/** One statement, so that feeds that miss the removals also know it. */
const purgeRemovals =
  (table: (typeof removalTables)[number]["table"], time: string, expiry: Expiry) =>
  async (sql: Sql, part: number): Promise<boolean> => {
    const oldest = await rows<readonly [revision: number, removedAt: number]>(sql`
      SELECT revision, ${sql(time)} FROM ${sql(table)} WHERE part = ${part}::bigint
      ORDER BY revision LIMIT ${rowsPerStep}::bigint`);
    const last = expiredUpTo(oldest, expiry);
    if (last === undefined) return false;
    await rows(sql`
      WITH purged AS (
        UPDATE heads SET purged = greatest(purged, ${last}::bigint) WHERE part = ${part}::bigint
      )
      DELETE FROM ${sql(table)} WHERE part + 0 = ${part}::bigint AND ctid = ANY (ARRAY (
        SELECT ctid FROM ${sql(table)}
        WHERE part = ${part}::bigint AND revision <= ${last}::bigint ORDER BY revision
      ))`);
    return true;
  };

/**
 * Moves the clock of the part. Another node may move it at the same time, by no more. `expires` is
 * compared again, because a key that has expired can be used again meanwhile.
 */
async function purgeKeys(sql: Sql, part: number): Promise<boolean> {
  const [head] = await rows<readonly [now: number, seen: number]>(sql`
    SELECT key_now, key_seen FROM heads WHERE part = ${part}::bigint`);
  if (!head) return false;
  const [now, seen] = head;
  const clock = advanceClock({ now, seen }, Date.now());
  await rows(sql`
    UPDATE heads SET key_now = ${clock.now}::bigint, key_seen = ${clock.seen}::bigint
    WHERE part = ${part}::bigint AND key_now = ${now}::bigint AND key_seen = ${seen}::bigint`);
  const deleted = await rows(sql`
    DELETE FROM idempotency_keys
    WHERE part + 0 = ${part}::bigint AND expires + 0 <= ${clock.now}::bigint AND ctid = ANY (ARRAY (
      SELECT ctid FROM idempotency_keys
      WHERE part = ${part}::bigint AND expires <= ${clock.now}::bigint
      ORDER BY expires LIMIT ${rowsPerStep}::bigint
    ))
    RETURNING 1`);
  return deleted.length === rowsPerStep;
}
