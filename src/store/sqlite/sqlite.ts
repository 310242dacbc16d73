// Implements the store on one SQLite file, with a writer thread and synchronous reads.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Collection, Rules } from "../../model/collection.ts";
import type { Feed, FeedRange, InvalidPosition } from "../../model/feed.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import { Outage } from "../../model/outage.ts";
import type { IndexEntry } from "../../model/query/index-plan.ts";
import type { Query } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token } from "../../model/token.ts";
import { CommitListeners } from "../commit-listeners.ts";
import { progressOf } from "../core/index-build.ts";
import type { Erased, Erasure, ScrubOptions, ScrubState } from "../erasure.ts";
import { queueLimits } from "../query-queue.ts";
import type { Committer } from "../remote-committer.ts";
import type {
  BuildProgress,
  Change,
  Outcome,
  QueryResult,
  Range,
  ReadOptions,
  Slice,
  Store,
  TokenRange,
} from "../store.ts";
import { checkWrites } from "./check-writes.ts";
import { isSameState } from "./collections.ts";
import { CommitCounter, followCommits } from "./commit-counter.ts";
import { Connection } from "./connection.ts";
import { CurrentReader } from "./current-reader.ts";
import { cannotOpen, openFile, openWriter } from "./open.ts";
import { defaultReaders, type SqliteOptions } from "./options.ts";
import { Reader, readerLimits } from "./reader.ts";
import { ReaderPool } from "./reader-pool.ts";
import { WriterClient } from "./writer-client.ts";

/** Opens or creates the database. Rejects with a readable message when it cannot be used. */
export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const file = await openFile(options);
  const writerClient = options.committer ?? openWriter(file, options);
  try {
    // With another writer this process only reads, which also works when the disk is full.
    if (writerClient instanceof WriterClient) await checkWrites(writerClient, file);
    const commitCounter = new CommitCounter(file.commitCounter, options.mapFile);
    const { readers = defaultReaders, queryDeadlineMs, maxCounted } = options;
    const { shortRows = readerLimits.shortRows } = options;
    const limits = { ...readerLimits, shortRows, ...(maxCounted && { maxCounted }) };
    const reader = new CurrentReader(
      () => new Reader(new Connection(file.path, "read"), commitCounter, limits),
    );
    const queue = queueLimits(readers, queryDeadlineMs);
    const { metrics } = options;
    if (writerClient instanceof WriterClient)
      metrics?.count(
        "restante_database_rescues_total",
        "How many times a verified copy has replaced the database after the disk had failed.",
        () => writerClient.rescues,
      );
    const pool = new ReaderPool({ file, limits: queue, maxCounted, metrics });
    const listeners = new CommitListeners((onCommit) =>
      followCommits(file.commitCounter, onCommit),
    );
    return new SqliteStore(writerClient, reader, pool, listeners, commitCounter);
  } catch (error) {
    await writerClient.close();
    throw cannotOpen(file, error);
  }
}

class SqliteStore implements Store {
  readonly #committer: Committer;
  readonly #reader: CurrentReader;
  readonly #pool: ReaderPool;
  readonly #listeners: CommitListeners;
  readonly #commitCounter: CommitCounter;
  #probe: Promise<string | undefined> | undefined;
  /** Whether a read has failed since writing was tried last: the disk can be gone. */
  #hasFailedToRead = false;
  #isClosed = false;

  constructor(
    committer: Committer,
    reader: CurrentReader,
    pool: ReaderPool,
    listeners: CommitListeners,
    commitCounter: CommitCounter,
  ) {
    this.#committer = committer;
    this.#reader = reader;
    this.#pool = pool;
    this.#listeners = listeners;
    this.#commitCounter = commitCounter;
  }

  version(): number {
    return this.#read(readVersion);
  }

  tokenVersion(): number {
    return this.#read(readTokenVersion);
  }

  collection(name: string): Collection | undefined {
    return this.#read((reader) => reader.collection(name));
  }

  collections(): readonly Collection[] {
    return this.#read((reader) => reader.collections());
  }

  rules(collection: string): Rules | undefined {
    return this.#read((reader) => reader.rules(collection));
  }

  find(collection: string, id: string): Resource | undefined {
    return this.#readIn(collection, (reader) => reader.find(collection, id));
  }

  findAll(collection: string, ids: readonly string[]): readonly (Resource | undefined)[] {
    return this.#readIn(collection, (reader) => reader.findAll(collection, ids));
  }

  findUnique(collection: string, entry: IndexEntry): Resource | undefined {
    return this.#readIn(collection, (reader) => reader.findUnique(collection, entry));
  }

