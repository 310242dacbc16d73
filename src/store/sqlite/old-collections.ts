// Reads the collections of a database with the former layout.

import type { Head } from "../core/rows.ts";
import type { Connection } from "./connection.ts";

/** A collection of the former layout. Its key becomes its part, so that positions and ETags stay valid. */
export interface OldCollection {
  readonly part: number;
  readonly name: string;
  readonly definition: string;
  readonly createdAt: number;
  readonly head: Head;
}

type OldCollectionRow = readonly [
  ...(readonly [part: number, name: string, createdAt: number]),
  ...(readonly [revision: number, seq: number, total: number, updatedAt: number]),
  ...(readonly [sharesDate: number, epoch: number]),
  ...(readonly [definition: string | null, version: number | null]),
];

export function readOldCollections(source: Connection): readonly OldCollection[] {
  const [now = 0, seen = 0] =
    source.query<readonly [number, number]>("SELECT now, seen FROM key_clock").one() ?? [];
  const rows = source.query<OldCollectionRow>(
    `SELECT key, name, created, revision, seq, total, updated, shares_date, epoch,
       definition, definitions.batch
     FROM collections LEFT JOIN definitions ON definitions.collection = key ORDER BY key`,
  );
  return rows.all().map((row) => {
    const [part, name, createdAt, revision, seq, total, updatedAt, sharesDate, epoch] = row;
    const counters = { revision, seq, total, bytes: 0, updatedAt, sharesDate, epoch };
    const head = { ...counters, version: row[10] ?? 0, keyClock: { now, seen } };
    return { part, name, definition: row[9] ?? "{}", createdAt, head };
  });
}
