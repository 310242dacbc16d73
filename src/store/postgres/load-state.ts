// Locks and loads everything that a batch refers to, in one round trip when the collections are cached.

import type { FileQuotas, StoredFileUse } from "../core/file-use.ts";
import type { StateBefore } from "../core/state.ts";
import { nameOf } from "../core/unique-values.ts";
import type { Change, ResourceChange } from "../store.ts";
import { type CollectionRow, findCollectionRows } from "./collections.ts";
import { allOrFirstError, rows, type Sql, type Statement } from "./connection.ts";
import { readFileBytes } from "./files.ts";
import { insertedInto, needsOthers } from "./insert.ts";
import { keyName, type LoadedPart, loadPart } from "./load-part.ts";
import { noneReferenced, References } from "./references.ts";
import { currentTokens } from "./token.ts";

/** The rows of collections by name. They can be outdated, which the heads show. */
export type RowCache = Map<string, CollectionRow>;

/** When the cache is full it is cleared, which bounds the memory use. */
const maxRows = 10_000;

interface Part extends LoadedPart {
  readonly row: CollectionRow;
}

interface LoadedTokens {
  readonly ids: ReadonlySet<string>;
  /** Those of callers that are not revoked. */
  readonly current: ReadonlySet<string>;
  readonly hashes: ReadonlySet<string>;
}

/**
 * Must run in a transaction. Heads are locked in order of their parts, which avoids deadlocks. Loads again
 * when a cached row was outdated, and when stored outcomes refer to more resources.
 */
export async function loadState(
  sql: Sql,
  changes: readonly Change[],
  cache: RowCache,
  writerEpoch: number,
  fileQuotas?: FileQuotas,
): Promise<StateBefore> {
  const quotas = addsFiles(changes) ? fileQuotas : undefined;
  if (quotas) await lockFileUse(sql);
  const references = new References(changes);
  const isInsertOnly = insertedInto(changes) !== undefined;
  // What is known already is locked in the right order.
  while (references.follow(cache));
  for (;;) {
    const found = await findRows(sql, [...references.collections.keys()], cache);
    const loading = found.map(async (row): Promise<Part> => {
      const referenced = references.collections.get(row.name);
      if (!referenced) throw new Error(`${row.name} is not referenced`);
      const isInsert = isInsertOnly && !needsOthers(row.writePlan);
      return { row, ...(await loadPart(sql, row, referenced, isInsert)) };
    });
    // After the heads: a token can be revoked while this waits for their locks.
    const loadingTokens = loadTokens(sql, references);
    const [parts, tokens] = await allOrFirstError([allOrFirstError(loading), loadingTokens]);
    const outdated = parts.filter(({ row, head }) => head?.version !== row.rules.version);
    for (const { row } of outdated) cache.delete(row.name);
    const hasOutcomes = parts.map((part) => addOutcomes(references, part)).includes(true);
    const hasMore = references.follow(cache) || hasOutcomes;
    if (outdated.length > 0 || hasMore) continue;
    const state = stateOf(references, parts, tokens, writerEpoch);
    if (!quotas) return state;
    return { ...state, fileUse: await loadFileUse(sql, quotas, changes, ownersOf(parts)) };
  }
}

const ownersOf = (parts: readonly Part[]): readonly string[] =>
  parts.flatMap(({ resources }) => [...resources.values()].flatMap((each) => each?.owner ?? []));

/** Locks the collections that the changes refer to. */
export async function lockAll(
  sql: Sql,
  changes: readonly Change[],
  fileQuotas: FileQuotas | undefined,
): Promise<void> {
  if (fileQuotas && addsFiles(changes)) await lockFileUse(sql);
  const references = new References(changes);
  const cache: RowCache = new Map();
  let found: readonly CollectionRow[] = [];
  do found = await findRows(sql, [...references.collections.keys()], cache);
  while (references.follow(cache));
  await allOrFirstError(found.map((row) => loadPart(sql, row, noneReferenced())));
}

function addOutcomes(references: References, { keys }: Part): boolean {
  return [...keys.values()].map(({ outcomes }) => references.addOutcomes(outcomes)).includes(true);
}

/** Returns the rows of the collections that exist, in order of their parts. */
async function findRows(
  sql: Sql,
  names: readonly string[],
  cache: RowCache,
): Promise<readonly CollectionRow[]> {
  if (cache.size > maxRows) cache.clear();
  const unknown = names.filter((name) => !cache.has(name));
  const found = unknown.length > 0 ? await findCollectionRows(sql, unknown) : [];
  for (const row of found) if (row) cache.set(row.name, row);
  return names
    .flatMap((name) => cache.get(name) ?? [])
    .toSorted((one, other) => one.part - other.part);
}

