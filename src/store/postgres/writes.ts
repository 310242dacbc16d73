// Defines the rows that a batch writes, and sends them with one statement per table.

import type { Token } from "../../model/token.ts";
import type { KeyClock } from "../core/key-clock.ts";
import { column, rows, type Sql, type Statement } from "./connection.ts";
import { addRemovedPositions, type RemovedPosition } from "./position-tree.ts";

export interface Writes {
  readonly collections: CollectionWrite[];
  readonly epochs: EpochWrite[];
  readonly resources: ResourceWrite[];
  readonly deletedEntries: EntryWrite[];
  readonly entries: EntryWrite[];
  readonly deletedWords: ResourceRef[];
  readonly words: WordsWrite[];
  readonly deletedFiles: FileWrite[];
  readonly files: FileWrite[];
  readonly removedPositions: RemovedPosition[];
  readonly tokens: Token[];
  readonly tokenTimes: Pick<Token, "id" | "usedAt" | "revokedAt">[];
  readonly storedKeys: StoredKeyWrite[];
  /** The expired keys that `storedKeys` replaces. */
  readonly expiredNames: string[];
  /** At most one. */
  readonly keyClocks: KeyClockWrite[];
}

interface KeyClockWrite extends KeyClock {
  /** The former value of `seen`; the update does nothing when another node has moved the clock. */
  readonly before: number;
}

interface CollectionWrite {
  readonly key: number;
  readonly revision: number;
  readonly seq: number;
  readonly total: number;
  readonly updated: number;
  /** Null leaves the definition unchanged. */
  readonly definition: string | null;
  readonly defined: number;
  readonly epoch: number;
  readonly sharesDate: number;
}

/** The last revision of an epoch of a collection. */
interface EpochWrite {
  readonly collection: number;
  readonly epoch: number;
  readonly last: number;
}

export interface ResourceWrite {
  readonly collection: number;
  readonly id: string;
  /** Null, as are the fields, when the resource is removed. */
  readonly seq: number | null;
  readonly revision: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly fields: string | null;
  readonly owner: string | null;
  readonly parts: string | null;
  readonly storedSharesDate: number;
  /** Null when the resource is removed. */
  readonly checksum: number | null;
}

/** Identifies a resource by its collection and seq. */
interface ResourceRef {
  readonly collection: number;
  readonly seq: number;
}

export interface EntryWrite extends ResourceRef {
  readonly field: string;
  readonly key: string;
}

interface WordsWrite extends ResourceRef {
  readonly vector: string;
}

/** A file that a resource references. */
interface FileWrite {
  readonly collection: number;
  readonly key: string;
}

export interface StoredKeyWrite {
  readonly name: string;
  readonly fingerprint: string;
  readonly outcomes: string;
  /** By the clock in ../key-clock.ts. */
  readonly at: number;
  readonly expiresAt: number;
}

type Rows<K extends keyof Writes> = readonly Writes[K][number][];

export const noWrites = (): Writes => ({
  collections: [],
  epochs: [],
  resources: [],
  deletedEntries: [],
  entries: [],
  deletedWords: [],
  words: [],
  deletedFiles: [],
  files: [],
  removedPositions: [],
  tokens: [],
  tokenTimes: [],
  storedKeys: [],
  expiredNames: [],
  keyClocks: [],
});

export const isEmpty = (writes: Writes): boolean =>
  Object.values(writes).every(({ length }) => length === 0);

/**
 * Sends all rows. Every statement finds its rows by key, so that a plan made while a table was small is
 * still good when it is large.
 */
