// Deletes the rows of parts whose collection was deleted, step by step, between other writes.

import { type Connection, type Row, rows, type Sql } from "./connection.ts";
import { deleteSomeRows, type PartTable, partTables } from "./delete-rows.ts";

export type RunWriter = <T>(work: (connection: Connection) => Promise<T>) => Promise<T>;

export async function deleteParts(run: RunWriter, isStopped: () => boolean): Promise<void> {
  for (const part of await run(listDeletedParts)) await deletePart(run, part, isStopped);
}

/** Stops when another node is deleting rows of the same part: that one does the rest. */
async function deletePart(run: RunWriter, part: number, isStopped: () => boolean): Promise<void> {
  for (const table of partTables)
    for (let after: Row | undefined; ; ) {
      if (isStopped()) return;
      const step = await run((connection) => deleteStep(connection, part, table, after));
      if (!step) return;
      if (!step.last) break;
      after = step.last;
    }
  await run((connection) =>
    connection.run((sql) => rows(sql`DELETE FROM deleted_parts WHERE part = ${part}::bigint`)),
  );
}

const listDeletedParts = (connection: Connection): Promise<readonly number[]> =>
  connection.run(async (sql) => {
    const found = await rows<readonly [number]>(sql`SELECT part FROM deleted_parts ORDER BY part`);
    return found.map(([part]) => part);
  });

export const hasDeletedParts = async (connection: Connection): Promise<boolean> =>
  (await listDeletedParts(connection)).length > 0;

interface DeletionStep {
  /** The key of the last deleted row; undefined when the table has no more rows of the part. */
  readonly last: Row | undefined;
}

/** Returns undefined when another node has locked or finished the part. */
const deleteStep = (
  connection: Connection,
  part: number,
  table: PartTable,
  after: Row | undefined,
): Promise<DeletionStep | undefined> =>
  connection.run(async (sql) => {
    await rows(sql`BEGIN`);
    try {
      const step = (await lock(sql, part))
        ? { last: await deleteSomeRows(sql, part, table, after) }
        : undefined;
      await rows(sql`COMMIT`);
      return step;
    } catch (error) {
      await rows(sql`ROLLBACK`).catch(() => undefined);
      throw error;
    }
  });

async function lock(sql: Sql, part: number): Promise<boolean> {
  const locked = await rows(sql`
    SELECT part FROM deleted_parts WHERE part = ${part}::bigint FOR UPDATE SKIP LOCKED`);
  return locked.length > 0;
}
