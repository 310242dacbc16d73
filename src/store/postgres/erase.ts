// Erases deleted resources from the outcomes that are stored under Idempotency-Keys.

import { erasedText } from "../core/stored-outcomes.ts";
import type { Change } from "../store.ts";
import { rows, type Sql } from "./connection.ts";

const keysPerSlice = 200;

/**
 * Checks some of the keys after a name, and returns the name to continue from. Outcomes written by 0.1.0
 * do not contain the collection, so the id is searched in all collections.
 */
export async function eraseSomeOutcomes(sql: Sql, after: string): Promise<string | undefined> {
  const found = await rows<readonly [last: string | null, count: number]>(sql`
    WITH checked AS MATERIALIZED (
      SELECT name, outcomes FROM kept
      WHERE name > ${after} AND outcomes <> ${erasedText} ORDER BY name LIMIT ${keysPerSlice}
    ), gone AS (
      SELECT name FROM checked WHERE EXISTS (
        SELECT FROM json_array_elements(checked.outcomes::json) AS member
        WHERE member -> 'resource' IS NOT NULL AND NOT EXISTS (
          SELECT FROM resources JOIN collections ON collections.key = resources.collection
          WHERE resources.id = member -> 'resource' ->> 'id' AND resources.seq IS NOT NULL
            AND resources.created = (member -> 'resource' ->> 'createdAt')::bigint
            AND collections.name = coalesce(member ->> 'collection', collections.name)
        )
      )
    ), erased AS (
      UPDATE kept SET outcomes = ${erasedText} FROM gone WHERE kept.name = gone.name
    )
    SELECT max(name), count(*)::integer FROM checked`);
  const [last, count = 0] = found[0] ?? [];
  return count === keysPerSlice ? (last ?? undefined) : undefined;
}

export class OutcomeEraser {
  readonly #eraseSome: (after: string) => Promise<string | undefined>;
  readonly #delayMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(eraseSome: (after: string) => Promise<string | undefined>, delayMs: number) {
    this.#eraseSome = eraseSome;
    this.#delayMs = delayMs;
    // A node that stopped earlier may have left work undone.
    this.#schedule();
  }

  onCommit(changes: readonly Change[]): void {
    if (changes.some(deletes)) this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (this.#isClosed) return;
    this.#timer ??= setTimeout(() => void this.#erase(), this.#delayMs).unref();
  }

  async #erase(): Promise<void> {
    this.#timer = undefined;
    try {
      for (let after: string | undefined = ""; after !== undefined && !this.#isClosed; )
        after = await this.#eraseSome(after);
    } catch {
      // The database is not reachable, which requests report. It is tried again later.
      this.#schedule();
    }
  }
}

const deletes = (change: Change): boolean =>
  change.kind === "remove" ||
  change.kind === "drop" ||
  (change.kind === "all" && change.changes.some(deletes));
