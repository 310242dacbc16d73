// Moves the Idempotency-Keys of databases up to version 6 to the collections that they belong to.

import { oldKeyOwner, placeOldKey, type ResourceOwner } from "../core/old-outcomes.ts";
import { decodeOutcomes, type OutcomeResource } from "../core/stored-outcomes.ts";
import { column, rows, type Sql } from "./connection.ts";

const keysPerTransaction = 500;

type OldKey = readonly [name: string, fingerprint: string, outcomes: string, expires: number];

/** Moves some keys. A key goes to the collection of its resources, and to every one when that is not known. */
export async function moveKeys(sql: Sql): Promise<boolean> {
  const found = await rows<OldKey>(sql`
    SELECT name, fingerprint, outcomes, until FROM kept ORDER BY name
    LIMIT ${keysPerTransaction}::bigint`);
  if (found.length === 0) return true;
  const named = await rows<readonly [name: string, part: number]>(
    sql`SELECT name, part FROM collections`,
  );
  const collections = named.map(([name, part]) => ({ name, part }));
  const everywhere = collections.map(({ part }) => part);
  for (const [name, fingerprint, outcomes, expires] of found) {
    const [owner = "", key = ""]: readonly string[] = JSON.parse(name);
    const stored = decodeOutcomes(outcomes);
    const owners = await ownersOf(sql, stored?.resources ?? [], collections);
    const { parts, outcomes: text } = placeOldKey(outcomes, stored, owners, everywhere);
    await rows(sql`
      INSERT INTO idempotency_keys (part, owner, key, fingerprint, outcomes, expires)
      SELECT part, ${oldKeyOwner(owner, fingerprint)}, ${key}, ${fingerprint}, ${text}, ${expires}::bigint
      FROM unnest(${parts}::bigint[]) AS part`);
  }
  await rows(sql`
    DELETE FROM kept WHERE name = ANY (${found.map(([name]) => name)}::text[])`);
  return false;
}

/** Outcomes written by 0.1.0 do not contain the collection, so the resource is searched in each. */
async function ownersOf(
  sql: Sql,
  resources: readonly OutcomeResource[],
  collections: readonly ResourceOwner[],
): Promise<readonly (ResourceOwner | undefined)[]> {
  const owners: (ResourceOwner | undefined)[] = [];
  for (const { collection: name, id, createdAt } of resources) {
    const part = name === undefined ? await partWith(sql, collections, id, createdAt) : undefined;
    owners.push(collections.find((each) => each.name === name || each.part === part));
  }
  return owners;
}

async function partWith(
  sql: Sql,
  collections: readonly ResourceOwner[],
  id: string,
  createdAt: number,
): Promise<number | undefined> {
  const found = await rows<readonly [number]>(sql`
    SELECT parts.part FROM unnest(${column(collections, "part")}::bigint[]) AS parts (part)
    CROSS JOIN LATERAL (
      SELECT seq FROM resources
      WHERE resources.part = parts.part AND id = ${id} AND created = ${createdAt}::bigint
      LIMIT 1
    ) AS resource WHERE seq IS NOT NULL
    ORDER BY parts.part LIMIT 1`);
  return found[0]?.[0];
}
