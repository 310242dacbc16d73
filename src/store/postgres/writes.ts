// Sends the rows that a batch writes, with one statement per part and table.

import { oldestStoredEpoch } from "../core/epochs.ts";
import type { TreeWrite } from "../core/position-tree.ts";
import type { EntryRow, Head, KeyRow, ResourceRow, Tombstone, WordRow } from "../core/rows.ts";
import type {
  CollectionWrite,
  DeletedCollection,
  EngineWrites,
  PartWrites,
  TokenTime,
} from "../core/writes.ts";
import {
  allOrFirstError,
  type Connection,
  column,
  rows,
  type Sql,
  type Statement,
} from "./connection.ts";
import { deleteByKeys } from "./delete-rows.ts";
import { deleteFiles, insertFiles } from "./files.ts";
import { insertFormerOwners, insertFormerStates } from "./former-states.ts";
import { computeTree, writeTree } from "./position-tree.ts";
import { deleteBuild, saveBuild } from "./save-build.ts";
import { deleteCodes, deleteTokens, insertTokens, revokeTokens, useTokens } from "./token.ts";

/** The rows of the position tree by part. */
export type Trees = ReadonlyMap<number, readonly TreeWrite[]>;

/** Removed positions change rows of the tree that have to be read first. */
export async function computeTrees(
  connection: Connection,
  { parts }: EngineWrites,
): Promise<Trees> {
  const changed = parts.filter(({ removedPositions }) => removedPositions.length > 0);
  if (changed.length === 0) return new Map();
  const trees = await connection.run((sql) =>
    allOrFirstError(
      changed.map(({ part, removedPositions }) => computeTree(sql, part, removedPositions)),
    ),
  );
  return new Map(changed.map(({ part }, index) => [part, trees[index] ?? []]));
}

/**
 * Sends all rows. Every statement finds its rows by key, so that a plan made while a table was small is
 * still good when it is large.
 */
export function sendWrites(
  sql: Sql,
  writes: EngineWrites,
  trees: Trees,
): readonly Promise<unknown>[] {
  const { deletedCollections, collections, parts } = writes;
  const { tokens, removedTokens, codeTimes, revokedTokens, usedTokens } = writes;
  const statements = [
    ...deletedCollections.flatMap((collection) => deleteCollection(sql, collection)),
    ...collections.map((collection) => writeCollection(sql, collection)),
    ...collections.flatMap(({ part, build, createdAt, isDefined }) =>
      createdAt === undefined && isDefined ? [saveBuild(sql, part, build)] : [],
    ),
    ...parts.flatMap((part) => [
      ...writePart(sql, part),
      ...writeTree(sql, part.part, trees.get(part.part) ?? []),
    ]),
    tokens.length > 0 && insertTokens(sql, tokens),
    ...(removedTokens.length > 0 ? deleteTokens(sql, removedTokens) : []),
    codeTimes.length > 0 && deleteCodes(sql, codeTimes),
    revokedTokens.length > 0 && revokeTokens(sql, revokedTokens),
    ...[tokenUses(tokens), usedTokens].map((uses) => uses.length > 0 && useTokens(sql, uses)),
  ];
  return statements.filter((statement) => statement !== false).map(rows);
}

/** A token that is copied from elsewhere may have been used there. */
const tokenUses = (tokens: EngineWrites["tokens"]): readonly TokenTime[] =>
  tokens.flatMap(({ id, usedAt }) => (usedAt === null ? [] : [{ id, at: usedAt }]));

/** The other rows of the part are deleted later (see deleted-parts.ts). */
const deleteCollection = (sql: Sql, { name, part }: DeletedCollection): readonly Statement[] => [
  sql`DELETE FROM collections WHERE name = ${name} AND part = ${part}::bigint`,
  sql`DELETE FROM heads WHERE part = ${part}::bigint`,
  deleteBuild(sql, part),
  sql`INSERT INTO deleted_parts (part) VALUES (${part}::bigint)`,
];

/** When another node has created the collection in the meantime, the conflict restarts the whole batch. */
const writeCollection = (
  sql: Sql,
  { name, part, definition, version, createdAt, referrers }: CollectionWrite,
): Statement =>
  createdAt === undefined
    ? sql`
        UPDATE collections SET definition = ${definition}, version = ${version}::bigint,
          referrers = ${JSON.stringify(referrers)}
        WHERE name = ${name} AND part = ${part}::bigint`
    : sql`
        INSERT INTO collections (name, part, definition, version, created, referrers)
        VALUES (${name}, ${part}::bigint, ${definition}, ${version}::bigint, ${createdAt}::bigint,
          ${JSON.stringify(referrers)})`;

