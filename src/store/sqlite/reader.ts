// Answers reads synchronously on one connection: never stale, and from a cache while nothing has changed.

import type { Collection, Rules } from "../../model/collection.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import type { Query as Question } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token } from "../../model/token.ts";
import {
  type Feed,
  maxCandidates,
  type QueryResult,
  type Range,
  type Slice,
  type TooBroad,
} from "../store.ts";
import {
  CollectionReader,
  type CollectionRow,
  collectionColumns,
  toCollection,
} from "./collection-reader.ts";
import type { CommitCounter } from "./commit-counter.ts";
import type { Connection, Query } from "./connection.ts";
import { FileReferenceReader } from "./file-references.ts";
import { Moved, movedBatch } from "./moved.ts";
import { ResourceCache } from "./resource-cache.ts";
import { TokenReader } from "./token.ts";

/** When a cache is full it is cleared, which bounds the memory use. */
export const readerLimits = {
  resourceCacheBytes: 16 * 1024 * 1024,
  collectionReaders: 1_000,
  tokens: 10_000,
  maxCandidates,
};
/** With more new revisions than this, clearing the whole collection is cheaper than reading the changes. */
const maxRevisionsBehind = 1_000;
/** How often SQLite is queried anyway, because other programs do not update the commit counter. */
const maxQuietMs = 1_000;

export class Reader {
  readonly #connection: Connection;
  readonly #commitCounter: CommitCounter | undefined;
  readonly #dataVersion: Query<readonly [version: number]>;
  readonly #begin: Query<never>;
  readonly #end: Query<never>;
  readonly #ledger: Query<readonly [batch: number, tokens: number, drops: number]>;
  readonly #collection: Query<CollectionRow>;
  readonly #collections: Query<CollectionRow>;
  readonly #changed: Query<CollectionRow>;
  readonly #fileReferences: FileReferenceReader;
  readonly #tokenReader: TokenReader;

  readonly #limits: typeof readerLimits;
  readonly #cache: ResourceCache;
  readonly #collectionReaders = new Map<string, CollectionReader>();
  readonly #tokens = new Map<string, Token>();
  /** The state of the database that the caches reflect. */
  #seenVersion = 0;
  #seenBatch = 0;
  #seenTokens = 0;
  #seenDrops = 0;
  #seenCommit: number | undefined;
  #refreshedAt = 0;

  constructor(
    connection: Connection,
    commitCounter: CommitCounter | undefined,
    limits = readerLimits,
  ) {
    this.#connection = connection;
    this.#commitCounter = commitCounter;
    this.#limits = limits;
    this.#cache = new ResourceCache(limits.resourceCacheBytes);
    this.#dataVersion = connection.query("PRAGMA data_version");
    this.#begin = connection.query("BEGIN");
    this.#end = connection.query("END");
    this.#ledger = connection.query("SELECT batch, tokens, drops FROM ledger");
    const select = (batch: string) => `SELECT ${collectionColumns(batch)} FROM collections`;
    this.#collection = connection.query(`${select("0")} WHERE name = ?`);
    this.#collections = connection.query(`${select("0")} ORDER BY name`);
    this.#changed = connection.query(`${select("?1")} WHERE batch > ?1`);
    this.#fileReferences = new FileReferenceReader(connection);
    this.#tokenReader = new TokenReader(connection);
  }

  collection(name: string): Collection | undefined {
    this.#refresh();
    return this.#collectionReader(name)?.collection;
  }

  collections(): readonly Collection[] {
    this.#refresh();
    return this.#collections.all().map((row) => toCollection(row));
  }

  rules(collection: string): Rules | undefined {
    this.#refresh();
    return this.#collectionReader(collection)?.rules;
  }

  find(collection: string, id: string): Resource | undefined {
    this.#refresh();
    const collectionReader = this.#collectionReader(collection);
    if (!collectionReader) return undefined;
    const cache = this.#cache.find(collectionReader.key, id);
    if (cache) return cache;
    const resource = collectionReader.find(id);
    if (resource) this.#cache.add(collectionReader.key, resource);
    return resource;
  }