export function send(sql: Sql, writes: Writes): readonly Promise<unknown>[] {
  const { resources, removedPositions, tokens, tokenTimes, collections, storedKeys, expiredNames } =
    writes;
  const { epochs, keyClocks, deletedEntries, entries, deletedWords, words, deletedFiles, files } =
    writes;
  const statements = [
    storedKeys.length > 0 && deleteExpiredKeys(sql, storedKeys),
    expiredNames.length > 0 && deleteKeys(sql, expiredNames),
    storedKeys.length > 0 && insertKeys(sql, storedKeys),
    resources.length > 0 && putResources(sql, resources),
    deletedEntries.length > 0 && deleteEntries(sql, deletedEntries),
    entries.length > 0 && insertEntries(sql, entries),
    deletedWords.length > 0 && deleteWords(sql, deletedWords),
    words.length > 0 && putWords(sql, words),
    deletedFiles.length > 0 && deleteFileReferences(sql, deletedFiles),
    files.length > 0 && insertFileReferences(sql, files),
    removedPositions.length > 0 && addRemovedPositions(sql, removedPositions),
    tokens.length > 0 && insertTokens(sql, tokens),
    tokenTimes.length > 0 && updateTokens(sql, tokenTimes),
    epochs.length > 0 && endEpochs(sql, epochs),
    collections.length > 0 && updateCollections(sql, collections),
    // Last, because all nodes update this row: it stays locked only until the commit.
    ...keyClocks.map((clock) => moveKeyClock(sql, clock)),
  ];
  return statements.filter((statement) => statement !== false).map(rows);
}

const putResources = (sql: Sql, resources: Rows<"resources">): Statement => sql`
  INSERT INTO resources
    (collection, id, seq, revision, created, updated, fields, owner, parts, shares_date, checksum)
  SELECT * FROM unnest(
    ${column(resources, "collection")}::bigint[], ${column(resources, "id")}::text[],
    ${column(resources, "seq")}::bigint[], ${column(resources, "revision")}::bigint[],
    ${column(resources, "createdAt")}::bigint[], ${column(resources, "updatedAt")}::bigint[],
    ${column(resources, "fields")}::text[], ${column(resources, "owner")}::text[],
    ${column(resources, "parts")}::text[], ${column(resources, "storedSharesDate")}::bigint[],
    ${column(resources, "checksum")}::bigint[]
  )
  ON CONFLICT (collection, id) DO UPDATE
  SET seq = excluded.seq, revision = excluded.revision, created = excluded.created,
    updated = excluded.updated, fields = excluded.fields, owner = excluded.owner,
    parts = excluded.parts, shares_date = excluded.shares_date, checksum = excluded.checksum`;

const insertEntries = (sql: Sql, entries: Rows<"entries">): Statement => sql`
  INSERT INTO entries (collection, field, key, seq) SELECT * FROM ${entryRows(sql, entries)}`;

const deleteEntries = (sql: Sql, entries: Rows<"deletedEntries">): Statement => sql`
  DELETE FROM entries AS entry
  USING ${entryRows(sql, entries)} AS gone (collection, field, key, seq)
  WHERE entry.collection = gone.collection AND entry.field = gone.field AND entry.key = gone.key
    AND entry.seq = gone.seq`;

const entryRows = (sql: Sql, entries: readonly EntryWrite[]): Statement => sql`
  unnest(
    ${column(entries, "collection")}::bigint[], ${column(entries, "field")}::text[],
    ${column(entries, "key")}::text[], ${column(entries, "seq")}::bigint[]
  )`;

const putWords = (sql: Sql, words: Rows<"words">): Statement => sql`
  INSERT INTO words (collection, seq, vector)
  SELECT collection, seq, vector::tsvector
  FROM unnest(
    ${column(words, "collection")}::bigint[], ${column(words, "seq")}::bigint[],
    ${column(words, "vector")}::text[]
  ) AS next (collection, seq, vector)
  ON CONFLICT (collection, seq) DO UPDATE SET vector = excluded.vector`;

const deleteWords = (sql: Sql, refs: Rows<"deletedWords">): Statement => sql`
  DELETE FROM words
  USING unnest(${column(refs, "collection")}::bigint[], ${column(refs, "seq")}::bigint[])
    AS gone (collection, seq)
  WHERE words.collection = gone.collection AND words.seq = gone.seq`;

const insertFileReferences = (sql: Sql, files: Rows<"files">): Statement => sql`
  INSERT INTO files (collection, key)
  SELECT * FROM unnest(${column(files, "collection")}::bigint[], ${column(files, "key")}::text[])
  ON CONFLICT DO NOTHING`;

const deleteFileReferences = (sql: Sql, files: Rows<"deletedFiles">): Statement => sql`
  DELETE FROM files AS file
  USING unnest(${column(files, "collection")}::bigint[], ${column(files, "key")}::text[])
    AS gone (collection, key)
  WHERE file.collection = gone.collection AND file.key = gone.key`;

