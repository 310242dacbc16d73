// Locks a part, and loads the rows of it that a batch needs.

import type { IdempotencyKey } from "../../model/idempotency-key.ts";
import type { IndexEntry, IndexPlan } from "../../model/query/index-plan.ts";
import { isSystemName } from "../../model/system-collections.ts";
import { needsFields } from "../core/index-rows.ts";
import { entriesTo } from "../core/reference-entries.ts";
import type { Head } from "../core/rows.ts";
import type { ResourceState, StoredKey, StoredRemoval } from "../core/state.ts";
import { claimsOf, nameOf } from "../core/unique-values.ts";
import type { Put } from "../store.ts";
import type { CollectionRow } from "./collections.ts";
import { allOrFirstError, column, rows, type Sql, type Statement } from "./connection.ts";
import type { Referenced } from "./references.ts";

export interface LoadedPart {
  /** Undefined when the part was deleted. */
  readonly head: Head | undefined;
  readonly resources: ReadonlyMap<string, ResourceState | undefined>;
  /** When the last resource with the id was removed, and its owner. */
  readonly removals: ReadonlyMap<string, StoredRemoval>;
  /** The seqs of resources that have a value, by the name of the entry. */
  readonly holders: ReadonlyMap<string, readonly number[]>;
  readonly keys: ReadonlyMap<string, StoredKey>;
}

export const keyName = ({ owner, key }: Pick<IdempotencyKey, "owner" | "key">): string =>
  JSON.stringify([owner, key]);

/**
 * Sends all statements together. Rows are read after the head is locked; every write needs that lock, so
 * they do not change until the batch is written. Of the server's own data, rows that are only compared are
 * locked themselves, so that what many writes are decided by does not make them wait for each other.
 */
export async function loadPart(
  sql: Sql,
  row: CollectionRow,
  { ids, puts, keys, targets, isOnlyCompared, isHeadCompared, hasOperations = false }: Referenced,
  isInsert = false,
): Promise<LoadedPart> {
  const { name, part, writePlan: plan } = row;
  const areRowsLocked = isOnlyCompared && !isHeadCompared && isSystemName(name);
  const compared = areRowsLocked ? "none" : "compare";
  const uniqueValues = plan.indexes.some(({ isUnique }) => isUnique)
    ? puts.flatMap(uniqueValuesOf(plan))
    : [];
  const references = [...targets.values()].flatMap((target) => entriesTo(plan, target));
  // The batch can change so many of the resources that refer to a target.
  const most = references.length === 0 ? 1 : ids.size + 1;
  const wanted = [...uniqueValues, ...references];
  const isWhole = hasOperations || needsFields(plan);
  const [head, states, holders, storedKeys] = await allOrFirstError([
    lockHead(sql, part, isOnlyCompared ? compared : isInsert ? "insert" : "change"),
    ids.size > 0 ? readResources(sql, part, [...ids], isWhole, areRowsLocked) : none,
    wanted.length > 0 ? readHolders(sql, part, wanted, most) : none,
    keys.length > 0 ? readKeys(sql, part, keys) : none,
  ]);
  return {
    head,
    resources: new Map(states.map(({ id, resource }) => [id, resource])),
    removals: new Map(
      states.flatMap(({ id, removal }) => (removal === undefined ? [] : [[id, removal]])),
    ),
    holders: seqsByName(holders),
    keys: new Map(storedKeys),
  };
}

/** An existing resource keeps its creation time, so that value cannot conflict. */
const uniqueValuesOf =
  (plan: IndexPlan) =>
  ({ id, fields, at }: Put) =>
    claimsOf(plan, { id, revision: 0, createdAt: at, updatedAt: at, fields });

const none: Promise<readonly never[]> = Promise.resolve([]);

type HeadRow = readonly [
  ...(readonly [revision: number, seq: number, total: number, updatedAt: number]),
  ...(readonly [sharesDate: number, version: number, epoch: number, now: number, seen: number]),
  bytes: number,
];

/**
 * Batches that only compare the same head can run at the same time, and one that only inserts beside the
 * step of an index build (builds.ts).
 */
type HeadLock = "none" | "compare" | "insert" | "change";

const lockOf = (sql: Sql, lock: HeadLock): Statement => {
  if (lock === "none") return sql``;
  if (lock === "compare") return sql`FOR SHARE`;
  return lock === "insert" ? sql`FOR NO KEY UPDATE` : sql`FOR UPDATE`;
};

