// What a batch writes, and the statements for it: each takes all its rows at once.

import type { Token } from "../../model/token.ts";
import { column, rows, type Sql, type Statement } from "./connection.ts";
import { countHoles, dig, fill, type Hole } from "./holes.ts";

export interface Writes {
  readonly collections: CollectionWrite[];
  readonly made: ResourceWrite[];
  readonly replaced: ResourceWrite[];
  readonly gone: { readonly collection: number; readonly seq: number }[];
  readonly removals: RemovalWrite[];
  /** Made where a removal may be remembered. */
  readonly revived: { readonly collection: number; readonly id: string }[];
  readonly holes: Hole[];
  readonly tokens: Token[];
  readonly tokenTimes: Pick<Token, "id" | "usedAt" | "revokedAt">[];
  readonly kept: KeptWrite[];
  /** Those of `kept` that were kept before, and whose time is over. */
  readonly keptAgain: KeptWrite[];
}

interface CollectionWrite {
  readonly key: number;
  readonly revision: number;
  readonly seq: number;
  readonly total: number;
  readonly updated: number;
  /** None leaves it as it is. */
  readonly definition: string | null;
}

interface ResourceWrite {
  readonly collection: number;
  readonly seq: number;
  readonly id: string;
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly fields: string;
}

interface RemovalWrite {
  readonly collection: number;
  readonly id: string;
  readonly revision: number;
  readonly at: number;
}

export interface KeptWrite {
  readonly owner: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly outcomes: string;
  readonly at: number;
  readonly keptUntil: number;
}

export const noWrites = (): Writes => ({
  collections: [],
  made: [],
  replaced: [],
  gone: [],
  removals: [],
  revived: [],
  holes: [],
  tokens: [],
  tokenTimes: [],
  kept: [],
  keptAgain: [],
});

export const isNothing = (writes: Writes): boolean =>
  Object.values(writes).every(({ length }) => length === 0);

/** Sends all that there is to write. Rows make way before others take their keys. */
export function send(sql: Sql, writes: Writes): readonly Promise<unknown>[] {
  const dug = countHoles(writes.holes);
  const statements = [
    writes.kept.length > 0 && sweepKept(sql, writes.kept),
    writes.keptAgain.length > 0 && deleteKept(sql, writes.keptAgain),
    writes.kept.length > 0 && insertKept(sql, writes.kept),
    writes.gone.length > 0 && deleteResources(sql, writes.gone),
    writes.made.length > 0 && insertResources(sql, writes.made),
    writes.replaced.length > 0 && updateResources(sql, writes.replaced),
    writes.revived.length > 0 && deleteRemovals(sql, writes.revived),
    writes.removals.length > 0 && insertRemovals(sql, writes.removals),
    dug.length > 0 && dig(sql, dug),
    dug.length > 0 && fill(sql, dug),
    writes.tokens.length > 0 && insertTokens(sql, writes.tokens),
    writes.tokenTimes.length > 0 && updateTokens(sql, writes.tokenTimes),
    writes.collections.length > 0 && updateCollections(sql, writes.collections),
  ];
  return statements.filter((statement) => statement !== false).map(rows);
}

const insertResources = (sql: Sql, made: Writes["made"]): Statement => sql`
  INSERT INTO resources (collection, seq, id, revision, created, updated, fields)
  SELECT * FROM unnest(
    ${column(made, "collection")}::bigint[], ${column(made, "seq")}::bigint[],
    ${column(made, "id")}::text[], ${column(made, "revision")}::bigint[],
    ${column(made, "createdAt")}::bigint[], ${column(made, "updatedAt")}::bigint[],
    ${column(made, "fields")}::text[]
  )`;

const updateResources = (sql: Sql, replaced: Writes["replaced"]): Statement => sql`
  UPDATE resources AS resource
  SET revision = next.revision, updated = next.updated, fields = next.fields
  FROM unnest(
    ${column(replaced, "collection")}::bigint[], ${column(replaced, "seq")}::bigint[],
    ${column(replaced, "revision")}::bigint[], ${column(replaced, "updatedAt")}::bigint[],
    ${column(replaced, "fields")}::text[]
  ) AS next (collection, seq, revision, updated, fields)
  WHERE resource.collection = next.collection AND resource.seq = next.seq`;

