// What a batch must know before it can be judged: all that its changes name, locked and read in one go.

import { readKeptText } from "../kept-outcomes.ts";
import type { KeyClock } from "../key-clock.ts";
import type { Change, Put } from "../store.ts";
import { type KeptKey, type Known, nameOf } from "./apply.ts";
import { rows, type Sql, together } from "./connection.ts";
import { latestEpoch } from "./epoch.ts";
import { type LoadedState, loadState } from "./load-state.ts";
import type { LockedCollection } from "./open-collection.ts";
import type { KnownToken } from "./open-tokens.ts";
import { isPlain, isSame, type Plans } from "./plans.ts";
import type { Address } from "./resource.ts";

/** Each once. */
class NamedInBatch {
  readonly collections = new Set<string>();
  readonly addresses = new Map<string, Address>();
  readonly puts: Put[] = [];
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
        if (change.kind === "put") this.puts.push(change);
        break;
      case "all":
        for (const each of change.changes) this.add(each);
        if (change.once) this.keptNames.add(nameOf(change.once));
        break;
      case "drop":
        this.collections.add(change.collection);
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

  /** Those of what was kept under the keys, too; says whether there are any that were not known. */
  addKept(kept: readonly KeptKey[]): boolean {
    const before = this.addresses.size;
    for (const { outcomes } of kept)
      for (const { collection, id } of readKeptText(outcomes)?.resources ?? [])
        for (const name of collection === undefined ? this.collections : [collection]) {
          this.collections.add(name);
          this.addresses.set(`${name}/${id}`, { collection: name, id });
        }
    return this.addresses.size > before;
  }
}

/**
 * To be sent right after BEGIN. The resources are read when their collections are locked, and so as
 * they will be when the batch is written: nobody writes to a collection without its lock. What plans ask
 * for is read along by the plans that are remembered; only where they hold no more it is read again.
 */
export async function lookUp(sql: Sql, changes: readonly Change[], plans: Plans): Promise<Known> {
  const named = new NamedInBatch();
  for (const change of changes) named.add(change);
  const { collections: names, foundings, tokenIds, tokenHashes, keptNames } = named;
  plans.forgetIfMany();
  const guesses = [...names].flatMap((name) => plans.of(name) ?? []);
  const [, collections, guessed, tokens, rivals, kept, [keyClock]] = await together([
    foundings.size > 0 ? insertCollections(sql, foundings) : nothing,
    names.size > 0 ? lockCollections(sql, [...names], plans) : nothing,
    loadState(sql, named, guesses),
    tokenIds.size > 0 ? lockTokens(sql, [...tokenIds]) : nothing,
    tokenHashes.size > 0 ? readTokens(sql, [...tokenHashes]) : nothing,
    keptNames.size > 0 ? readKept(sql, [...keptNames]) : nothing,
    keptNames.size > 0 ? readKeyClock(sql) : nothing,
  ]);
  // One that another node has just ended is no more there to be locked, but can be made again.
  const isLocked = (name: string) => collections.some((each) => each.name === name);
  if (![...foundings.keys()].every(isLocked)) return lookUp(sql, changes, plans);
  // What a retry asks for is only known when its key is.
  const isMoreNamed = named.addKept(kept);
  const locked = isMoreNamed ? await lockCollections(sql, [...names], plans) : collections;
  const isGuessed = (each: LockedCollection) =>
    isPlain(each.plan) || guesses.some((guess) => isSame(guess, each));
  const beheld: LoadedState =
    !isMoreNamed && collections.every(isGuessed) ? guessed : await loadState(sql, named, locked);
  return { collections: locked, ...beheld, tokens: [...tokens, ...rivals], kept, keyClock };
}

/** Locks all that the changes name and that is there, to be looked up later. */
export async function lockAhead(sql: Sql, changes: readonly Change[], plans: Plans): Promise<void> {
  const named = new NamedInBatch();
  for (const change of changes) named.add(change);
  await lockCollections(sql, [...named.collections], plans);
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

type LockedRow = readonly [
  ...(readonly [number, string, number, number, number, number, number]),
  definition: string | null,
  epoch: number,
  latestEpoch: number,
];

/**
 * In one order for all nodes, so that no two wait for each other. Definitions may be long, so that only
 * those come along which are not remembered.
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
    const plan = plans.learn(name, { key, defined }, definition);
    return { key, name, revision, seq, total, updated, defined, plan, epoch, latestEpoch };
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

async function readKeyClock(sql: Sql): Promise<readonly KeyClock[]> {
  const found = await rows<readonly [number, number]>(
    sql`SELECT now, seen FROM key_clock WHERE one`,
  );
  return found.map(([now, seen]) => ({ now, seen }));
}