  slice(collection: string, range: Range): Slice | undefined {
    return this.#inSnapshot(collection, (collectionReader) => ({
      collection: collectionReader.collection,
      ...collectionReader.slice(range),
    }));
  }

  query(collection: string, query: Question): QueryResult | TooBroad | undefined {
    const { maxCandidates } = this.#limits;
    return this.#inSnapshot(collection, (collectionReader) =>
      collectionReader.query(query, maxCandidates),
    );
  }

  since(
    collection: string,
    position: FeedPosition | 0,
    limit: number,
    maxBytes?: number,
  ): Feed | "gone" | undefined {
    return this.#inSnapshot(collection, (collectionReader) =>
      collectionReader.since(position, limit, maxBytes),
    );
  }

  named(keys: readonly string[]): ReadonlySet<string> {
    this.#refresh();
    return this.#fileReferences.among(keys);
  }

  token(hash: string): Token | undefined {
    this.#refresh();
    const known = this.#tokens.get(hash);
    if (known) return known;
    const token = this.#tokenReader.find(hash);
    if (token) {
      if (this.#tokens.size === this.#limits.tokens) this.#tokens.clear();
      this.#tokens.set(hash, token);
    }
    return token;
  }

  tokens(): readonly Token[] {
    this.#refresh();
    return this.#tokenReader.all();
  }

  /** Makes the next read check for changes, even if the commit counter has not changed. */
  invalidate(): void {
    this.#seenVersion = 0;
    this.#seenCommit = undefined;
  }

  close(): void {
    this.#connection.close();
  }

  #inSnapshot<T>(
    collection: string,
    read: (collectionReader: CollectionReader) => T,
  ): T | undefined {
    this.#begin.run();
    try {
      this.#catchUp();
      const collectionReader = this.#collectionReader(collection);
      return collectionReader && read(collectionReader);
    } finally {
      this.#end.run();
    }
  }

  #collectionReader(name: string): CollectionReader | undefined {
    const known = this.#collectionReaders.get(name);
    if (known) return known;
    const row = this.#collection.one(name);
    if (!row) return undefined;
    if (this.#collectionReaders.size === this.#limits.collectionReaders) this.#clearReaders();
    const collectionReader = new CollectionReader(this.#connection, row);
    this.#collectionReaders.set(name, collectionReader);
    return collectionReader;
  }

  /** Clears the resources too: without its reader, changes in a collection are not noticed. */
  #clearReaders(): void {
    this.#collectionReaders.clear();
    this.#cache.clear();
  }

  /** Catches up when the commit counter has changed, and at least once per second. */
  #refresh(): void {
    const number = this.#commitCounter?.number;
    const now = performance.now();
    const isQuiet = number !== undefined && number === this.#seenCommit;
    if (isQuiet && now - this.#refreshedAt < maxQuietMs) return;
    this.#catchUp();
    this.#seenCommit = number;
    this.#refreshedAt = now;
  }

  /**
   * SQLite's data version changes when any other connection, in this process or another, has
   * committed. The following queries can see an even newer state: then the version has changed again
   * by the next call, and the same revisions are checked once more.
   */
  #catchUp(): void {
    const version = this.#dataVersion.one()?.[0] ?? 0;
    if (version === this.#seenVersion) return;
    const [batch, tokens, drops] = this.#ledger.one() ?? [0, 0, 0];
    if (batch === movedBatch) throw new Moved("the database is in another file now");
    if (tokens !== this.#seenTokens) this.#tokens.clear();
    if (drops !== this.#seenDrops) this.#removeDropped();
    for (const row of this.#changed.all(this.#seenBatch)) this.#update(row);
    this.#seenVersion = version;
    this.#seenBatch = batch;
    this.#seenTokens = tokens;
    this.#seenDrops = drops;
  }

  /** Removes readers of collections that were dropped or recreated. */
  #removeDropped(): void {
    for (const [name, { key }] of this.#collectionReaders) {
      if (this.#collection.one(name)?.[5] === key) continue;
      this.#collectionReaders.delete(name);
      this.#cache.deleteAllOf(key);
    }
  }

  #update(row: CollectionRow): void {
    const [name, revision] = row;
    const collectionReader = this.#collectionReaders.get(name);
    // The collection was recreated between two checks: the next check detects the drop.
    if (!collectionReader || collectionReader.key !== row[5]) return;
    const { key, collection } = collectionReader;
    if (revision - collection.revision > maxRevisionsBehind) this.#cache.deleteAllOf(key);
    else if (this.#cache.hasAnyOf(key))
      for (const id of collectionReader.changedSince(collection.revision))
        this.#cache.delete(key, id);
    collectionReader.update(row);
  }
}