function writePart(sql: Sql, writes: PartWrites): readonly Statement[] {
  const { part, head, isNew, deleted, updated, inserted, keys, endedEpoch } = writes;
  const { tombstones, deletedTombstones, formerOwners, formerStates } = writes;
  const { deletedFiles, files } = writes;
  const statements = [
    deleted.length > 0 && deleteResources(sql, part, deleted),
    updated.length + inserted.length > 0 && putResources(sql, part, [...updated, ...inserted]),
    deletedTombstones.length > 0 && deleteTombstones(sql, part, deletedTombstones),
    tombstones.length > 0 && putTombstones(sql, part, tombstones),
    formerOwners.length > 0 && insertFormerOwners(sql, part, formerOwners),
    formerStates.length > 0 && insertFormerStates(sql, part, formerStates),
    ...writeIndexes(sql, part, writes),
    deletedFiles.length > 0 && deleteFiles(sql, part, deletedFiles),
    files.length > 0 && insertFiles(sql, part, files),
    keys.length > 0 && deleteExpiredKeys(sql, part, head.keyClock.now, 2 * keys.length + 10),
    keys.length > 0 && putKeys(sql, part, keys),
    endedEpoch && endEpoch(sql, part, endedEpoch),
    endedEpoch && deleteOldEpochs(sql, part, oldestStoredEpoch(head.epoch)),
    isNew ? insertHead(sql, part, head) : updateHead(sql, part, head),
  ];
  return statements.filter((statement) => statement !== false && statement !== undefined);
}

type IndexRows = Pick<PartWrites, "deletedEntries" | "entries" | "deletedWords" | "words">;

function writeIndexes(sql: Sql, part: number, writes: IndexRows): readonly Statement[] {
  const { deletedEntries, entries, deletedWords, words } = writes;
  const statements = [
    deletedEntries.length > 0 && deleteEntries(sql, part, deletedEntries),
    entries.length > 0 && insertEntries(sql, part, entries),
    deletedWords.length > 0 && deleteWords(sql, part, deletedWords),
    words.length > 0 && putWords(sql, part, words),
  ];
  return statements.filter((statement) => statement !== false);
}

const deleteResources = (sql: Sql, part: number, seqs: readonly number[]): Statement =>
  deleteByKeys(sql, part, "resources", { seq: sql`${seqs}::bigint[]` });

/** With `from`, an item of a FROM list, nothing is written when it has no row. */
type From = Statement;

const putResources = (sql: Sql, part: number, resources: readonly ResourceRow[]): Statement => sql`
  INSERT INTO resources
    (part, seq, id, revision, created, updated, fields, owner, files, shares_date, checksum)
  SELECT ${part}::bigint, next.* FROM unnest(
    ${column(resources, "seq")}::bigint[], ${column(resources, "id")}::text[],
    ${column(resources, "revision")}::bigint[], ${column(resources, "createdAt")}::bigint[],
    ${column(resources, "updatedAt")}::bigint[], ${column(resources, "fields")}::text[],
    ${column(resources, "owner")}::text[], ${column(resources, "files")}::text[],
    ${column(resources, "sharesDate")}::bigint[], ${column(resources, "checksum")}::bigint[]
  ) AS next
  ON CONFLICT (part, seq) DO UPDATE
  SET revision = excluded.revision, updated = excluded.updated, fields = excluded.fields,
    owner = excluded.owner, files = excluded.files, shares_date = excluded.shares_date,
    checksum = excluded.checksum`;

const deleteTombstones = (sql: Sql, part: number, ids: readonly string[]): Statement =>
  deleteByKeys(sql, part, "tombstones", { id: sql`${ids}::text[]` });

const putTombstones = (sql: Sql, part: number, removals: readonly Tombstone[]): Statement => sql`
  INSERT INTO tombstones (part, id, revision, removed, owner)
  SELECT ${part}::bigint, * FROM unnest(
    ${column(removals, "id")}::text[], ${column(removals, "revision")}::bigint[],
    ${column(removals, "removedAt")}::bigint[], ${column(removals, "owner")}::text[]
  )
  ON CONFLICT (part, id) DO UPDATE
  SET revision = excluded.revision, removed = excluded.removed, owner = excluded.owner`;

export const insertEntries = (
  sql: Sql,
  part: number,
  entries: readonly EntryRow[],
  from: From = sql``,
): Statement => sql`
  INSERT INTO entries (part, field, key, seq)
  SELECT ${part}::bigint, next.* FROM ${from} unnest(
    ${column(entries, "field")}::text[], ${column(entries, "key")}::text[],
    ${column(entries, "seq")}::bigint[]
  ) AS next`;

