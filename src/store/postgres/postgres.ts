// The engine for many nodes: all that is kept is in a Postgres database, and nothing is kept here.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Collection, Rules } from "../../model/collection.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import type { Query } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token } from "../../model/token.ts";
import { Damage, withCollection } from "../checksum.ts";
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
import { reasonOf, storageTrouble } from "./errors.ts";
import { findReferencedFiles } from "./file-references.ts";
import { Listener } from "./listener.ts";
import { Pool } from "./pool.ts";
import { Querying } from "./query.ts";
import { type Address, findResources, readFeed, readSlice } from "./resource.ts";
import { migrate } from "./schema.ts";
import { findTokens, listTokens } from "./token.ts";
import { TtlCache } from "./ttl-cache.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`, with `?sslmode=…` and the like. */
  readonly url: string;
  /** A replica for reads. A commit waits until the replica shows it, so that nodes read their writes. */
  readonly readUrl?: string | undefined;
  /** Where the tables are; made when it is not there. */
  readonly schema?: string;
  /** How many connections answer reads. One more writes, and one listens. */
  readonly readers?: number;
  /** A statement that takes longer is given up. */
  readonly deadlineMs?: number;
  /** How long tokens and rules may be remembered, and so how late a lost notice of a change can come. */
  readonly memoryMs?: number;
  /** So many resources may be looked at one by one for an answer. */
  readonly maxCandidates?: number;
}

const defaults = {
  readUrl: undefined,
  schema: "restante",
  readers: 4,
  deadlineMs: 10_000,
  memoryMs: 1_000,
  maxCandidates,
};
const schemaShape = /^[a-z_][a-z0-9_]{0,39}$/;

type Settings = Required<PostgresOptions>;

/** Opens or makes the tables. Rejects with words for a person when the database cannot be used. */
export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const settings = { ...defaults, ...options };
  try {
    if (!schemaShape.test(settings.schema))
      throw new Error(`"${settings.schema}" is no schema name`);
    await prepare({ ...settings, deadlineMs: 0 });
    if (settings.readUrl !== undefined) await assertReplica(settings, settings.readUrl);
    const store = new PostgresStore(settings);
    await store.listen();
    return store;
  } catch (error) {
    throw new Error(`Cannot open ${withoutSecrets(settings.url)}: ${reasonOf(error)}`, {
      cause: error,
    });
  }
}

/** Without a deadline: while one node makes the tables, the others wait. */
async function prepare(options: ConnectionOptions): Promise<void> {
  const connection = await Connection.open(options);
  try {
    await connection.ask(assertDurable);
    await migrate(connection, options.schema);
  } finally {
    await connection.close();
  }
}

/** A commit that is acknowledged must be on disk; whether it is, nobody can see from here. */
async function assertDurable(sql: Sql): Promise<void> {
  const [row] = await rows(sql`SELECT current_setting('fsync', true)`);
  if (row?.[0] === "off")
    throw new Error("the server runs with fsync = off, and forgets what it has acknowledged");
}

/** Without a standby to wait for, a commit would not wait, and reads would lag behind. */
async function assertReplica(settings: ConnectionOptions, readUrl: string): Promise<void> {
  const isStandby = await askOnce({ ...settings, url: readUrl }, (sql) =>
    rows(sql`SELECT pg_is_in_recovery()::text`),
  );
  if (isStandby !== "true") throw new Error(`${withoutSecrets(readUrl)} is no replica`);
  const names = await askOnce(settings, (sql) =>
    rows(sql`SELECT current_setting('synchronous_standby_names', true)`),
  );
  if (!names)
    throw new Error(
      "reads from a replica need synchronous_standby_names on the server, or they would lag behind",
    );
}

async function askOnce(
  options: ConnectionOptions,
  ask: (sql: Sql) => Promise<readonly Row[]>,
): Promise<Row[number] | undefined> {
  const connection = await Connection.open(options);
  try {
    return (await connection.ask(ask))[0]?.[0];
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
  readonly #querying: Querying;
  #probe: Promise<string | undefined> | undefined;
  #isClosed = false;

  constructor(settings: Settings) {
    const { url, readUrl } = settings;
    const pool = new Pool(
      () => Connection.open({ ...settings, url: readUrl ?? url }),
      settings.readers,
    );
    this.#pool = pool;
    const memory = { size: pool.size, maxAgeMs: settings.memoryMs };
    this.#tokens = new TtlCache(
      (hashes) => pool.read((sql) => findTokens(sql, hashes)),
      memory,
      () => false,
    );
    this.#rules = new TtlCache(
      (names) => pool.read((sql) => findRules(sql, names)),
      memory,
      // One that was dropped and made again may come to the same version.
      (one, other) => one.version === other.version && one.definition === other.definition,
    );
    this.#listener = new Listener(
      (onNotify) => Connection.open({ ...settings, onNotify }),
      `restante_${settings.schema}`,
      () => this.#forget(),
    );
    const waitsForReplica = readUrl !== undefined;
    const open = () => Connection.open({ ...settings, waitsForReplica });
    this.#writer = new BatchWriter({
      open,
      tell: (sql) => this.#listener.tell(sql),
      onMoved: () => this.#renew(waitsForReplica),
    });
    const { size } = pool;
    this.#resources = new BatchLoader((all) => pool.read((sql) => findResources(sql, all)), size);
    this.#collections = new BatchLoader(
      (all) => pool.read((sql) => findCollections(sql, all)),
      size,
    );
    this.#querying = new Querying((send) => pool.read(send), settings.maxCandidates);
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
      return rules && (await this.#querying.query(collection, query, rules));
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

  named(keys: readonly string[]): Promise<ReadonlySet<string>> {
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
    if (changes.some(isRemembered) || outcomes.some(isOutdated)) this.#forget();
    return outcomes;
  }

  ready(): MaybePromise<string | undefined> {
    if (this.#isClosed) return closed;
    this.#probe ??= this.#look().finally(() => {
      this.#probe = undefined;
    });
    return this.#probe;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all([this.#writer.close(), this.#pool.close(), this.#listener.close()]);
  }

  /** The error of a damaged resource names its collection. */
  async #readIn<T>(collection: string, send: (sql: Sql) => Promise<T>): Promise<T> {
    try {
      return await this.#pool.read(send);
    } catch (error) {
      throw withCollection(error, collection);
    }
  }

  /** A replica for reads stays what it is, whoever is written to. */
  #renew(hasReplica: boolean): void {
    if (!hasReplica) this.#pool.renew();
    this.#listener.renew();
  }

  #forget(): void {
    this.#tokens.forget();
    this.#rules.forget();
  }

  /** Only an attempt to write shows whether it is possible; and one that is sent no writes comes back. */
  async #look(): Promise<string | undefined> {
    try {
      await this.#writer.probe();
      return undefined;
    } catch (error) {
      return storageTrouble(error)?.message ?? reasonOf(error);
    }
  }
}

const closed = "the store is closed";

const isRemembered = ({ kind }: Change): boolean =>
  kind.endsWith("-token") || kind === "define" || kind === "drop";
