// Keys in SQL: what was done under each, for as long as it is kept.

import { advanced, isWorthKeeping, type KeyClock } from "../key-clock.ts";
import type { IdempotencyKey } from "../store.ts";
import type { Connection, Query } from "./connection.ts";

type KeptRow = readonly [fingerprint: string, outcomes: string];

/** More than come in, so that there is an end to what is over; few, so that no commit waits for it. */
const sweptPerKept = 2;

export class IdempotencyKeys {
  readonly #find: Query<KeptRow>;
  readonly #keep: Query<never>;
  readonly #sweep: Query<never>;
  readonly #readClock: Query<readonly [now: number, seen: number]>;
  readonly #saveClock: Query<never>;
  /** How many keys the batch under way has kept. */
  #keptCount = 0;
  /** The clock of keys before the batch, and as the batch has moved it. */
  #clocks: { readonly kept: KeyClock; readonly moved: KeyClock } | undefined;

  constructor(connection: Connection) {
    this.#find = connection.query(
      "SELECT fingerprint, outcomes FROM once WHERE owner = ? AND key = ? AND until > ?",
    );
    // One whose time is over may still be there, and makes way.
    this.#keep = connection.query(
      `INSERT OR REPLACE INTO once (owner, key, fingerprint, until, outcomes)
       VALUES (?, ?, ?, ?, ?)`,
    );
    this.#sweep = connection.query(
      `DELETE FROM once WHERE rowid IN
       (SELECT rowid FROM once WHERE until <= ? ORDER BY until LIMIT ?)`,
    );
    this.#readClock = connection.query("SELECT now, seen FROM key_clock");
    this.#saveClock = connection.query("UPDATE key_clock SET now = ?, seen = ?");
  }

  find({ owner, key, at }: IdempotencyKey): KeptRow | undefined {
    return this.#find.one(owner, key, this.#now(at));
  }

  keep({ owner, key, fingerprint, at, keptUntil }: IdempotencyKey, outcomes: string): void {
    this.#keep.run(owner, key, fingerprint, this.#now(at) + (keptUntil - at), outcomes);
    this.#keptCount++;
  }

  /** Clears away a few of those whose time is over. */
  settle(): void {
    const clocks = this.#clocks;
    this.#clocks = undefined;
    if (this.#keptCount === 0 || clocks === undefined) return;
    const { now, seen } = clocks.moved;
    this.#sweep.run(now, this.#keptCount * sweptPerKept);
    if (isWorthKeeping(clocks.kept, clocks.moved)) this.#saveClock.run(now, seen);
    this.#keptCount = 0;
  }

  #now(at: number): number {
    const { kept, moved } = this.#clocks ?? this.#read();
    const clock = advanced(moved, at);
    this.#clocks = { kept, moved: clock };
    return clock.now;
  }

  #read(): { readonly kept: KeyClock; readonly moved: KeyClock } {
    const [now, seen] = this.#readClock.one() ?? [0, 0];
    const kept = { now, seen };
    return { kept, moved: kept };
  }
}
