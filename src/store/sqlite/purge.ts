// Deletes removals and Idempotency-Keys that have expired, in small steps.

import { advanceClock } from "../core/key-clock.ts";
import {
  defaultPauseMs,
  type Expiry,
  expiredUpTo,
  expiryOf,
  type Retention,
  rowsPerStep,
} from "../core/retention.ts";
import { CollectionRows, HeadReader } from "./collections.ts";
import type { Connection, PreparedQuery } from "./connection.ts";

/** How many collections without anything to delete are checked at once. */
const partsPerStep = 200;

export class Purger {
  readonly #connection: Connection;
  readonly #retention: Retention | undefined;
  readonly #onDelete: () => void;
  #dueAt = performance.now();
  #steps: Iterator<void> | undefined;

  /** `onDelete` is called after each step that has deleted rows. */
  constructor(connection: Connection, retention: Retention | undefined, onDelete: () => void) {
    this.#connection = connection;
    this.#retention = retention;
    this.#onDelete = onDelete;
  }

  /** Runs one step. Returns whether more steps can run now. */
  work(): boolean {
    if (!this.#retention) return false;
    if (!this.#steps) {
      if (performance.now() < this.#dueAt) return false;
      this.#steps = purge(this.#connection, this.#retention, this.#onDelete);
    }
    if (!this.#steps.next().done) return true;
    this.#steps = undefined;
    this.#dueAt = performance.now() + (this.#retention.pauseMs ?? defaultPauseMs);
    return false;
  }
}

function* purge(
  connection: Connection,
  retention: Retention,
  onDelete: () => void,
): Generator<void> {
  const removals = new RemovalPurger(connection);
  const keys = new KeyPurger(connection);
  for (const [index, { name, part }] of new CollectionRows(connection).all().entries()) {
    const expiry = expiryOf(retention, name);
    for (const rows of [removals, keys])
      while (rows.deleteSome(part, expiry)) {
        onDelete();
        yield;
      }
    if ((index + 1) % partsPerStep === 0) yield;
  }
}

type RemovalTime = readonly [revision: number, removedAt: number];

class RemovalPurger {
  readonly #connection: Connection;
  readonly #tables: readonly {
    readonly oldest: PreparedQuery<RemovalTime>;
    readonly delete: PreparedQuery<never>;
  }[];
  readonly #save: PreparedQuery<never>;

  constructor(connection: Connection) {
    this.#connection = connection;
    const table = (name: string, time: string) => ({
      oldest: connection.query<RemovalTime>(
        `SELECT revision, ${time} FROM ${name} WHERE part = ? ORDER BY revision LIMIT ${rowsPerStep}`,
      ),
      delete: connection.query<never>(`DELETE FROM ${name} WHERE part = ? AND revision <= ?`),
    });
    this.#tables = [
      table("tombstones", "removed"),
      table("former_owners", "changed"),
      table("former_states", "changed"),
    ];
    this.#save = connection.query("UPDATE heads SET purged = ?2 WHERE part = ?1 AND purged < ?2");
  }

  /** Returns whether it deleted removals. */
  deleteSome(part: number, expiry: Expiry): boolean {
    const expired = this.#tables.flatMap((table) => {
      const revision = expiredUpTo(table.oldest.all(part), expiry);
      return revision === undefined ? [] : [{ table, revision }];
    });
    if (expired.length === 0) return false;
    this.#connection.transact(() => {
      for (const { table, revision } of expired) {
        table.delete.run(part, revision);
        this.#save.run(part, revision);
      }
    });
    return true;
  }
}

class KeyPurger {
  readonly #connection: Connection;
  readonly #heads: HeadReader;
  readonly #any: PreparedQuery<readonly [1]>;
  readonly #saveClock: PreparedQuery<never>;
  readonly #delete: PreparedQuery<never>;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#heads = new HeadReader(connection);
    this.#any = connection.query("SELECT 1 FROM idempotency_keys WHERE part = ? LIMIT 1");
    this.#saveClock = connection.query("UPDATE heads SET key_now = ?, key_seen = ? WHERE part = ?");
    this.#delete = connection.query(
      `DELETE FROM idempotency_keys WHERE part = ?1 AND (owner, key) IN (
         SELECT owner, key FROM idempotency_keys WHERE part = ?1 AND expires <= ?2
         ORDER BY expires LIMIT ${rowsPerStep})`,
    );
  }

  /** Moves the clock of a part that has keys. Returns whether it deleted keys. */
  deleteSome(part: number): boolean {
    const head = this.#any.one(part) && this.#heads.find(part);
    if (!head) return false;
    const { now, seen } = advanceClock(head.keyClock, Date.now());
    return this.#connection.transact(() => {
      this.#saveClock.run(now, seen, part);
      return this.#delete.run(part, now) > 0;
    });
  }
}
