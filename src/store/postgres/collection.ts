// Reads collections and their rules from the database.

import type { Collection, Rules } from "../../model/collection.ts";
import { rows, type Sql, type Value } from "./connection.ts";

type CollectionRow = readonly [
  name: string,
  revision: number,
  createdAt: number,
  updatedAt: number,
  definition: string,
  total: number,
  sharesDate: number,
  ...Value[],
];

export function toCollection(row: CollectionRow): Collection {
  const [name, revision, createdAt, updatedAt, definition, total, sharesDate] = row;
  const collection = { name, revision, total, definition, createdAt, updatedAt };
  return sharesDate === 1 ? { ...collection, sharesDate: true } : collection;
}

/** Returns the collections with these names, in the same order. */
export async function findCollections(
  sql: Sql,
  names: readonly string[],
): Promise<readonly (Collection | undefined)[]> {
  const found = await rows<CollectionRow>(sql`
    SELECT name, revision, created, updated, definition, total, shares_date
    FROM collections WHERE name = ANY (${names}::text[])`);
  const byName = new Map(found.map((row) => [row[0], toCollection(row)]));
  return names.map((name) => byName.get(name));
}

export async function listCollections(sql: Sql): Promise<readonly Collection[]> {
  const found = await rows<CollectionRow>(sql`
    SELECT name, revision, created, updated, definition, total, shares_date
    FROM collections ORDER BY name`);
  return found.map(toCollection);
}

/** Returns the rules of the collections with these names, in the same order. */
export async function findRules(
  sql: Sql,
  names: readonly string[],
): Promise<readonly (Rules | undefined)[]> {
  const found = await rows<readonly [string, number, string]>(sql`
    SELECT name, defined, definition FROM collections WHERE name = ANY (${names}::text[])`);
  const byName = new Map(
    found.map(([name, version, definition]) => [name, { version, definition }]),
  );
  return names.map((name) => byName.get(name));
}
