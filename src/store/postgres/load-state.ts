// Loads the resources that a batch refers to, and the resources that already have its unique values.

import type { IndexEntry } from "../../model/query/index-plan.ts";
import type { Put } from "../store.ts";
import { allOrFirstError, column, rows, type Sql, type Statement } from "./connection.ts";
import type { ExistingResource } from "./open-collection.ts";
import { type CollectionPlan, hasNoIndexes } from "./plans.ts";
import type { Address } from "./resource.ts";
import { claimsOf } from "./unique-values.ts";

export interface LoadedState {
  readonly resources: readonly LoadedResource[];
  readonly removals: readonly LoadedRemoval[];
  readonly holders: readonly Holder[];
}

export interface LoadedResource extends ExistingResource {
  readonly collection: string;
  readonly id: string;
}

/** The tombstone of a removed resource. */
export interface LoadedRemoval extends Address {
  readonly removedAt: number;
}

/** The resource that has a value of a unique field. */
export interface Holder extends IndexEntry {
  readonly collection: string;
  readonly seq: number;
}

interface Requested {
  readonly addresses: ReadonlyMap<string, Address>;
  readonly puts: readonly Put[];
}

const nothing: Promise<readonly never[]> = Promise.resolve([]);

/** Reads the fields of resources only where the collection has indexes. */
export async function loadState(
  sql: Sql,
  { addresses, puts }: Requested,
  plans: readonly CollectionPlan[],
): Promise<LoadedState> {
  const byName = new Map(plans.map((each) => [each.name, each]));
  const needsNoFields = ({ collection }: Address) => {
    const plan = byName.get(collection)?.plan;
    return plan === undefined || hasNoIndexes(plan);
  };
  const plain = [...addresses.values()].filter(needsNoFields);
  const indexed = [...addresses.values()].filter((address) => !needsNoFields(address));
  const claims = puts.flatMap((put) => claimsIn(put, byName.get(put.collection)));
  const [withoutFields, withFields, holders] = await allOrFirstError([
    plain.length > 0 ? readExisting(sql, plain, sql`NULL`) : nothing,
    indexed.length > 0 ? readExisting(sql, indexed, sql`fields`) : nothing,
    claims.length > 0 ? readHolders(sql, claims) : nothing,
  ]);
  const loaded = [...withoutFields, ...withFields];
  return {
    resources: loaded.filter((each) => "seq" in each),
    removals: loaded.filter((each) => "removedAt" in each),
    holders,
  };
}

interface ClaimRow extends IndexEntry {
  readonly collection: string;
  readonly key: string;
  /** The key of the collection. */
  readonly within: number;
}

/** Treats the resource as new: an existing one keeps its creation time, so that value cannot conflict. */
function claimsIn({ collection, id, fields, at }: Put, plans: CollectionPlan | undefined) {
  if (!plans) return [];
  const resource = { id, revision: 0, createdAt: at, updatedAt: at, fields };
  return claimsOf(plans.plan, resource).map((entry): ClaimRow => {
    return { collection, within: plans.key, ...entry };
  });
}

type ExistingRow = readonly [
  ...(readonly [string, string, number | null, number, number, number]),
  string | null,
  string | null,
  string | null,
];

async function readExisting(
  sql: Sql,
  addresses: readonly Address[],
  content: Statement,
): Promise<readonly (LoadedResource | LoadedRemoval)[]> {
  const found = await rows<ExistingRow>(sql`
    SELECT wanted.collection, wanted.id, seq, revision, created, updated, owner, parts, fields
    FROM unnest(${column(addresses, "collection")}::text[], ${column(addresses, "id")}::text[])
      AS wanted (collection, id)
    CROSS JOIN LATERAL (
      SELECT seq, revision, created, updated, owner, parts, ${content} AS fields FROM resources
      WHERE collection = (SELECT key FROM collections WHERE name = wanted.collection)
        AND id = wanted.id
      LIMIT 1
    ) AS resource`);
  return found.map(
    ([collection, id, seq, revision, createdAt, updatedAt, owner, parts, fields]) => {
      if (seq === null) return { collection, id, removedAt: updatedAt };
      return { collection, id, seq, revision, createdAt, updatedAt, owner, parts, fields };
    },
  );
}

async function readHolders(sql: Sql, claims: readonly ClaimRow[]): Promise<readonly Holder[]> {
  const found = await rows<readonly [number: number, seq: number]>(sql`
    SELECT number, seq
    FROM unnest(
      ${column(claims, "within")}::bigint[], ${column(claims, "field")}::text[],
      ${column(claims, "key")}::text[]
    ) WITH ORDINALITY AS claim (collection, field, key, number)
    CROSS JOIN LATERAL (
      SELECT seq FROM entries
      WHERE collection = claim.collection AND field = claim.field AND key = claim.key
      LIMIT 1
    ) AS entry`);
  return found.flatMap(([number, seq]) => {
    const claim = claims[number - 1];
    return claim ? [{ collection: claim.collection, field: claim.field, key: claim.key, seq }] : [];
  });
}
