// Copies Idempotency-Keys of the former layout, which had one table for all collections.

import { oldKeyOwner, placeOldKey } from "../core/old-outcomes.ts";
import type { KeyRow } from "../core/rows.ts";
import { decodeOutcomes, type OutcomeResource } from "../core/stored-outcomes.ts";
import type { Connection } from "./connection.ts";
import type { OldCollection } from "./old-collections.ts";
import type { RowWriter } from "./row-writer.ts";

type OldKeyRow = readonly [
  ...(readonly [rowid: number, owner: string, key: string, fingerprint: string]),
  ...(readonly [expiresAt: number, outcomes: string]),
];

const chunkRows = 100;

export function copyOldKeys(
  source: Connection,
  rows: RowWriter,
  collections: readonly OldCollection[],
): void {
  const next = source.query<OldKeyRow>(
    `SELECT rowid, owner, key, fingerprint, until, outcomes FROM once
     WHERE rowid > ? ORDER BY rowid LIMIT ${chunkRows}`,
  );
  const everywhere = collections.map(({ part }) => part);
  const now = collections[0]?.head.keyClock.now ?? 0;
  for (let last = 0; ; ) {
    const found = next.all(last);
    if (found.length === 0) return;
    for (const [rowid, oldOwner, key, fingerprint, expiresAt, text] of found) {
      last = rowid;
      if (expiresAt <= now) continue;
      const stored = decodeOutcomes(text);
      const owners = stored?.resources.map((each) => ownerOf(source, collections, each)) ?? [];
      const { parts, outcomes } = placeOldKey(text, stored, owners, everywhere);
      const owner = oldKeyOwner(oldOwner, fingerprint);
      const row: KeyRow = { owner, key, fingerprint, outcomes, expiresAt };
      for (const part of parts) rows.saveKey(part, row);
    }
  }
}

/** Returns the collection of a resource. Version 0.1.0 did not store its name. */
function ownerOf(
  source: Connection,
  collections: readonly OldCollection[],
  { collection: name, id, createdAt }: OutcomeResource,
): OldCollection | undefined {
  if (name !== undefined) return collections.find((each) => each.name === name);
  return collections.find(({ part }) =>
    source.query(`SELECT 1 FROM resources_${part} WHERE id = ? AND created = ?`).one(id, createdAt),
  );
}
