// Implements the store on a Postgres database, which many nodes can share.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Collection, Rules } from "../../model/collection.ts";
import type { Feed, FeedRange, InvalidPosition } from "../../model/feed.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import { Outage } from "../../model/outage.ts";
import type { IndexEntry } from "../../model/query/index-plan.ts";
import { isRange, type Query } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token } from "../../model/token.ts";
import { CommitListeners } from "../commit-listeners.ts";
import { progressOf } from "../core/index-build.ts";
import { withCollection } from "../core/stored-resource.ts";
import type { Erased, Erasure, ScrubOptions, ScrubState } from "../erasure.ts";
import {
  type BuildProgress,
  type Change,
  isOutdated,
  type Outcome,
  type QueryResult,
  type Range,
  type ReadOptions,
  type Slice,
  type Store,
  type TokenRange,
} from "../store.ts";
import { Background } from "./background.ts";
import { BatchWriter } from "./batch.ts";
import { type CollectionRow, findCollectionRows } from "./collections.ts";
import { Connection, type Sql } from "./connection.ts";
import { changesCachedData, Directory, type Versioned } from "./directory.ts";
import { messageOf, outageOf } from "./errors.ts";
import { readFeed, readSecret } from "./feed.ts";
import { findReferencedFiles, readFileBytes } from "./files.ts";
import { channelOf, Listener } from "./listener.ts";
import { cannotOpen, prepareServers } from "./open.ts";
import { type PostgresOptions, type PostgresSettings, withDefaults } from "./options.ts";
import { Pool } from "./pool.ts";
import { runQuery } from "./query.ts";
import { QueryPool } from "./query-pool.ts";
import { readSlice } from "./resource.ts";
import { ResourceFinder } from "./resource-finder.ts";
import { readWrittenBy } from "./schema.ts";
import { SchemaGuard } from "./schema-guard.ts";
import { countTokens, findToken, findTokens, listTokens } from "./token.ts";
import { TtlCache } from "./ttl-cache.ts";

/** Opens the store, and creates the tables when needed. Rejects with a readable message when it cannot. */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const settings = withDefaults(options);
  try {
    await prepareServers(settings);
    const store = new PostgresStore(settings);
    await store.listen();
    return store;
  } catch (error) {
    throw cannotOpen(settings, error);
  }
}

class PostgresStore implements Store {
  readonly #pool: Pool;
  readonly #writer: BatchWriter;
  readonly #listener: Listener;
  /** The listener of notifications follows the commits of other nodes. */
  readonly #listeners = new CommitListeners(() => () => undefined);
  readonly #tokens: TtlCache<Token>;
  readonly #directory: Directory;
  readonly #finder: ResourceFinder;
  readonly #background: Background;
  readonly #guard: SchemaGuard;
  #secret: Promise<string> | undefined;
  readonly #queries: QueryPool;
  #probe: Promise<string | undefined> | undefined;
  #isClosed = false;

