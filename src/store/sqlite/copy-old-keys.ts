// Copies Idempotency-Keys of the former layout, which had one table for all collections.

import type { KeyRow } from "../core/rows.ts";
import { decodeOutcomes, erasedText, type OutcomeResource } from "../core/stored-outcomes.ts";
import type { Connection } from "./connection.ts";
import type { OldCollection } from "./old-collections.ts";
import type { RowWriter } from "./row-writer.ts";

type OldKeyRow = readonly [
  ...(readonly [rowid: number, owner: string, key: string, fingerprint: string]),
  ...(readonly [expiresAt: number, outcomes: string]),
];

const chunkRows = 100;

/** Where a key belongs, and the outcomes with the name of each collection. */
interface KeyTarget {
  readonly parts: readonly number[];
  readonly outcomes: string;
}

export function copyOldKeys(
  source: Connection,
  rows: RowWriter,
  collections: readonly OldCollection[],
): void {
  const next = source.query<OldKeyRow>(
    `SELECT rowid, owner, key, fingerprint, until, outcomes FROM once
     WHERE rowid > ? ORDER BY rowid LIMIT ${chunkRows}`,
  );
  const now = collections[0]?.head.keyClock.now ?? 0;
  for (let last = 0; ; ) {
    const found = next.all(last);
    if (found.length === 0) return;
    for (const [rowid, owner, key, fingerprint, expiresAt, text] of found) {
      last = rowid;
      if (expiresAt <= now) continue;
      const { parts, outcomes } = targetOf(source, collections, text);
      const row: KeyRow = { owner, key, fingerprint, outcomes, expiresAt };
      for (const part of parts) rows.saveKey(part, row);
    }
  }
}

/**
 * A key belongs to the lowest part that its request changed. Where that is not known, because the
 * outcomes were erased or do not name a collection, the key is stored in every part until it expires.
 */
function targetOf(
  source: Connection,
  collections: readonly OldCollection[],
  text: string,
): KeyTarget {
  const everywhere = collections.map(({ part }) => part);
  const decoded = decodeOutcomes(text);
  if (!decoded || decoded.resources.length < decoded.outcomes.length)
    return { parts: everywhere, outcomes: text };
  const owners = decoded.resources.map((resource) => ownerOf(source, collections, resource));
  // A resource that version 0.1.0 stored without its collection, and that was deleted since.
  if (owners.some((owner, index) => !owner && !decoded.resources[index]?.collection))
    return { parts: everywhere, outcomes: erasedText };
  const parts = owners.flatMap((owner) => owner?.part ?? []);
  const outcomes = decoded.outcomes.map((outcome, index) => {
    return { ...outcome, collection: owners[index]?.name ?? decoded.resources[index]?.collection };
  });
  return {
    parts: parts.length > 0 ? [Math.min(...parts)] : [],
    outcomes: JSON.stringify(outcomes),
  };
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
