// Reads the head of a part: its counters and the version of its definition.

import type { Head } from "../core/rows.ts";
import type { Connection, Query } from "./connection.ts";

type HeadRow = readonly [
  ...(readonly [revision: number, seq: number, total: number, updated: number]),
  ...(readonly [sharesDate: number, version: number, epoch: number]),
  ...(readonly [keyNow: number, keySeen: number]),
];

export class HeadReader {
  readonly #find: Query<HeadRow>;

  constructor(connection: Connection) {
    this.#find = connection.query(
      `SELECT revision, seq, total, updated, shares_date, version, epoch, key_now, key_seen
       FROM heads WHERE part = ?`,
    );
  }

  /** Returns undefined when the part was deleted. */
  find(part: number): Head | undefined {
    const row = this.#find.one(part);
    if (!row) return undefined;
    const [revision, seq, total, updatedAt, sharesDate, version, epoch, now, seen] = row;
    const counters = { revision, seq, total, updatedAt, sharesDate, version, epoch };
    return { ...counters, keyClock: { now, seen } };
  }
}
