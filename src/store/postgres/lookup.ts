// Locks and loads everything that a batch refers to, in one round trip.

import type { KeyClock } from "../core/key-clock.ts";
import { decodeOutcomes } from "../core/stored-outcomes.ts";
import type { Change, Put } from "../store.ts";
import { type LoadedBatch, nameOf, type StoredKey } from "./apply.ts";
import { allOrFirstError, rows, type Sql } from "./connection.ts";
import { latestEpoch } from "./epoch.ts";
import { type LoadedState, loadState } from "./load-state.ts";
import type { LockedCollection } from "./open-collection.ts";
import type { LoadedToken } from "./open-tokens.ts";
import { hasNoIndexes, isSameVersion, type Plans } from "./plans.ts";
import type { Address } from "./resource.ts";

/** Everything that the changes of a batch refer to, without duplicates. */
class BatchReferences {
  readonly collections = new Set<string>();
  readonly addresses = new Map<string, Address>();
  readonly puts: Put[] = [];
  /** The creation time of each collection that the batch may create. */
  readonly newCollections = new Map<string, number>();
  readonly tokenIds = new Set<string>();
  readonly tokenHashes = new Set<string>();
  readonly keyNames = new Set<string>();

  add(change: Change): void {
    switch (change.kind) {
      case "put":
      case "remove":
        this.collections.add(change.collection);
        this.addresses.set(`${change.collection}/${change.id}`, change);
        if (change.kind === "put") this.puts.push(change);
        break;
      case "all":
        for (const each of change.changes) this.add(each);
        if (change.once) this.keyNames.add(nameOf(change.once));
        break;
      case "drop":
        this.collections.add(change.collection);
        break;
      case "create-collection":
      case "define":
        this.collections.add(change.collection);
        if (!this.newCollections.has(change.collection))
          this.newCollections.set(change.collection, change.at);
        break;
      case "create-token":
        this.tokenIds.add(change.token.id);
        this.tokenHashes.add(change.token.hash);
        break;
      default:
        this.tokenIds.add(change.id);
    }
  }

  /** Adds the resources in stored outcomes. Returns whether some of them are new. */
  addStoredKeys(storedKeys: readonly StoredKey[]): boolean {
    const before = this.addresses.size;
    for (const { outcomes } of storedKeys)
      for (const { collection, id } of decodeOutcomes(outcomes)?.resources ?? [])
        for (const name of collection === undefined ? this.collections : [collection]) {
          this.collections.add(name);
          this.addresses.set(`${name}/${id}`, { collection: name, id });
        }
    return this.addresses.size > before;
  }
}

/**
 * Sent right after BEGIN. Resources are read after their collections are locked; every write needs that
 * lock, so they do not change until the batch is written. What indexes need is read with the cached
 * plans, and read again only when a plan is outdated.
 */
export async function loadBatch(
  sql: Sql,
  changes: readonly Change[],
  plans: Plans,
): Promise<LoadedBatch> {
  const references = new BatchReferences();
  for (const change of changes) references.add(change);
  const { collections: names, newCollections, tokenIds, tokenHashes, keyNames } = references;
  plans.clearIfFull();
  const cachedPlans = [...names].flatMap((name) => plans.of(name) ?? []);
  const [, collections, loaded, tokens, tokensByHash, storedKeys, [keyClock]] =
    await allOrFirstError([
      newCollections.size > 0 ? insertCollections(sql, newCollections) : nothing,
      names.size > 0 ? lockCollections(sql, [...names], plans) : nothing,
      loadState(sql, references, cachedPlans),
      tokenIds.size > 0 ? lockTokens(sql, [...tokenIds]) : nothing,
      tokenHashes.size > 0 ? readTokens(sql, [...tokenHashes]) : nothing,
      keyNames.size > 0 ? readKeys(sql, [...keyNames]) : nothing,
      keyNames.size > 0 ? readKeyClock(sql) : nothing,
    ]);
  // A collection that another node has just dropped cannot be locked, but can be created again.
  const isLocked = (name: string) => collections.some((each) => each.name === name);
  if (![...newCollections.keys()].every(isLocked)) return loadBatch(sql, changes, plans);
  // The resources of a retried request are known only after its key is read.
  const hasMore = references.addStoredKeys(storedKeys);
  const locked = hasMore ? await lockCollections(sql, [...names], plans) : collections;
  const isCurrent = (each: LockedCollection) =>
    hasNoIndexes(each.plan) || cachedPlans.some((cached) => isSameVersion(cached, each));
  const state: LoadedState =
    !hasMore && collections.every(isCurrent) ? loaded : await loadState(sql, references, locked);
  return {
    collections: locked,
    ...state,
    tokens: [...tokens, ...tokensByHash],
    storedKeys,
    keyClock,
  };
}

