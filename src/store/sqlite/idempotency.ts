// Stores the outcomes of requests under their Idempotency-Keys until they expire.

import { advanceClock, isWorthSaving, type KeyClock } from "../core/key-clock.ts";
import type { IdempotencyKey } from "../store.ts";
import type { Connection, Query } from "./connection.ts";

type StoredRow = readonly [fingerprint: string, outcomes: string];

/** More than one, so that expired keys do not pile up; few, so that no commit has to wait. */
const deletedPerSaved = 2;

export class IdempotencyKeys {
  readonly #find: Query<StoredRow>;
  readonly #save: Query<never>;
  readonly #deleteExpired: Query<never>;
  readonly #readClock: Query<readonly [now: number, seen: number]>;
  readonly #saveClock: Query<never>;
  /** How many keys the current batch has saved. */
  #savedCount = 0;
  /** The key clock before the batch, and after its changes. */
  #clocks: { readonly stored: KeyClock; readonly moved: KeyClock } | undefined;

  constructor(connection: Connection) {
    this.#find = connection.query(
      "SELECT fingerprint, outcomes FROM once WHERE owner = ? AND key = ? AND until > ?",
    );
    // Replaces an expired key that was not deleted yet.
    this.#save = connection.query(
      `INSERT OR REPLACE INTO once (owner, key, fingerprint, until, outcomes)
       VALUES (?, ?, ?, ?, ?)`,
    );
    this.#deleteExpired = connection.query(
      `DELETE FROM once WHERE rowid IN
       (SELECT rowid FROM once WHERE until <= ? ORDER BY until LIMIT ?)`,
    );
    this.#readClock = connection.query("SELECT now, seen FROM key_clock");
    this.#saveClock = connection.query("UPDATE key_clock SET now = ?, seen = ?");
  }

  find({ owner, key, at }: IdempotencyKey): StoredRow | undefined {
    return this.#find.one(owner, key, this.#now(at));
  }

  save({ owner, key, fingerprint, at, expiresAt }: IdempotencyKey, outcomes: string): void {
    this.#save.run(owner, key, fingerprint, this.#now(at) + (expiresAt - at), outcomes);
    this.#savedCount++;
  }

  /** Deletes some expired keys, and saves the clock. */
  finish(): void {
    const clocks = this.#clocks;
    this.#clocks = undefined;
    if (this.#savedCount === 0 || clocks === undefined) return;
    const { now, seen } = clocks.moved;
    this.#deleteExpired.run(now, this.#savedCount * deletedPerSaved);
    if (isWorthSaving(clocks.stored, clocks.moved)) this.#saveClock.run(now, seen);
    this.#savedCount = 0;
  }

  #now(at: number): number {
    const { stored, moved } = this.#clocks ?? this.#read();
    const clock = advanceClock(moved, at);
    this.#clocks = { stored, moved: clock };
    return clock.now;
  }

  #read(): { readonly stored: KeyClock; readonly moved: KeyClock } {
    const [now, seen] = this.#readClock.one() ?? [0, 0];
    const stored = { now, seen };
    return { stored, moved: stored };
  }
}
