// Implements the store on a Postgres database, which many nodes can share.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Collection, Rules } from "../../model/collection.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import type { Query } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token } from "../../model/token.ts";
import { Damage, withCollection } from "../core/checksum.ts";
import {
  type Change,
  type Feed,
  isOutdated,
  maxCandidates,
  Outage,
  type Outcome,
  type QueryResult,
  type Range,
  type Slice,
  type Store,
  type TooBroad,
} from "../store.ts";
import { BatchWriter } from "./batch.ts";
import { BatchLoader } from "./batch-loader.ts";
import { findCollections, findRules, listCollections } from "./collection.ts";
import { Connection, type ConnectionOptions, type Row, rows, type Sql } from "./connection.ts";
import { messageOf, outageOf } from "./errors.ts";
import { findReferencedFiles } from "./file-references.ts";
import { Listener } from "./listener.ts";
import { Pool } from "./pool.ts";
import { QueryRunner } from "./query.ts";
import { type Address, findResources, readFeed, readSlice } from "./resource.ts";
import { migrate } from "./schema.ts";
import { findTokens, listTokens } from "./token.ts";
import { TtlCache } from "./ttl-cache.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with `?sslmode=…` and the like. */
  readonly url: string;
  /** A replica for reads. A commit waits until the replica has applied it, so that nodes read their own writes. */
  readonly readUrl?: string | undefined;
  /** The schema of the tables; created when it does not exist. */
  readonly schema?: string;
  /** The number of connections for reads. One more is for writes, and one for LISTEN. */
  readonly readers?: number;
  /** A statement that takes longer is cancelled. */
  readonly deadlineMs?: number;
  /** How long tokens and rules are cached; a change whose notification is lost takes effect after this time. */
  readonly cacheMs?: number;
  /** How many resources a query may check one by one. */
  readonly maxCandidates?: number;
}

const defaults = {
  readUrl: undefined,
  schema: "restante",
  readers: 4,
  deadlineMs: 10_000,
  cacheMs: 1_000,
  maxCandidates,
};
const schemaPattern = /^[a-z_][a-z0-9_]{0,39}$/;

type Settings = Required<PostgresOptions>;

