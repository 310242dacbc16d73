// Reads the rows of collections, which map a name to a part and a definition, and the heads of parts.

import type { Collection, Rules } from "../../model/collection.ts";
import type { IndexPlan } from "../../model/query/index-plan.ts";
import { type IndexBuild, plansOf } from "../core/index-build.ts";
import { allOrFirstError, rows, type Sql } from "./connection.ts";

/** It can be outdated, which the head of its part shows: the head is missing, or has another version. */
export interface CollectionRow {
  readonly name: string;
  readonly part: number;
  readonly createdAt: number;
  readonly rules: Rules;
  readonly build: IndexBuild | undefined;
  /** The plan by which queries are answered. */
  readonly plan: IndexPlan;
  /** The plan by which rows are written. */
  readonly writePlan: IndexPlan;
}

/** The columns of a head that clients see, and the version of the definition. */
export interface HeadState {
  readonly revision: number;
  readonly total: number;
  readonly bytes: number;
  readonly updatedAt: number;
  readonly sharesDate: number;
  readonly version: number;
  /** The epoch of the last write: with the revision it names one state of the part (see ../core/epochs.ts). */
  readonly epoch: number;
}

type Columns = readonly [
  ...(readonly [name: string, part: number, string, version: number, createdAt: number]),
  ...(readonly [state: string | null, referrers: string]),
];

/** Returns the rows of the collections with these names, in the same order. */
export async function findCollectionRows(
  sql: Sql,
  names: readonly string[],
): Promise<readonly (CollectionRow | undefined)[]> {
  const found = await rows<Columns>(sql`
    SELECT name, part, definition, version, created, state, referrers
    FROM collections LEFT JOIN builds USING (part) WHERE name = ANY (${names}::text[])`);
  const byName = new Map(found.map((row) => [row[0], toRow(row)]));
  return names.map((name) => byName.get(name));
}

export async function listCollectionRows(sql: Sql): Promise<readonly CollectionRow[]> {
  const found = await rows<Columns>(sql`
    SELECT name, part, definition, version, created, state, referrers
    FROM collections LEFT JOIN builds USING (part) ORDER BY name`);
  return found.map(toRow);
}

interface ListedCollection {
  readonly row: CollectionRow;
  /** Undefined when the collection was deleted in the meantime. */
  readonly head: HeadState | undefined;
}

/** A row can be outdated, which its head shows: then `find` reads the collection. */
export async function currentCollections(
  listed: readonly ListedCollection[],
  find: (name: string) => Promise<Collection | undefined>,
): Promise<readonly Collection[]> {
  const found = await Promise.all(
    listed.map(({ row, head }) =>
      head?.version === row.rules.version ? toCollection(row, head) : find(row.name),
    ),
  );
  return found.filter((collection) => collection !== undefined);
}

/** How many heads are read in one round trip. */
const headsPerRoundTrip = 500;

/** Asks each part, so it is not for the request path. */
export async function listCollections(sql: Sql): Promise<readonly ListedCollection[]> {
  const listed = await listCollectionRows(sql);
  const heads: (HeadState | undefined)[] = [];
  while (heads.length < listed.length) {
    const next = listed.slice(heads.length, heads.length + headsPerRoundTrip);
    heads.push(
      ...(await findHeads(
        sql,
        next.map(({ part }) => part),
      )),
    );
  }
  return listed.map((row, index) => ({ row, head: heads[index] }));
}

/** The text of an empty list. */
const noReferrers = "[]";

function toRow([name, part, definition, version, createdAt, ...stored]: Columns): CollectionRow {
  const [state, referrers] = stored;
  const build = state === null ? undefined : JSON.parse(state);
  const { read: plan, write: writePlan } = plansOf(definition, build);
  const rules = {
    version,
    definition,
    ...(referrers !== noReferrers && { referrers: JSON.parse(referrers) }),
  };
  return { name, part, createdAt, rules, build, plan, writePlan };
}

/** Returns the heads of the parts, in the same order; undefined where the part was deleted. Each is read once. */
export async function findHeads(
  sql: Sql,
  parts: readonly number[],
): Promise<readonly (HeadState | undefined)[]> {
  const wanted = [...new Set(parts)];
  const found = await allOrFirstError(wanted.map((part) => findHead(sql, part)));
  const heads = new Map(wanted.map((part, index) => [part, found[index]]));
  return parts.map((part) => heads.get(part));
}

type HeadColumns = readonly [
  ...(readonly [revision: number, total: number, updatedAt: number, sharesDate: number]),
  ...(readonly [version: number, bytes: number, epoch: number]),
];

async function findHead(sql: Sql, part: number): Promise<HeadState | undefined> {
  const [row] = await rows<HeadColumns>(sql`
    SELECT revision, total, updated, shares_date, version, bytes, epoch
    FROM heads WHERE part = ${part}::bigint`);
  if (!row) return undefined;
  const [revision, total, updatedAt, sharesDate, version, bytes, epoch] = row;
  return { revision, total, bytes, updatedAt, sharesDate, version, epoch };
}

interface CollectionState {
  readonly collection: Collection;
  readonly epoch: number;
}

/** The last state of each collection. A row belongs to one part and one version of its definition. */
const lastStates = new WeakMap<CollectionRow, CollectionState>();

/** Returns the same object while the state is the same, so that pages can be cached by it. */
export function toCollection(row: CollectionRow, head: HeadState): Collection {
  const { revision, epoch } = head;
  const last = lastStates.get(row);
  if (last?.epoch === epoch && last.collection.revision === revision) return last.collection;
  const collection = collectionOf(row, head);
  lastStates.set(row, { collection, epoch });
  return collection;
}

function collectionOf(
  { name, createdAt, rules }: CollectionRow,
  { revision, total, bytes, updatedAt, sharesDate }: HeadState,
): Collection {
  const { definition, version } = rules;
  const counters = { revision, total, bytes, version };
  const collection = { name, ...counters, definition, createdAt, updatedAt };
  return sharesDate === 1 ? { ...collection, sharesDate: true } : collection;
}
