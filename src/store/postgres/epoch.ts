// Stores epochs: each connection that writes begins a new one with its first batch (see ../epochs.ts).

import { nextEpoch, oldestStoredEpoch } from "../core/epochs.ts";
import { rows, type Sql, type Statement } from "./connection.ts";

/** Epochs of writers are stored under collection key 0, which no collection has. */
export const latestEpoch = (sql: Sql): Statement =>
  sql`(SELECT coalesce(max(epoch), 0) FROM epochs WHERE collection = 0)`;

/** Must run in a transaction. A new connection may have reached a server that was restored from a backup. */
export async function beginEpoch(sql: Sql): Promise<void> {
  const [row] = await rows<readonly [number]>(sql`SELECT ${latestEpoch(sql)}`);
  const epoch = nextEpoch(row?.[0] ?? 0);
  await rows(sql`INSERT INTO epochs (collection, epoch, last) VALUES (0, ${epoch}::bigint, 0)`);
  await deleteOldEpochs(sql, oldestStoredEpoch(epoch));
}

/** Deletes old epochs, and skips rows that another node is deleting. */
const deleteOldEpochs = (sql: Sql, oldest: number): Promise<unknown> =>
  rows(sql`
    DELETE FROM epochs AS epoch
    USING (
      SELECT collection, epoch FROM epochs
      WHERE collection >= 0 AND epoch < ${oldest}::bigint
      LIMIT 1000 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE epoch.collection = old.collection AND epoch.epoch = old.epoch`);
