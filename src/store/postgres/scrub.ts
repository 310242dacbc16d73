// Removes the bytes of erased and deleted rows from the tables, step by step.

import type { ScrubOptions, ScrubState } from "../erasure.ts";
import { Connection, type ConnectionOptions, rows } from "./connection.ts";
import { deleteParts, hasDeletedParts, type RunWriter } from "./deleted-parts.ts";
import { eraseOutcomes } from "./erase-outcomes.ts";
import { tables } from "./tables.ts";

export class Scrubber {
  readonly #run: RunWriter;
  readonly #options: ConnectionOptions;
  #steps: AsyncGenerator<ScrubState, void> | undefined;

  constructor(run: RunWriter, options: ConnectionOptions) {
    this.#run = run;
    // A table of any size has the time that it needs.
    this.#options = { ...options, deadlineMs: 0 };
  }

  async close(): Promise<void> {
    await this.#steps?.return();
  }

  async step({ isFirst, isFull }: ScrubOptions): Promise<ScrubState> {
    if (isFirst) await this.close();
    if (isFirst || !this.#steps) this.#steps = this.#everything(isFull);
    const { done, value } = await this.#steps.next();
    if (!done) return value;
    this.#steps = undefined;
    return { kind: "done" };
  }

  async *#everything(isFull: boolean): AsyncGenerator<ScrubState, void> {
    await deleteParts(this.#run, () => false);
    // Another node may be deleting some.
    while (await this.#run(hasDeletedParts)) yield { kind: "blocked" };
    await eraseOutcomes(this.#run, () => false);
    yield { kind: "rows" };
    const connection = await Connection.open(this.#options);
    try {
      const now = await newestTransaction(connection);
      while (await isAnySeeing(connection, now)) yield { kind: "blocked" };
      yield { kind: "rewrite", bytes: await totalBytes(connection) };
      for (const table of Object.keys(tables)) {
        await connection.run((sql) => sql.unsafe(`VACUUM (${optionsOf(isFull)}) ${table}`));
        yield { kind: "rows" };
      }
    } finally {
      await connection.close();
    }
  }
}

/** Without FREEZE pages that are in use are left out, and without INDEX_CLEANUP indexes can be. */
const optionsOf = (isFull: boolean): string => (isFull ? "FULL" : "FREEZE, INDEX_CLEANUP ON");

async function newestTransaction(connection: Connection): Promise<string> {
  const [row] = await connection.run((sql) =>
    rows<readonly [string]>(sql`SELECT pg_current_xact_id()::xid::text`),
  );
  return row?.[0] ?? "0";
}

/** Whether a transaction, a replica or a slot can still read rows that were deleted before. */
async function isAnySeeing(connection: Connection, before: string): Promise<boolean> {
  const [row] = await connection.run((sql) =>
    rows<readonly [number]>(sql`
      SELECT count(*)::bigint FROM (
        SELECT backend_xmin AS seen FROM pg_catalog.pg_stat_activity WHERE pid <> pg_backend_pid()
        UNION ALL SELECT xmin FROM pg_catalog.pg_replication_slots
        UNION ALL SELECT transaction FROM pg_catalog.pg_prepared_xacts
      ) AS all_readers
      WHERE age(seen) > age(${before}::text::xid)`),
  );
  return (row?.[0] ?? 0) > 0;
}

async function totalBytes(connection: Connection): Promise<number> {
  const [row] = await connection.run((sql) =>
    rows<readonly [number]>(sql`
      SELECT coalesce(sum(pg_total_relation_size(name::regclass)), 0)::bigint
      FROM unnest(${Object.keys(tables)}::text[]) AS name`),
  );
  return row?.[0] ?? 0;
}