  slice(collection: string, range: Range, options?: ReadOptions): MaybePromise<Slice | undefined> {
    const short = this.#readIn(collection, (reader) => reader.sliceIfShort(collection, range));
    if (short !== "long") return short;
    return this.#pool.slice(collection, range, options).then((slice) => this.#withCurrent(slice));
  }

  query(
    collection: string,
    query: Query,
    options: ReadOptions = {},
  ): MaybePromise<QueryResult | undefined> {
    const short = this.#readIn(collection, (reader) => reader.queryIfShort(collection, query));
    if (short !== "long") return short;
    return this.#pool.query(collection, query, options).then((result) => this.#withCurrent(result));
  }

  since(
    collection: string,
    position: FeedPosition | 0,
    range: FeedRange,
  ): Feed | InvalidPosition | undefined {
    return this.#readIn(collection, (reader) => reader.since(collection, position, range));
  }

  indexBuild(collection: string): BuildProgress | undefined {
    const build = this.#read((reader) => reader.indexBuild(collection));
    return build && progressOf(build);
  }

  secret(): string {
    return this.#read((reader) => reader.secret);
  }

  findReferencedFiles(keys: readonly string[]): ReadonlySet<string> {
    return this.#read((reader) => reader.findReferencedFiles(keys));
  }

  fileBytes(owner?: string): number {
    return this.#read((reader) => reader.fileBytes(owner));
  }

  token(hash: string): Token | undefined {
    return this.#read((reader) => reader.token(hash));
  }

  findToken = (id: string) => this.#read((reader) => reader.findToken(id));
  tokens = (range?: TokenRange) => this.#read((reader) => reader.tokens(range));
  countTokens = (subject?: string) => this.#read((reader) => reader.countTokens(subject));

  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    if (this.#isClosed) throw closed();
    if (changes.length === 0) return [];
    const outcomes = await this.#committer.commit(changes);
    this.#listeners.notify();
    return outcomes;
  }

  async erase(erasure: Erasure): Promise<Erased> {
    if (this.#isClosed) throw closed();
    const erased = await this.#committer.erase(erasure);
    this.#listeners.notify();
    return erased;
  }

  async scrub(options: ScrubOptions): Promise<ScrubState> {
    if (this.#isClosed) throw closed();
    return this.#committer.scrub(options);
  }

  setQueryDeadline = (ms: number): void => this.#pool.setDeadline(ms);

  watch(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /** After an error, also one of a read, it tries to write, so that a server without traffic recovers by itself. */
  ready(): MaybePromise<string | undefined> {
    if (this.#isClosed) return closed().message;
    // When another process writes, only that process knows whether writes work.
    const isOwnWriter = this.#committer instanceof WriterClient;
    const hasNoError = this.#committer.lastError === undefined && !this.#hasFailedToRead;
    if (isOwnWriter && hasNoError) return undefined;
    this.#probe ??= this.#tryToWrite().finally(() => {
      this.#probe = undefined;
    });
    return this.#probe;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#listeners.close();
    await this.#pool.close();
    await this.#committer.settled();
    // The writer is closed last: it can empty the WAL when no reader uses it.
    this.#reader.close();
    this.#commitCounter.close();
    await this.#committer.close();
  }

  async #tryToWrite(): Promise<string | undefined> {
    this.#hasFailedToRead = false;
    await Promise.allSettled([this.#committer.commit([])]);
    return this.#committer.lastError;
  }

  /** While nothing has changed the collection is the same object, by which pages are cached. */
  #withCurrent<T extends QueryResult | Slice>(result: T | undefined): T | undefined {
    const current = result && this.collection(result.collection.name);
    const isCurrent = current && isSameState(current, result.collection);
    return isCurrent ? { ...result, collection: current } : result;
  }

  #readIn<T>(collection: string, read: (reader: Reader) => T): T {
    if (this.#isClosed) throw closed();
    try {
      return this.#reader.readIn(collection, read);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  #read<T>(read: (reader: Reader) => T): T {
    if (this.#isClosed) throw closed();
    try {
      return this.#reader.read(read);
    } catch (error) {
      throw this.#noted(error);
    }
  }

  /** A single damaged resource says nothing about the disk. */
  #noted(error: unknown): unknown {
    if (error instanceof Outage && error.reason === "unavailable") this.#hasFailedToRead = true;
    return error;
  }
}

const readVersion = (reader: Reader): number => reader.version();
const readTokenVersion = (reader: Reader): number => reader.tokenVersion();

const closed = (): Outage => new Outage("unavailable", "the store is closed");