async function lockHead(sql: Sql, part: number, lock: HeadLock): Promise<Head | undefined> {
  const [row] = await rows<HeadRow>(sql`
    SELECT revision, seq, total, updated, shares_date, version, epoch, key_now, key_seen, bytes
    FROM heads WHERE part = ${part}::bigint ${lockOf(sql, lock)}`);
  if (!row) return undefined;
  const [revision, seq, total, updatedAt, sharesDate, version, epoch, now, seen, bytes] = row;
  const counters = { revision, seq, total, bytes, updatedAt };
  return { ...counters, sharesDate, version, epoch, keyClock: { now, seen } };
}

interface LoadedResource {
  readonly id: string;
  readonly resource: ResourceState | undefined;
  readonly removal: StoredRemoval | undefined;
}

type StateRow = readonly [
  ...(readonly [id: string, seq: number | null, revision: number]),
  ...(readonly [createdAt: number, updatedAt: number, owner: string | null]),
  ...(readonly [files: string | null, bytes: number, fields: string | null]),
  ...(readonly [sharesDate: number, checksum: number]),
  ...(readonly [removedAt: number | null, removedOwner: string | null]),
];

type RemovalColumns = readonly [removedAt: number | null, owner: string | null];

async function readResources(
  sql: Sql,
  part: number,
  ids: readonly string[],
  needsFields: boolean,
  areLocked: boolean,
): Promise<readonly LoadedResource[]> {
  const found = await rows<StateRow>(sql`
    SELECT wanted.id, seq, revision, created, updated, resource.owner, files, bytes, fields,
      shares_date, checksum, removed, tombstone.owner
    FROM unnest(${ids}::text[]) AS wanted (id)
    LEFT JOIN LATERAL (
      SELECT seq, revision, created, updated, owner, files, octet_length(fields)::bigint AS bytes,
        shares_date, checksum,
        ${needsFields ? sql`fields` : sql`NULL AS fields`}
      FROM resources WHERE part = ${part}::bigint AND id BETWEEN wanted.id AND wanted.id
      ORDER BY id LIMIT 1 ${areLocked ? sql`FOR SHARE` : sql``}
    ) AS resource ON true
    LEFT JOIN LATERAL (
      SELECT removed, owner FROM tombstones
      WHERE part = ${part}::bigint AND id BETWEEN wanted.id AND wanted.id
      ORDER BY id LIMIT 1
    ) AS tombstone ON true
    WHERE seq IS NOT NULL OR removed IS NOT NULL`);
  return found.map(([id, seq, ...columns]) => {
    const [revision, createdAt, updatedAt, owner, files, bytes, fields, ...rest] = columns;
    const [sharesDate, checksum] = rest;
    const [removedAt, removedOwner] = columns.slice(9) as unknown as RemovalColumns;
    const removal = removedAt === null ? undefined : { removedAt, owner: removedOwner };
    if (seq === null) return { id, resource: undefined, removal };
    const content = { bytes, owner, files, fields, sharesDate, checksum };
    return { id, resource: { seq, revision, createdAt, updatedAt, ...content }, removal };
  });
}

async function readHolders(
  sql: Sql,
  part: number,
  wanted: readonly IndexEntry[],
  most: number,
): Promise<readonly (readonly [name: string, seq: number])[]> {
  const found = await rows<readonly [field: string, key: string, seq: number]>(sql`
    SELECT claim.field, claim.key, seq
    FROM unnest(${column(wanted, "field")}::text[], ${column(wanted, "key")}::text[])
      AS claim (field, key)
    CROSS JOIN LATERAL (
      SELECT seq FROM entries
      WHERE part = ${part}::bigint AND field = claim.field AND key = claim.key
      LIMIT ${most}::bigint
    ) AS entry`);
  return found.map(([field, key, seq]) => [nameOf({ field, key }), seq]);
}

function seqsByName(
  holders: readonly (readonly [name: string, seq: number])[],
): ReadonlyMap<string, readonly number[]> {
  const byName = Map.groupBy(holders, ([name]) => name);
  return new Map([...byName].map(([name, found]) => [name, found.map(([, seq]) => seq)]));
}

async function readKeys(
  sql: Sql,
  part: number,
  keys: readonly IdempotencyKey[],
): Promise<readonly (readonly [name: string, StoredKey])[]> {
  const found = await rows<readonly [string, string, string, string, number]>(sql`
    SELECT stored.*
    FROM unnest(${column(keys, "owner")}::text[], ${column(keys, "key")}::text[])
      AS wanted (owner, key)
    CROSS JOIN LATERAL (
      SELECT owner, key, fingerprint, outcomes, expires FROM idempotency_keys
      WHERE part = ${part}::bigint AND owner = wanted.owner
        AND key BETWEEN wanted.key AND wanted.key
      ORDER BY key LIMIT 1
    ) AS stored`);
  return found.map(([owner, key, fingerprint, outcomes, expiresAt]) => [
    keyName({ owner, key }),
    { fingerprint, outcomes, expiresAt },
  ]);
}
