// Epochs in SQL: each connection that writes begins one with its first batch (see ../epochs.ts).

import { nextEpoch, oldestKept } from "../epochs.ts";
import { rows, type Sql, type Statement } from "./connection.ts";

/** The rows of the epochs that writers have begun stand under key 0, which no collection has. */
export const latestEpoch = (sql: Sql): Statement =>
  sql`(SELECT coalesce(max(epoch), 0) FROM epochs WHERE collection = 0)`;

/** Within a transaction. The server that the connection found may have been set back to a backup. */
export async function beginEpoch(sql: Sql): Promise<void> {
  const [row] = await rows<readonly [number]>(sql`SELECT ${latestEpoch(sql)}`);
  const epoch = nextEpoch(row?.[0] ?? 0);
  await rows(sql`INSERT INTO epochs (collection, epoch, last) VALUES (0, ${epoch}::bigint, 0)`);
  await forgetEpochs(sql, oldestKept(epoch));
}

/** Clears away what is too old; what another node is clearing away is left to it. */
const forgetEpochs = (sql: Sql, oldest: number): Promise<unknown> =>
  rows(sql`
    DELETE FROM epochs AS epoch
    USING (
      SELECT collection, epoch FROM epochs
      WHERE collection >= 0 AND epoch < ${oldest}::bigint
      LIMIT 1000 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE epoch.collection = old.collection AND epoch.epoch = old.epoch`);