const deleteResources = (sql: Sql, gone: Writes["gone"]): Statement => sql`
  DELETE FROM resources AS resource
  USING unnest(${column(gone, "collection")}::bigint[], ${column(gone, "seq")}::bigint[])
    AS gone (collection, seq)
  WHERE resource.collection = gone.collection AND resource.seq = gone.seq`;

const insertRemovals = (sql: Sql, removals: Writes["removals"]): Statement => sql`
  INSERT INTO removed (collection, id, revision, at)
  SELECT * FROM unnest(
    ${column(removals, "collection")}::bigint[], ${column(removals, "id")}::text[],
    ${column(removals, "revision")}::bigint[], ${column(removals, "at")}::bigint[]
  )
  ON CONFLICT (collection, id) DO UPDATE SET revision = excluded.revision, at = excluded.at`;

const deleteRemovals = (sql: Sql, revived: Writes["revived"]): Statement => sql`
  DELETE FROM removed
  USING unnest(${column(revived, "collection")}::bigint[], ${column(revived, "id")}::text[])
    AS revived (collection, id)
  WHERE removed.collection = revived.collection AND removed.id = revived.id`;

const updateCollections = (sql: Sql, moved: Writes["collections"]): Statement => sql`
  UPDATE collections AS collection
  SET revision = next.revision, seq = next.seq, total = next.total, updated = next.updated,
    definition = coalesce(next.definition, collection.definition)
  FROM unnest(
    ${column(moved, "key")}::bigint[], ${column(moved, "revision")}::bigint[],
    ${column(moved, "seq")}::bigint[], ${column(moved, "total")}::bigint[],
    ${column(moved, "updated")}::bigint[], ${column(moved, "definition")}::text[]
  ) AS next (key, revision, seq, total, updated, definition)
  WHERE collection.key = next.key`;

const insertTokens = (sql: Sql, tokens: Writes["tokens"]): Statement => sql`
  INSERT INTO tokens (id, hash, name, scopes, created, expires, used, revoked)
  SELECT * FROM unnest(
    ${column(tokens, "id")}::text[], ${column(tokens, "hash")}::text[],
    ${column(tokens, "name")}::text[], ${tokens.map(({ scopes }) => JSON.stringify(scopes))}::text[],
    ${column(tokens, "createdAt")}::bigint[], ${column(tokens, "expiresAt")}::bigint[],
    ${column(tokens, "usedAt")}::bigint[], ${column(tokens, "revokedAt")}::bigint[]
  )`;

const updateTokens = (sql: Sql, times: Writes["tokenTimes"]): Statement => sql`
  UPDATE tokens AS token
  SET used = greatest(token.used, next.used), revoked = coalesce(token.revoked, next.revoked)
  FROM unnest(
    ${column(times, "id")}::text[], ${column(times, "usedAt")}::bigint[],
    ${column(times, "revokedAt")}::bigint[]
  ) AS next (id, used, revoked)
  WHERE token.id = next.id`;

/** A key that another node has kept meanwhile is a conflict, and starts the whole batch over. */
const insertKept = (sql: Sql, kept: Writes["kept"]): Statement => sql`
  INSERT INTO kept (owner, key, fingerprint, outcomes, until)
  SELECT * FROM unnest(
    ${column(kept, "owner")}::text[], ${column(kept, "key")}::text[],
    ${column(kept, "fingerprint")}::text[], ${column(kept, "outcomes")}::text[],
    ${column(kept, "keptUntil")}::bigint[]
  )`;

const deleteKept = (sql: Sql, kept: Writes["keptAgain"]): Statement => sql`
  DELETE FROM kept
  USING unnest(${column(kept, "owner")}::text[], ${column(kept, "key")}::text[])
    AS over (owner, key)
  WHERE kept.owner = over.owner AND kept.key = over.key`;

/** Of those whose time is over a few more than are kept, so that they never pile up. */
const sweepKept = (sql: Sql, kept: Writes["kept"]): Statement => sql`
  DELETE FROM kept WHERE (owner, key) IN (
    SELECT owner, key FROM kept WHERE until <= ${Math.min(...column(kept, "at"))}::bigint
    ORDER BY until LIMIT ${2 * kept.length + 10}::bigint FOR UPDATE SKIP LOCKED
  )`;