  constructor(settings: PostgresSettings) {
    const { url, readUrl, readers: size, cacheMs: maxAgeMs } = settings;
    const open = () => Connection.open({ ...settings, url: readUrl ?? url });
    const pool = new Pool(open, size, settings.metrics);
    this.#pool = pool;
    this.#guard = new SchemaGuard(() => pool.read(readWrittenBy), settings.onProgress);
    this.#queries = new QueryPool(settings, pool);
    this.#tokens = new TtlCache((hashes) => pool.read((sql) => findTokens(sql, hashes)), {
      size,
      maxAgeMs,
    });
    this.#directory = new Directory(pool, { maxInFlight: size, maxAgeMs });
    this.#finder = new ResourceFinder(pool, this.#directory);
    this.#listener = new Listener(
      (onNotify) => Connection.open({ ...settings, onNotify }),
      channelOf(settings.schema),
      (notification) => (notification === "cached" ? this.#invalidate() : this.#listeners.notify()),
      settings.checkMs,
    );
    const waitsForReplica = readUrl !== undefined;
    const writer = new BatchWriter({
      open: (limits) => Connection.open({ ...settings, waitsForReplica, ...limits }),
      maxConnections: settings.writers,
      headAgeMs: maxAgeMs,
      fileQuotas: settings.fileQuotas,
      committer: settings.committer,
      notify: (sql) => this.#listener.notify(sql),
      onFailover: () => this.#reconnect(waitsForReplica),
    });
    this.#writer = writer;
    this.#background = new Background(
      {
        run: (work) => this.#guard.write(() => writer.run(work)),
        commit: (changes) => this.commit(changes),
        notify: (sql) => this.#listener.notify(sql),
        report: settings.onError,
      },
      settings,
    );
  }

  listen(): Promise<void> {
    return this.#listener.listen();
  }

  collection = (name: string): Promise<Collection | undefined> => this.#directory.collection(name);
  collections = (): Promise<readonly Collection[]> => this.#directory.collections();

  rules(collection: string): MaybePromise<Rules | undefined> {
    return this.#directory.rules(collection);
  }

  find(collection: string, id: string): Promise<Resource | undefined> {
    return this.#finder.find(collection, id);
  }

  findAll(collection: string, ids: readonly string[]): Promise<readonly (Resource | undefined)[]> {
    return this.#finder.findAll(collection, ids);
  }

  findUnique(collection: string, entry: IndexEntry): Promise<Resource | undefined> {
    return this.#finder.findUnique(collection, entry);
  }

  slice(collection: string, range: Range, options?: ReadOptions): Promise<Slice | undefined> {
    return this.#read(collection, options, (sql, row) => readSlice(sql, row, range));
  }

  query(
    collection: string,
    query: Query,
    options: ReadOptions = {},
  ): Promise<QueryResult | undefined> {
    return this.#read(collection, isRange(query) ? undefined : options, (sql, row) =>
      runQuery(sql, row, query, this.#queries.maxCounted),
    );
  }

  since(
    collection: string,
    position: FeedPosition | 0,
    range: FeedRange,
  ): Promise<Feed | InvalidPosition | undefined> {
    return this.#read(collection, undefined, (sql, row) => readFeed(sql, row, position, range));
  }

  async indexBuild(collection: string): Promise<BuildProgress | undefined> {
    const [row] = await this.#pool.read((sql) => findCollectionRows(sql, [collection]));
    return row?.build && progressOf(row.build);
  }

  secret(): Promise<string> {
    this.#secret ??= this.#pool.read(readSecret).catch((error: unknown) => {
      this.#secret = undefined;
      throw error;
    });
    return this.#secret;
  }

  findReferencedFiles = (keys: readonly string[]) =>
    this.#pool.read((sql) => findReferencedFiles(sql, keys));
  fileBytes = (owner?: string) => this.#pool.read((sql) => readFileBytes(sql, owner));

  token(hash: string): MaybePromise<Token | undefined> {
    return this.#tokens.find(hash);
  }

  findToken = (id: string) => this.#pool.read((sql) => findToken(sql, id));
  tokens = (range?: TokenRange) => this.#pool.read((sql) => listTokens(sql, range));
  countTokens = (subject?: string) => this.#pool.read((sql) => countTokens(sql, subject));

  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    if (this.#isClosed) throw new Outage("unavailable", closed);
    if (changes.length === 0) return [];
    const outcomes = await this.#guard.write(() => this.#writer.commit(changes));
    this.#listeners.notify();
    this.#listener.announce();
    if (changes.some(changesCachedData) || outcomes.some(isOutdated)) this.#invalidate();
    this.#background.follow(changes);
    return outcomes;
  }

  async erase(erasure: Erasure): Promise<Erased> {
    if (this.#isClosed) throw new Outage("unavailable", closed);
    const erased = await this.#guard.write(() => this.#writer.erase(erasure));
    this.#listeners.notify();
    this.#invalidate();
    return erased;
  }

  setQueryDeadline = (ms: number): void => this.#queries.setDeadline(ms);

  scrub(options: ScrubOptions): Promise<ScrubState> {
    return this.#background.scrub(options);
  }

  watch(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  ready(): MaybePromise<string | undefined> {
    if (this.#isClosed) return closed;
    this.#probe ??= this.#checkWrites().finally(() => {
      this.#probe = undefined;
    });
    return this.#probe;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listeners.close();
    await Promise.all([this.#background.close(), this.#queries.close()]);
    await Promise.all([this.#writer.close(), this.#pool.close(), this.#listener.close()]);
  }

  /** With options it runs on a connection for queries. The error of a damaged resource gets the name of the collection. */
  async #read<T>(
    collection: string,
    options: ReadOptions | undefined,
    send: (sql: Sql, row: CollectionRow) => Promise<Versioned<T> | undefined>,
  ): Promise<T | undefined> {
    try {
      return await this.#directory.read(collection, (row) => {
        const work = (sql: Sql) => send(sql, row);
        return options ? this.#queries.run(options, work) : this.#pool.read(work);
      });
    } catch (error) {
      throw withCollection(error, collection);
    }
  }

  /** After a failover. A separate replica for reads stays connected. */
  #reconnect(hasReplica: boolean): void {
    if (!hasReplica) {
      this.#pool.reconnect();
      this.#queries.reconnect();
    }
    void this.#listener.reconnect();
  }

  #invalidate(): void {
    this.#tokens.invalidate();
    this.#directory.invalidate();
    void this.#guard.check();
  }

  /** Tries to write, because only that shows whether the server accepts writes. */
  #checkWrites(): Promise<string | undefined> {
    const reasonOf = (error: unknown) => outageOf(error)?.message ?? messageOf(error);
    return this.#guard.write(() => this.#writer.probe()).then(() => undefined, reasonOf);
  }
}

const closed = "the store is closed";