const deleteEntries = (sql: Sql, part: number, entries: readonly EntryRow[]): Statement =>
  deleteByKeys(sql, part, "entries", {
    field: sql`${column(entries, "field")}::text[]`,
    key: sql`${column(entries, "key")}::text[]`,
    seq: sql`${column(entries, "seq")}::bigint[]`,
  });

export const insertWords = (
  sql: Sql,
  part: number,
  words: readonly WordRow[],
  from: From = sql``,
): Statement => sql`
  INSERT INTO words (part, word, rank, seq)
  SELECT ${part}::bigint, word, -weight, seq FROM ${from} unnest(
    ${column(words, "word")}::text[], ${column(words, "weight")}::bigint[],
    ${column(words, "seq")}::bigint[]
  ) AS next (word, weight, seq)`;

/** Inserts words that a build may have inserted already. */
export const putWords = (sql: Sql, part: number, words: readonly WordRow[]): Statement =>
  sql`${insertWords(sql, part, words)} ON CONFLICT DO NOTHING`;

const deleteWords = (sql: Sql, part: number, words: readonly WordRow[]): Statement =>
  deleteByKeys(sql, part, "words", {
    word: sql`${column(words, "word")}::text[]`,
    rank: sql`${words.map(({ weight }) => -weight)}::bigint[]`,
    seq: sql`${column(words, "seq")}::bigint[]`,
  });

const putKeys = (sql: Sql, part: number, keys: readonly KeyRow[]): Statement => sql`
  INSERT INTO idempotency_keys (part, owner, key, fingerprint, outcomes, expires)
  SELECT ${part}::bigint, * FROM unnest(
    ${column(keys, "owner")}::text[], ${column(keys, "key")}::text[],
    ${column(keys, "fingerprint")}::text[], ${column(keys, "outcomes")}::text[],
    ${column(keys, "expiresAt")}::bigint[]
  )
  ON CONFLICT (part, owner, key) DO UPDATE
  SET fingerprint = excluded.fingerprint, outcomes = excluded.outcomes, expires = excluded.expires`;

/** Deletes more expired keys than are stored, so that they never pile up. */
const deleteExpiredKeys = (sql: Sql, part: number, now: number, limit: number): Statement => sql`
  DELETE FROM idempotency_keys
  WHERE part + 0 = ${part}::bigint AND ctid = ANY (ARRAY (
    SELECT ctid FROM idempotency_keys
    WHERE part = ${part}::bigint AND expires <= ${now}::bigint
    ORDER BY expires LIMIT ${limit}::bigint
  ))`;

const endEpoch = (
  sql: Sql,
  part: number,
  { epoch, last }: NonNullable<PartWrites["endedEpoch"]>,
): Statement => sql`
  INSERT INTO epochs (part, epoch, last)
  VALUES (${part}::bigint, ${epoch}::bigint, ${last}::bigint)`;

const deleteOldEpochs = (sql: Sql, part: number, oldest: number): Statement => sql`
  DELETE FROM epochs WHERE part = ${part}::bigint AND epoch < ${oldest}::bigint`;

const insertHead = (sql: Sql, part: number, head: Head): Statement => sql`
  INSERT INTO heads
    (part, revision, seq, total, updated, shares_date, version, epoch, key_now, key_seen,
     bytes)
  VALUES (
    ${part}::bigint, ${head.revision}::bigint, ${head.seq}::bigint, ${head.total}::bigint,
    ${head.updatedAt}::bigint, ${head.sharesDate}::bigint, ${head.version}::bigint,
    ${head.epoch}::bigint, ${head.keyClock.now}::bigint, ${head.keyClock.seen}::bigint,
    ${head.bytes}::bigint
  )`;

const updateHead = (sql: Sql, part: number, head: Head): Statement => sql`
  UPDATE heads
  SET ${countersOf(sql, head)}, version = ${head.version}::bigint, epoch = ${head.epoch}::bigint,
    key_now = ${head.keyClock.now}::bigint, key_seen = ${head.keyClock.seen}::bigint
  WHERE part = ${part}::bigint`;

/** The columns that change with every write to a resource. */
export const countersOf = (sql: Sql, head: Head): Statement => sql`
  revision = ${head.revision}::bigint, seq = ${head.seq}::bigint, total = ${head.total}::bigint,
  updated = ${head.updatedAt}::bigint, shares_date = ${head.sharesDate}::bigint,
  bytes = ${head.bytes}::bigint`;
