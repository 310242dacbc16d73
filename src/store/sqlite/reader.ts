// Answers reads at once, on one connection: never stale, and from memory where nothing has moved.

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

/** Beyond these, what is known is dropped and learnt anew: memory must have an end. */
export const readerLimits = {
  resourceCacheBytes: 16 * 1024 * 1024,
  collectionReaders: 1_000,
  tokens: 10_000,
  maxCandidates,
};
/** So far behind, forgetting a whole collection costs less than asking what moved in it. */
const maxRevisionsBehind = 1_000;
/** A hand in the file that is not ours rings no bell: so often SQLite is asked all the same. */
const unrungMs = 1_000;

export class Reader {
  readonly #connection: Connection;
  readonly #bell: CommitCounter | undefined;
  readonly #dataVersion: Query<readonly [version: number]>;
  readonly #begin: Query<never>;
  readonly #end: Query<never>;
  readonly #ledger: Query<readonly [batch: number, tokens: number, drops: number]>;
  readonly #collection: Query<CollectionRow>;
  readonly #collections: Query<CollectionRow>;
  readonly #moved: Query<CollectionRow>;
  readonly #nameReader: FileReferenceReader;
  readonly #tokenReader: TokenReader;

  readonly #limits: typeof readerLimits;
  readonly #hot: ResourceCache;
  readonly #collectionReaders = new Map<string, CollectionReader>();
  readonly #tokens = new Map<string, Token>();
  /** How far the above is up to date. */
  #seenVersion = 0;
  #seenBatch = 0;
  #seenTokens = 0;
  #seenDrops = 0;
  #heard: number | undefined;
  #lookedAt = 0;

  constructor(connection: Connection, bell: CommitCounter | undefined, limits = readerLimits) {
    this.#connection = connection;
    this.#bell = bell;
    this.#limits = limits;
    this.#hot = new ResourceCache(limits.resourceCacheBytes);
    this.#dataVersion = connection.query("PRAGMA data_version");
    this.#begin = connection.query("BEGIN");
    this.#end = connection.query("END");
    this.#ledger = connection.query("SELECT batch, tokens, drops FROM ledger");
    const select = (batch: string) => `SELECT ${collectionColumns(batch)} FROM collections`;
    this.#collection = connection.query(`${select("0")} WHERE name = ?`);
    this.#collections = connection.query(`${select("0")} ORDER BY name`);
    this.#moved = connection.query(`${select("?1")} WHERE batch > ?1`);
    this.#nameReader = new FileReferenceReader(connection);
    this.#tokenReader = new TokenReader(connection);
  }

  collection(name: string): Collection | undefined {
    this.#listen();
    return this.#collectionReader(name)?.collection;
  }

  collections(): readonly Collection[] {
    this.#listen();
    return this.#collections.all().map((row) => toCollection(row));
  }

  rules(collection: string): Rules | undefined {
    this.#listen();
    return this.#collectionReader(collection)?.rules;
  }

  find(collection: string, id: string): Resource | undefined {
    this.#listen();
    const collectionReader = this.#collectionReader(collection);
    if (!collectionReader) return undefined;
    const hot = this.#hot.find(collectionReader.key, id);
    if (hot) return hot;
    const resource = collectionReader.find(id);
    if (resource) this.#hot.keep(collectionReader.key, resource);
    return resource;
  }

  slice(collection: string, range: Range): Slice | undefined {
    return this.#inOneMoment(collection, (collectionReader) => ({
      collection: collectionReader.collection,
      ...collectionReader.slice(range),
    }));
  }

  query(collection: string, query: Question): QueryResult | TooBroad | undefined {
    const { maxCandidates } = this.#limits;
    return this.#inOneMoment(collection, (collectionReader) =>
      collectionReader.query(query, maxCandidates),
    );
  }

  since(
    collection: string,
    position: FeedPosition | 0,
    limit: number,
    maxBytes?: number,
  ): Feed | "gone" | undefined {
    return this.#inOneMoment(collection, (collectionReader) =>
      collectionReader.since(position, limit, maxBytes),
    );
  }

  named(keys: readonly string[]): ReadonlySet<string> {
    this.#listen();
    return this.#nameReader.among(keys);
  }

  token(hash: string): Token | undefined {
    this.#listen();
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
    this.#listen();
    return this.#tokenReader.all();
  }

  /** Has the next read ask what has moved, although no bell was rung. */
  distrust(): void {
    this.#seenVersion = 0;
    this.#heard = undefined;
  }

  close(): void {
    this.#connection.close();
  }

  #inOneMoment<T>(
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
    if (this.#collectionReaders.size === this.#limits.collectionReaders) this.#forgetShelves();
    const collectionReader = new CollectionReader(this.#connection, row);
    this.#collectionReaders.set(name, collectionReader);
    return collectionReader;
  }

  /** The resources go too: without its shelf, nobody follows what moves in a collection. */
  #forgetShelves(): void {
    this.#collectionReaders.clear();
    this.#hot.forgetAll();
  }

  /** Catches up when the bell was rung; what rings none is found within a second. */
  #listen(): void {
    const number = this.#bell?.number;
    const now = performance.now();
    const isQuiet = number !== undefined && number === this.#heard;
    if (isQuiet && now - this.#lookedAt < unrungMs) return;
    this.#catchUp();
    this.#heard = number;
    this.#lookedAt = now;
  }

  /**
   * SQLite's data version moves when any other connection, in this process or another, has
   * committed. What is read after it may be newer still: then the version has moved again by the
   * next call, and the same revisions are looked at once more.
   */
  #catchUp(): void {
    const version = this.#dataVersion.one()?.[0] ?? 0;
    if (version === this.#seenVersion) return;
    const [batch, tokens, drops] = this.#ledger.one() ?? [0, 0, 0];
    if (batch === movedBatch) throw new Moved("the database is in another file now");
    if (tokens !== this.#seenTokens) this.#tokens.clear();
    if (drops !== this.#seenDrops) this.#forgetDropped();
    for (const row of this.#moved.all(this.#seenBatch)) this.#follow(row);
    this.#seenVersion = version;
    this.#seenBatch = batch;
    this.#seenTokens = tokens;
    this.#seenDrops = drops;
  }

  /** One that is gone, and one of the same name that took its place, are not in our hands. */
  #forgetDropped(): void {
    for (const [name, { key }] of this.#collectionReaders) {
      if (this.#collection.one(name)?.[5] === key) continue;
      this.#collectionReaders.delete(name);
      this.#hot.forgetAllOf(key);
    }
  }

  #follow(row: CollectionRow): void {
    const [name, revision] = row;
    const collectionReader = this.#collectionReaders.get(name);
    // A new one of the same name has come between two looks: the next look finds the drop.
    if (!collectionReader || collectionReader.key !== row[5]) return;
    const { key, collection } = collectionReader;
    if (revision - collection.revision > maxRevisionsBehind) this.#hot.forgetAllOf(key);
    else if (this.#hot.holdsAnyOf(key))
      for (const id of collectionReader.changedSince(collection.revision))
        this.#hot.forget(key, id);
    collectionReader.update(row);
  }
}