async function loadTokens(
  sql: Sql,
  { tokenIds, tokenHashes, callers, endsTokens }: References,
): Promise<LoadedTokens> {
  const [found, current] = await allOrFirstError([
    tokenIds.size === 0 ? none : findTokenIds(sql, tokenIds, tokenHashes),
    callers.size === 0 ? none : rows<readonly [id: string]>(lockCallers(sql, callers, endsTokens)),
  ]);
  return {
    ids: new Set(found.map(([id]) => id)),
    current: new Set(current.map(([id]) => id)),
    hashes: new Set(found.map(([, hash]) => hash)),
  };
}

const none: Promise<readonly never[]> = Promise.resolve([]);

const findTokenIds = (sql: Sql, ids: ReadonlySet<string>, hashes: ReadonlySet<string>) =>
  rows<readonly [id: string, hash: string]>(sql`
    SELECT id, hash FROM tokens WHERE id = ANY (${[...ids]}::text[])
    UNION ALL
    SELECT id, hash FROM tokens WHERE hash = ANY (${[...hashes]}::text[])`);

/** Two batches that both revoke the token that they come with would wait for each other with a shared lock. */
const lockCallers = (sql: Sql, ids: ReadonlySet<string>, endsTokens: boolean): Statement => sql`
  ${currentTokens(sql, [...ids])} ${endsTokens ? sql`FOR NO KEY UPDATE` : sql`FOR SHARE`}`;

function stateOf(
  references: References,
  parts: readonly Part[],
  tokens: LoadedTokens,
  writerEpoch: number,
): StateBefore {
  const byName = new Map(parts.map((part) => [part.row.name, part]));
  const byPart = new Map(parts.map((part) => [part.row.part, part]));
  return {
    collection(name) {
      const { row, head } = byName.get(name) ?? {};
      if (!row || !head) return undefined;
      const { part, build, rules, writePlan: plan } = row;
      const { definition, referrers = [] } = rules;
      return { name, part, head, definition, build, plan, referrers };
    },
    resource(part, id) {
      const { row, resources } = byPart.get(part) ?? {};
      const referenced = row && references.collections.get(row.name);
      if (!referenced?.ids.has(id) && !referenced?.newIds.has(id))
        throw new Error(`the resource ${id} was not loaded`);
      return resources?.get(id);
    },
    removal: (part, id) => byPart.get(part)?.removals.get(id),
    holders: (part, entry) => byPart.get(part)?.holders.get(nameOf(entry)) ?? [],
    key: (part, key) => byPart.get(part)?.keys.get(keyName(key)),
    hasToken: (id) => tokens.ids.has(id),
    isTokenRevoked: (id) => !tokens.current.has(id),
    hasTokenHash: (hash) => tokens.hashes.has(hash),
    writerEpoch: () => writerEpoch,
  };
}

/** Two batches with files wait for each other, on any node, so that together they do not exceed a quota. */
async function lockFileUse(sql: Sql): Promise<void> {
  await rows(sql`SELECT one FROM store WHERE one FOR UPDATE`);
}

/** Whether the changes can add files. */
const addsFiles = (changes: readonly Change[]): boolean =>
  changes.some((change) =>
    change.kind === "all" ? addsFiles(change.changes) : change.kind === "put" && change.files,
  );

/** Called after `lockFileUse`. `owners` are those of the stored resources. */
async function loadFileUse(
  sql: Sql,
  quotas: FileQuotas,
  changes: readonly Change[],
  owners: readonly string[],
): Promise<StoredFileUse> {
  const all = new Set([...owners, ...changes.flatMap(resourceChanges).flatMap(ownersIn)]);
  const known = quotas.perSubject === undefined ? [] : [...all];
  const asked = [...(quotas.total === undefined ? [] : [undefined]), ...known];
  const sums = new Map<string | undefined, number>();
  for (const owner of asked) sums.set(owner, await readFileBytes(sql, owner));
  return { quotas, bytes: (owner) => sums.get(owner) ?? 0 };
}

const resourceChanges = (change: Change): readonly ResourceChange[] => {
  if (change.kind === "all") return change.changes;
  return change.kind === "put" ? [change] : [];
};

const ownersIn = (change: ResourceChange): readonly string[] =>
  change.kind === "put" && change.files
    ? [change.owner, change.setOwner].filter((owner) => typeof owner === "string")
    : [];