const updateCollections = (sql: Sql, moved: Rows<"collections">): Statement => sql`
  UPDATE collections AS collection
  SET revision = next.revision, seq = next.seq, total = next.total, updated = next.updated,
    definition = coalesce(next.definition, collection.definition), defined = next.defined,
    epoch = next.epoch, shares_date = next.shares_date
  FROM unnest(
    ${column(moved, "key")}::bigint[], ${column(moved, "revision")}::bigint[],
    ${column(moved, "seq")}::bigint[], ${column(moved, "total")}::bigint[],
    ${column(moved, "updated")}::bigint[], ${column(moved, "definition")}::text[],
    ${column(moved, "defined")}::bigint[], ${column(moved, "epoch")}::bigint[],
    ${column(moved, "sharesDate")}::bigint[]
  ) AS next (key, revision, seq, total, updated, definition, defined, epoch, shares_date)
  WHERE collection.key = next.key AND collection.key = ANY (${column(moved, "key")}::bigint[])`;

const endEpochs = (sql: Sql, epochs: Rows<"epochs">): Statement => sql`
  INSERT INTO epochs (collection, epoch, last)
  SELECT * FROM unnest(
    ${column(epochs, "collection")}::bigint[], ${column(epochs, "epoch")}::bigint[],
    ${column(epochs, "last")}::bigint[]
  )`;

const insertTokens = (sql: Sql, tokens: Rows<"tokens">): Statement => sql`
  INSERT INTO tokens (id, hash, name, scopes, created, expires, used, revoked, subject)
  SELECT * FROM unnest(
    ${column(tokens, "id")}::text[], ${column(tokens, "hash")}::text[],
    ${column(tokens, "name")}::text[], ${tokens.map(({ scopes }) => JSON.stringify(scopes))}::text[],
    ${column(tokens, "createdAt")}::bigint[], ${column(tokens, "expiresAt")}::bigint[],
    ${column(tokens, "usedAt")}::bigint[], ${column(tokens, "revokedAt")}::bigint[],
    ${column(tokens, "subject")}::text[]
  )`;

const updateTokens = (sql: Sql, times: Rows<"tokenTimes">): Statement => sql`
  UPDATE tokens AS token
  SET used = greatest(token.used, next.used), revoked = coalesce(token.revoked, next.revoked)
  FROM unnest(
    ${column(times, "id")}::text[], ${column(times, "usedAt")}::bigint[],
    ${column(times, "revokedAt")}::bigint[]
  ) AS next (id, used, revoked)
  WHERE token.id = next.id AND token.id = ANY (${column(times, "id")}::text[])`;

/** When another node has stored the same key in the meantime, the conflict restarts the whole batch. */
const insertKeys = (sql: Sql, storedKeys: Rows<"storedKeys">): Statement => sql`
  INSERT INTO kept (name, fingerprint, outcomes, until)
  SELECT * FROM unnest(
    ${column(storedKeys, "name")}::text[], ${column(storedKeys, "fingerprint")}::text[],
    ${column(storedKeys, "outcomes")}::text[], ${column(storedKeys, "expiresAt")}::bigint[]
  )`;

const moveKeyClock = (sql: Sql, { now, seen, before }: KeyClockWrite): Statement => sql`
  UPDATE key_clock SET now = ${now}::bigint, seen = ${seen}::bigint
  WHERE one AND seen = ${before}::bigint`;

const deleteKeys = (sql: Sql, names: readonly string[]): Statement => sql`
  DELETE FROM kept WHERE name = ANY (${names}::text[])`;

/** Deletes more expired keys than are stored, so that they never pile up. */
function deleteExpiredKeys(sql: Sql, storedKeys: Rows<"storedKeys">): Statement {
  const now = column(storedKeys, "at").reduce((one, other) => Math.min(one, other));
  return sql`
    DELETE FROM kept WHERE name = ANY (ARRAY(
      SELECT name FROM kept WHERE until <= ${now}::bigint
      ORDER BY until LIMIT ${2 * storedKeys.length + 10}::bigint FOR UPDATE SKIP LOCKED
    ))`;
}
