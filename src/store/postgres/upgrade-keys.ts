// Moves the Idempotency-Keys of databases up to version 6 to the collections that they belong to.

import { decodeOutcomes, erasedText } from "../core/stored-outcomes.ts";
import { rows, type Sql } from "./connection.ts";

const keysPerTransaction = 500;

type OldKey = readonly [name: string, fingerprint: string, outcomes: string, expires: number];

/** Moves some keys. A key goes to the collection of its resources, and to every one when that is not known. */
export async function moveKeys(sql: Sql): Promise<boolean> {
  const found = await rows<OldKey>(sql`
    SELECT name, fingerprint, outcomes, until FROM kept ORDER BY name
    LIMIT ${keysPerTransaction}::bigint`);
  if (found.length === 0) return true;
  const collections = new Map(
    await rows<readonly [string, number]>(sql`SELECT name, part FROM collections`),
  );
  for (const [name, fingerprint, outcomes, expires] of found) {
    const [owner = "", key = ""]: readonly string[] = JSON.parse(name);
    const { parts, text } = await ownersOf(sql, outcomes, collections);
    await rows(sql`
      INSERT INTO idempotency_keys (part, owner, key, fingerprint, outcomes, expires)
      SELECT part, ${owner}, ${key}, ${fingerprint}, ${text}, ${expires}::bigint
      FROM unnest(${parts}::bigint[]) AS part`);
  }
  await rows(sql`
    DELETE FROM kept WHERE name = ANY (${found.map(([name]) => name)}::text[])`);
  return false;
}

interface KeyOwners {
  readonly parts: readonly number[];
  readonly text: string;
}

/** Outcomes written by 0.1.0 do not contain the collection, so the resource is searched in each. */
async function ownersOf(
  sql: Sql,
  outcomes: string,
  collections: ReadonlyMap<string, number>,
): Promise<KeyOwners> {
  const everywhere = [...collections.values()];
  const stored = decodeOutcomes(outcomes);
  if (!stored) return { parts: everywhere, text: outcomes };
  const { resources } = stored;
  const parts: number[] = [];
  for (const { collection, id, createdAt } of resources) {
    const found =
      collection === undefined
        ? (await partsWith(sql, everywhere, id, createdAt))[0]
        : collections.get(collection);
    // Without its collection, the resource is deleted.
    if (found === undefined) return { parts: everywhere, text: erasedText };
    parts.push(found);
  }
  const isKnown = resources.length > 0 && resources.length === stored.outcomes.length;
  return { parts: isKnown ? [Math.min(...parts)] : everywhere, text: outcomes };
}

async function partsWith(
  sql: Sql,
  parts: readonly number[],
  id: string,
  createdAt: number,
): Promise<readonly number[]> {
  const found = await rows<readonly [number]>(sql`
    SELECT parts.part FROM unnest(${parts}::bigint[]) AS parts (part)
    CROSS JOIN LATERAL (
      SELECT seq FROM resources
      WHERE resources.part = parts.part AND id = ${id} AND created = ${createdAt}::bigint
      LIMIT 1
    ) AS resource WHERE seq IS NOT NULL`);
  return found.map(([part]) => part);
}