/** Locks the existing collections that the changes refer to. */
export async function lockAll(sql: Sql, changes: readonly Change[], plans: Plans): Promise<void> {
  const references = new BatchReferences();
  for (const change of changes) references.add(change);
  await lockCollections(sql, [...references.collections], plans);
}

const nothing: Promise<readonly never[]> = Promise.resolve([]);

/** Inserts rows for collections that do not exist. Revision 0 means that the collection is not created yet. */
function insertCollections(
  sql: Sql,
  newCollections: ReadonlyMap<string, number>,
): Promise<readonly unknown[]> {
  return rows(sql`
    INSERT INTO collections (name, revision, seq, total, definition, created, updated)
    SELECT name, 0, 0, 0, '{}', at, at
    FROM unnest(${[...newCollections.keys()]}::text[], ${[...newCollections.values()]}::bigint[])
      AS founding (name, at)
    WHERE NOT EXISTS (SELECT FROM collections WHERE collections.name = founding.name)
    ORDER BY name
    ON CONFLICT DO NOTHING`);
}

type LockedRow = readonly [
  ...(readonly [number, string, number, number, number, number, number]),
  definition: string | null,
  epoch: number,
  latestEpoch: number,
];

/**
 * Locks in the same order on all nodes, which avoids deadlocks. Definitions can be long, so only those
 * that are not cached are read.
 */
async function lockCollections(
  sql: Sql,
  names: readonly string[],
  plans: Plans,
): Promise<readonly LockedCollection[]> {
  const versions = names
    .flatMap((name) => plans.of(name) ?? [])
    .map(({ key, defined }) => `${key} ${defined}`);
  const locked = await rows<LockedRow>(sql`
    SELECT key, name, revision, seq, total, updated, defined,
      CASE WHEN defined > 0 AND key || ' ' || defined <> ALL (${versions}::text[])
        THEN definition END,
      epoch, ${latestEpoch(sql)}
    FROM collections WHERE name = ANY (${names}::text[]) ORDER BY name FOR UPDATE`);
  return locked.map(([key, name, revision, seq, total, updated, defined, ...more]) => {
    const [definition, epoch, latestEpoch] = more;
    const plan = plans.update(name, { key, defined }, definition);
    return { key, name, revision, seq, total, updated, defined, plan, epoch, latestEpoch };
  });
}

async function lockTokens(sql: Sql, ids: readonly string[]): Promise<readonly LoadedToken[]> {
  const found = await rows<readonly [string, string]>(sql`
    SELECT id, hash FROM tokens WHERE id = ANY (${ids}::text[]) ORDER BY id FOR UPDATE`);
  return found.map(([id, hash]) => ({ id, hash }));
}

/** Reads the tokens that already have one of the new hashes. */
async function readTokens(sql: Sql, hashes: readonly string[]): Promise<readonly LoadedToken[]> {
  const found = await rows<readonly [string, string]>(sql`
    SELECT id, hash FROM tokens WHERE hash = ANY (${hashes}::text[])`);
  return found.map(([id, hash]) => ({ id, hash }));
}

async function readKeys(sql: Sql, names: readonly string[]): Promise<readonly StoredKey[]> {
  const found = await rows<readonly [string, string, string, number]>(sql`
    SELECT name, fingerprint, outcomes, until FROM kept WHERE name = ANY (${names}::text[])`);
  return found.map(([name, fingerprint, outcomes, expiresAt]) => {
    return { name, fingerprint, outcomes, expiresAt };
  });
}

async function readKeyClock(sql: Sql): Promise<readonly KeyClock[]> {
  const found = await rows<readonly [number, number]>(
    sql`SELECT now, seen FROM key_clock WHERE one`,
  );
  return found.map(([now, seen]) => ({ now, seen }));
}
