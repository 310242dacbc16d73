// What a batch must know before it can be judged: all that its changes name, locked and read in one go.

import type { Change } from "../store.ts";
import { column, rows, type Sql, together } from "./connection.ts";
import { type KeptKey, type Known, type KnownResource, nameOf } from "./judge.ts";
import type { LockedCollection } from "./open-collection.ts";
import type { KnownToken } from "./open-tokens.ts";
import type { Address } from "./resource.ts";

/** Each once. */
class Named {
  readonly collections = new Set<string>();
  readonly addresses = new Map<string, Address>();
  /** When each was first asked to come into being. */
  readonly foundings = new Map<string, number>();
  readonly tokenIds = new Set<string>();
  readonly tokenHashes = new Set<string>();
  readonly keptNames = new Set<string>();

  add(change: Change): void {
    switch (change.kind) {
      case "put":
      case "remove":
        this.collections.add(change.collection);
        this.addresses.set(`${change.collection}/${change.id}`, change);
        break;
      case "all":
        for (const each of change.changes) this.add(each);
        if (change.once) this.keptNames.add(nameOf(change.once));
        break;
      case "found":
      case "define":
        this.collections.add(change.collection);
        if (!this.foundings.has(change.collection))
          this.foundings.set(change.collection, change.at);
        break;
      case "keep-token":
        this.tokenIds.add(change.token.id);
        this.tokenHashes.add(change.token.hash);
        break;
      default:
        this.tokenIds.add(change.id);
    }
  }
}

/**
 * To be sent right after BEGIN. The resources are read when their collections are locked, and so as
 * they will be when the batch is written: nobody writes to a collection without its lock.
 */
export async function lookUp(sql: Sql, changes: readonly Change[]): Promise<Known> {
  const named = new Named();
  for (const change of changes) named.add(change);
  const { collections: names, foundings, addresses, tokenIds, tokenHashes, keptNames } = named;
  const [, collections, resources, tokens, rivals, kept] = await together([
    foundings.size > 0 ? insertCollections(sql, foundings) : nothing,
    names.size > 0 ? lockCollections(sql, [...names]) : nothing,
    addresses.size > 0 ? readStandings(sql, [...addresses.values()]) : nothing,
    tokenIds.size > 0 ? lockTokens(sql, [...tokenIds]) : nothing,
    tokenHashes.size > 0 ? readTokens(sql, [...tokenHashes]) : nothing,
    keptNames.size > 0 ? readKept(sql, [...keptNames]) : nothing,
  ]);
  return { collections, resources, tokens: [...tokens, ...rivals], kept };
}

const nothing: Promise<readonly never[]> = Promise.resolve([]);

/** Rows for the collections that are not there. Revision 0 tells that they are not founded yet. */
function insertCollections(
  sql: Sql,
  foundings: ReadonlyMap<string, number>,
): Promise<readonly unknown[]> {
  return rows(sql`
    INSERT INTO collections (name, revision, seq, total, definition, created, updated)
    SELECT name, 0, 0, 0, '{}', at, at
    FROM unnest(${[...foundings.keys()]}::text[], ${[...foundings.values()]}::bigint[])
      AS founding (name, at)
    WHERE NOT EXISTS (SELECT FROM collections WHERE collections.name = founding.name)
    ORDER BY name
    ON CONFLICT DO NOTHING`);
}

/** In one order for all nodes, so that no two wait for each other. */
async function lockCollections(
  sql: Sql,
  names: readonly string[],
): Promise<readonly LockedCollection[]> {
  const locked = await rows<readonly [number, string, number, number, number, number, number]>(sql`
    SELECT key, name, revision, seq, total, updated, defined
    FROM collections WHERE name = ANY (${names}::text[]) ORDER BY name FOR UPDATE`);
  return locked.map(([key, name, revision, seq, total, updated, defined]) => {
    return { key, name, revision, seq, total, updated, defined };
  });
}

async function readStandings(
  sql: Sql,
  addresses: readonly Address[],
): Promise<readonly KnownResource[]> {
  const found = await rows<readonly [string, string, number, number, number]>(sql`
    SELECT wanted.collection, wanted.id, seq, revision, created
    FROM unnest(${column(addresses, "collection")}::text[], ${column(addresses, "id")}::text[])
      AS wanted (collection, id)
    CROSS JOIN LATERAL (
      SELECT seq, revision, created FROM resources
      WHERE collection = (SELECT key FROM collections WHERE name = wanted.collection)
        AND id = wanted.id AND seq IS NOT NULL
      LIMIT 1
    ) AS resource`);
  return found.map(([collection, id, seq, revision, createdAt]) => {
    return { collection, id, seq, revision, createdAt };
  });
}

async function lockTokens(sql: Sql, ids: readonly string[]): Promise<readonly KnownToken[]> {
  const found = await rows<readonly [string, string]>(sql`
    SELECT id, hash FROM tokens WHERE id = ANY (${ids}::text[]) ORDER BY id FOR UPDATE`);
  return found.map(([id, hash]) => ({ id, hash }));
}

/** Those that have a hash which is to be kept. */
async function readTokens(sql: Sql, hashes: readonly string[]): Promise<readonly KnownToken[]> {
  const found = await rows<readonly [string, string]>(sql`
    SELECT id, hash FROM tokens WHERE hash = ANY (${hashes}::text[])`);
  return found.map(([id, hash]) => ({ id, hash }));
}

async function readKept(sql: Sql, names: readonly string[]): Promise<readonly KeptKey[]> {
  const found = await rows<readonly [string, string, string, number]>(sql`
    SELECT name, fingerprint, outcomes, until FROM kept WHERE name = ANY (${names}::text[])`);
  return found.map(([name, fingerprint, outcomes, keptUntil]) => {
    return { name, fingerprint, outcomes, keptUntil };
  });
}