/** Opens the store, and creates the tables when needed. Rejects with a readable message when it cannot. */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const settings = { ...defaults, ...options };
  try {
    if (!schemaPattern.test(settings.schema))
      throw new Error(
        `"${settings.schema}" is not a valid schema name: use lower-case letters, digits and _`,
      );
    await prepare({ ...settings, deadlineMs: 0 });
    if (settings.readUrl !== undefined) await assertReplica(settings, settings.readUrl);
    const store = new PostgresStore(settings);
    await store.listen();
    return store;
  } catch (error) {
    throw new Error(`Cannot open ${withoutSecrets(settings.url)}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Has no deadline: while one node creates the tables, the others wait. */
async function prepare(options: ConnectionOptions): Promise<void> {
  const connection = await Connection.open(options);
  try {
    await connection.run(assertDurable);
    await migrate(connection, options.schema);
  } finally {
    await connection.close();
  }
}

/** Acknowledged commits must be on disk, so a server without fsync is rejected. */
async function assertDurable(sql: Sql): Promise<void> {
  const [row] = await rows(sql`SELECT current_setting('fsync', true)`);
  if (row?.[0] === "off")
    throw new Error("the server runs with fsync = off and can lose committed data: set fsync = on");
}

/** Without synchronous_standby_names a commit would not wait for the replica, and reads would lag behind. */
async function assertReplica(settings: ConnectionOptions, readUrl: string): Promise<void> {
  const isStandby = await readOne({ ...settings, url: readUrl }, (sql) =>
    rows(sql`SELECT pg_is_in_recovery()::text`),
  );
  if (isStandby !== "true") throw new Error(`${withoutSecrets(readUrl)} is not a replica`);
  const names = await readOne(settings, (sql) =>
    rows(sql`SELECT current_setting('synchronous_standby_names', true)`),
  );
  if (!names)
    throw new Error(
      "reads from a replica need synchronous_standby_names on the server, or they would lag behind",
    );
}

async function readOne(
  options: ConnectionOptions,
  load: (sql: Sql) => Promise<readonly Row[]>,
): Promise<Row[number] | undefined> {
  const connection = await Connection.open(options);
  try {
    return (await connection.run(load))[0]?.[0];
  } finally {
    await connection.close();
  }
}

function withoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

class PostgresStore implements Store {
  readonly #pool: Pool;
  readonly #writer: BatchWriter;
  readonly #listener: Listener;
  readonly #tokens: TtlCache<Token>;
  readonly #rules: TtlCache<Rules>;
  readonly #resources: BatchLoader<Address, Resource | Damage | undefined>;
  readonly #collections: BatchLoader<string, Collection | undefined>;
  readonly #queryRunner: QueryRunner;
  #probe: Promise<string | undefined> | undefined;
  #isClosed = false;

  constructor(settings: Settings) {
    const { url, readUrl } = settings;
    const pool = new Pool(
      () => Connection.open({ ...settings, url: readUrl ?? url }),
      settings.readers,
    );
    this.#pool = pool;
    const memory = { size: pool.size, maxAgeMs: settings.cacheMs };
    this.#tokens = new TtlCache(
      (hashes) => pool.read((sql) => findTokens(sql, hashes)),
      memory,
      () => false,
    );
    this.#rules = new TtlCache(
      (names) => pool.read((sql) => findRules(sql, names)),
      memory,
      // A collection that was dropped and created again can have the same version.
      (one, other) => one.version === other.version && one.definition === other.definition,
    );
    this.#listener = new Listener(
      (onNotify) => Connection.open({ ...settings, onNotify }),
      `restante_${settings.schema}`,
      () => this.#invalidate(),
    );
    const waitsForReplica = readUrl !== undefined;
    const open = () => Connection.open({ ...settings, waitsForReplica });
    this.#writer = new BatchWriter({
      open,
      notify: (sql) => this.#listener.notify(sql),
      onFailover: () => this.#reconnect(waitsForReplica),
    });
    const { size } = pool;
    this.#resources = new BatchLoader((all) => pool.read((sql) => findResources(sql, all)), size);
    this.#collections = new BatchLoader(
      (all) => pool.read((sql) => findCollections(sql, all)),
      size,
    );
    this.#queryRunner = new QueryRunner((send) => pool.read(send), settings.maxCandidates);
  }

  listen(): Promise<void> {
    return this.#listener.listen();
  }

  collection(name: string): Promise<Collection | undefined> {
    return this.#collections.get(name);
  }

  collections(): Promise<readonly Collection[]> {
    return this.#pool.read(listCollections);
  }

  rules(collection: string): MaybePromise<Rules | undefined> {
    return this.#rules.find(collection);
  }

  async find(collection: string, id: string): Promise<Resource | undefined> {
    const found = await this.#resources.get({ collection, id });
    if (found instanceof Damage) throw found;
    return found;
  }

  slice(collection: string, range: Range): Promise<Slice | undefined> {
    return this.#readIn(collection, (sql) => readSlice(sql, collection, range));
  }

  async query(collection: string, query: Query): Promise<QueryResult | TooBroad | undefined> {
    const rules = await this.#rules.find(collection);
    try {
      return rules && (await this.#queryRunner.query(collection, query, rules));
    } catch (error) {
      throw withCollection(error, collection);
    }
  }

  since(
    collection: string,
    position: FeedPosition | 0,
    limit: number,
    maxBytes?: number,
  ): Promise<Feed | "gone" | undefined> {
    return this.#readIn(collection, (sql) => readFeed(sql, collection, position, limit, maxBytes));
  }

  findReferencedFiles(keys: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#pool.read((sql) => findReferencedFiles(sql, keys));
  }

  token(hash: string): MaybePromise<Token | undefined> {
    return this.#tokens.find(hash);
  }

  tokens(): Promise<readonly Token[]> {
    return this.#pool.read(listTokens);
  }

  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    if (this.#isClosed) throw new Outage("unavailable", closed);
    if (changes.length === 0) return [];
    const outcomes = await this.#writer.commit(changes);
    if (changes.some(changesCachedData) || outcomes.some(isOutdated)) this.#invalidate();
    return outcomes;
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
    await Promise.all([this.#writer.close(), this.#pool.close(), this.#listener.close()]);
  }

  /** Adds the name of the collection to the error of a damaged resource. */
  async #readIn<T>(collection: string, send: (sql: Sql) => Promise<T>): Promise<T> {
    try {
      return await this.#pool.read(send);
    } catch (error) {
      throw withCollection(error, collection);
    }
  }

  /** After a failover. A separate replica for reads stays connected. */
  #reconnect(hasReplica: boolean): void {
    if (!hasReplica) this.#pool.reconnect();
    this.#listener.reconnect();
  }

  #invalidate(): void {
    this.#tokens.invalidate();
    this.#rules.invalidate();
  }

  /** Tries to write, because only that shows whether the server accepts writes. */
  async #checkWrites(): Promise<string | undefined> {
    try {
      await this.#writer.probe();
      return undefined;
    } catch (error) {
      return outageOf(error)?.message ?? messageOf(error);
    }
  }
}

const closed = "the store is closed";

const changesCachedData = ({ kind }: Change): boolean =>
  kind.endsWith("-token") || kind === "define" || kind === "drop";
