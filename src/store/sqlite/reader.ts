// Answers reads at once, on one connection: never stale, and from memory where nothing has moved.

import type { Collection, Rules } from "../../model/collection.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import type { Query as Question } from "../../model/list/query.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token } from "../../model/token.ts";
import {
  type Broad,
  type Feed,
  type Found,
  maxCandidates,
  type Range,
  type Slice,
} from "../store.ts";
import type { Bell } from "./bell.ts";
import type { Connection, Query } from "./connection.ts";
import { HotResources } from "./hot.ts";
import { Moved, movedBatch } from "./moved.ts";
import { NameReader } from "./named.ts";
import { type CollectionRow, collectionColumns, Shelf, toCollection } from "./shelf.ts";
import { TokenReader } from "./token.ts";

/** Beyond these, what is known is dropped and learnt anew: memory must have an end. */
export const readerLimits = {
  hotBytes: 16 * 1024 * 1024,
  shelves: 1_000,
  tokens: 10_000,
  maxCandidates,
};
/** So far behind, forgetting a whole collection costs less than asking what moved in it. */
const maxRevisionsBehind = 1_000;
/** A hand in the file that is not ours rings no bell: so often SQLite is asked all the same. */
const unrungMs = 1_000;

export class Reader {
  readonly #connection: Connection;
  readonly #bell: Bell | undefined;
  readonly #dataVersion: Query<readonly [version: number]>;
  readonly #begin: Query<never>;
  readonly #end: Query<never>;
  readonly #ledger: Query<readonly [batch: number, tokens: number, drops: number]>;
  readonly #collection: Query<CollectionRow>;
  readonly #collections: Query<CollectionRow>;
  readonly #moved: Query<CollectionRow>;
  readonly #nameReader: NameReader;
  readonly #tokenReader: TokenReader;

  readonly #limits: typeof readerLimits;
  readonly #hot: HotResources;
  readonly #shelves = new Map<string, Shelf>();
  readonly #tokens = new Map<string, Token>();
  /** How far the above is up to date. */
  #seenVersion = 0;
  #seenBatch = 0;
  #seenTokens = 0;
  #seenDrops = 0;
  #heard: number | undefined;
  #lookedAt = 0;

  constructor(connection: Connection, bell: Bell | undefined, limits = readerLimits) {
    this.#connection = connection;
    this.#bell = bell;
    this.#limits = limits;
    this.#hot = new HotResources(limits.hotBytes);
    this.#dataVersion = connection.query("PRAGMA data_version");
    this.#begin = connection.query("BEGIN");
    this.#end = connection.query("END");
    this.#ledger = connection.query("SELECT batch, tokens, drops FROM ledger");
    const select = (batch: string) => `SELECT ${collectionColumns(batch)} FROM collections`;
    this.#collection = connection.query(`${select("0")} WHERE name = ?`);
    this.#collections = connection.query(`${select("0")} ORDER BY name`);
    this.#moved = connection.query(`${select("?1")} WHERE batch > ?1`);
    this.#nameReader = new NameReader(connection);
    this.#tokenReader = new TokenReader(connection);
  }

  collection(name: string): Collection | undefined {
    this.#listen();
    return this.#shelf(name)?.collection;
  }

  collections(): readonly Collection[] {
    this.#listen();
    return this.#collections.all().map((row) => toCollection(row));
  }

  rules(collection: string): Rules | undefined {
    this.#listen();
    return this.#shelf(collection)?.rules;
  }

  find(collection: string, id: string): Resource | undefined {
    this.#listen();
    const shelf = this.#shelf(collection);
    if (!shelf) return undefined;
    const hot = this.#hot.find(shelf.key, id);
    if (hot) return hot;
    const resource = shelf.find(id);
    if (resource) this.#hot.keep(shelf.key, resource);
    return resource;
  }

  slice(collection: string, range: Range): Slice | undefined {
    return this.#inOneMoment(collection, (shelf) => ({
      collection: shelf.collection,
      ...shelf.slice(range),
    }));
  }

  query(collection: string, query: Question): Found | Broad | undefined {
    const { maxCandidates } = this.#limits;
    return this.#inOneMoment(collection, (shelf) => shelf.query(query, maxCandidates));
  }

  since(
    collection: string,
    position: FeedPosition | 0,
    limit: number,
    maxBytes?: number,
  ): Feed | "gone" | undefined {
    return this.#inOneMoment(collection, (shelf) => shelf.since(position, limit, maxBytes));
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

  #inOneMoment<T>(collection: string, read: (shelf: Shelf) => T): T | undefined {
    this.#begin.run();
    try {
      this.#catchUp();
      const shelf = this.#shelf(collection);
      return shelf && read(shelf);
    } finally {
      this.#end.run();
    }
  }

  #shelf(name: string): Shelf | undefined {
    const known = this.#shelves.get(name);
    if (known) return known;
    const row = this.#collection.one(name);
    if (!row) return undefined;
    if (this.#shelves.size === this.#limits.shelves) this.#forgetShelves();
    const shelf = new Shelf(this.#connection, row);
    this.#shelves.set(name, shelf);
    return shelf;
  }

  /** The resources go too: without its shelf, nobody follows what moves in a collection. */
  #forgetShelves(): void {
    this.#shelves.clear();
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
    for (const [name, { key }] of this.#shelves) {
      if (this.#collection.one(name)?.[5] === key) continue;
      this.#shelves.delete(name);
      this.#hot.forgetAllOf(key);
    }
  }

  #follow(row: CollectionRow): void {
    const [name, revision] = row;
    const shelf = this.#shelves.get(name);
    // A new one of the same name has come between two looks: the next look finds the drop.
    if (!shelf || shelf.key !== row[5]) return;
    const { key, collection } = shelf;
    if (revision - collection.revision > maxRevisionsBehind) this.#hot.forgetAllOf(key);
    else if (this.#hot.holdsAnyOf(key))
      for (const id of shelf.changedSince(collection.revision)) this.#hot.forget(key, id);
    shelf.update(row);
  }
}
