// What a batch must know of resources: those it names, and who has the unique values that it brings.

import type { IndexEntry } from "../../model/query/index-plan.ts";
import type { Put } from "../store.ts";
import { column, rows, type Sql, type Statement, together } from "./connection.ts";
import type { Standing } from "./open-collection.ts";
import { isPlain, type Planned } from "./plans.ts";
import type { Address } from "./resource.ts";
import { claimsOf } from "./unique-values.ts";

export interface LoadedState {
  readonly resources: readonly KnownResource[];
  readonly removals: readonly KnownRemoval[];
  readonly holders: readonly Holder[];
}

export interface KnownResource extends Standing {
  readonly collection: string;
  readonly id: string;
}

/** What was there at an address before. */
export interface KnownRemoval extends Address {
  readonly removedAt: number;
}

/** A resource that has a value of a unique field. */
export interface Holder extends IndexEntry {
  readonly collection: string;
  readonly seq: number;
}

interface Asked {
  readonly addresses: ReadonlyMap<string, Address>;
  readonly puts: readonly Put[];
}

const nothing: Promise<readonly never[]> = Promise.resolve([]);

/** Where nothing is planned, nothing more is read than where the resources stand. */
export async function loadState(
  sql: Sql,
  { addresses, puts }: Asked,
  planned: readonly Planned[],
): Promise<LoadedState> {
  const byName = new Map(planned.map((each) => [each.name, each]));
  const isBare = ({ collection }: Address) => {
    const plan = byName.get(collection)?.plan;
    return plan === undefined || isPlain(plan);
  };
  const bare = [...addresses.values()].filter(isBare);
  const full = [...addresses.values()].filter((address) => !isBare(address));
  const claims = puts.flatMap((put) => claimsIn(put, byName.get(put.collection)));
  const [standing, whole, holders] = await together([
    bare.length > 0 ? readStandings(sql, bare, sql`NULL`) : nothing,
    full.length > 0 ? readStandings(sql, full, sql`fields`) : nothing,
    claims.length > 0 ? readHolders(sql, claims) : nothing,
  ]);
  const known = [...standing, ...whole];
  return {
    resources: known.filter((each) => "seq" in each),
    removals: known.filter((each) => "removedAt" in each),
    holders,
  };
}

interface Claimed extends IndexEntry {
  readonly collection: string;
  readonly key: string;
  /** The collection's. */
  readonly within: number;
}

/** As if it was new: what is there keeps the time of its creation, and need not ask for it. */
function claimsIn({ collection, id, fields, at }: Put, planned: Planned | undefined) {
  if (!planned) return [];
  const resource = { id, revision: 0, createdAt: at, updatedAt: at, fields };
  return claimsOf(planned.plan, resource).map((entry): Claimed => {
    return { collection, within: planned.key, ...entry };
  });
}

type StandingRow = readonly [
  ...(readonly [string, string, number | null, number, number, number]),
  string | null,
  string | null,
  string | null,
];

async function readStandings(
  sql: Sql,
  addresses: readonly Address[],
  content: Statement,
): Promise<readonly (KnownResource | KnownRemoval)[]> {
  const found = await rows<StandingRow>(sql`
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

async function readHolders(sql: Sql, claims: readonly Claimed[]): Promise<readonly Holder[]> {
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
