// The embedded engine: one file, a writer in its own thread, reads answered at once.

import { extname } from "node:path";
import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Collection, Rules } from "../../model/collection.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import type { Query } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token } from "../../model/token.ts";
import { withCollection } from "../checksum.ts";
import type { Committer } from "../remote-committer.ts";
import {
  type Change,
  type Feed,
  maxCandidates,
  Outage,
  type Outcome,
  type QueryResult,
  type Range,
  type Slice,
  type Store,
  type TooBroad,
} from "../store.ts";
import { CommitCounter, type MapFile } from "./commit-counter.ts";
import { Connection, isOfMissingTable, storageTrouble } from "./connection.ts";
import { finishSwap, prepareFile } from "./file.ts";
import { Moved } from "./moved.ts";
import { Reader, readerLimits } from "./reader.ts";
import { requireNewest } from "./schema.ts";
import { type Report, WriterClient } from "./writer-client.ts";

export interface SqliteOptions {
  /** The directory of the data; made when it is not there. */
  readonly path: string;
  /** Lets readers hear of commits without asking SQLite; without it they ask before each read. */
  readonly mapFile?: MapFile | undefined;
  /** Who writes, when another process does; then this one only reads the file. */
  readonly committer?: Committer | undefined;
  /** How many resources a query may look at one by one. */
  readonly maxCandidates?: number | undefined;
  /** Told of a disk that fails, and of its repair. */
  readonly report?: Report | undefined;
  /** How long deleted content may stay in the files before its erasure begins; a minute by default. */
  readonly eraseAfterMs?: number | undefined;
}

/** The writer's program lies beside this one, as source or as built. */
const writerScript = new URL(`./writer${extname(import.meta.url)}`, import.meta.url);

/** Opens or makes the database. Rejects with words for a person when it cannot be used. */
export async function openSqlite(options: SqliteOptions): Promise<Store> {
  const found = prepareFile(options.path);
  const file = options.committer ? found : finishSwap(found);
  const writerClient = options.committer ?? new WriterClient(file, writerScript, options);
  try {
    // Another process has shown it already; and with a full disk, this one can still read.
    if (writerClient instanceof WriterClient) await prove(writerClient);
    const bell = options.mapFile && new CommitCounter(file.bell, options.mapFile);
    const limits = { ...readerLimits, maxCandidates: options.maxCandidates ?? maxCandidates };
    const openReader = () => new Reader(new Connection(file.path, "read"), bell, limits);
    if (options.committer) requireNewest(file.path);
    return new SqliteStore(writerClient, openReader);
  } catch (error) {
    await writerClient.close();
    const words = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot open ${file.path}: ${words}`, { cause: error });
  }
}

/** Has the writer make the tables and show that it can write. On a failing disk reading still works. */
async function prove(writerClient: WriterClient): Promise<void> {
  const [result] = await Promise.allSettled([writerClient.commit([])]);
  if (result.status === "fulfilled") return;
  const { reason: error } = result;
  if (!(error instanceof Outage)) throw error;
  if (error.reason === "suspect") await writerClient.repair();
  else if (error.reason !== "full") throw error;
}

class SqliteStore implements Store {
  readonly #committer: Committer;
  readonly #openReader: () => Reader;
  #reader: Reader;
  #probe: Promise<string | undefined> | undefined;
  #isClosed = false;

  constructor(committer: Committer, openReader: () => Reader) {
    this.#committer = committer;
    this.#openReader = openReader;
    this.#reader = openReader();
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

  slice(collection: string, range: Range): Slice | undefined {
    return this.#readIn(collection, (reader) => reader.slice(collection, range));
  }

  query(collection: string, query: Query): QueryResult | TooBroad | undefined {
    return this.#readIn(collection, (reader) => reader.query(collection, query));
  }

  since(
    collection: string,
    position: FeedPosition | 0,
    limit: number,
    maxBytes?: number,
  ): Feed | "gone" | undefined {
    return this.#readIn(collection, (reader) =>
      reader.since(collection, position, limit, maxBytes),
    );
  }

  named(keys: readonly string[]): ReadonlySet<string> {
    return this.#read((reader) => reader.named(keys));
  }

  token(hash: string): Token | undefined {
    return this.#read((reader) => reader.token(hash));
  }

  tokens(): readonly Token[] {
    return this.#read((reader) => reader.tokens());
  }

  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    if (this.#isClosed) throw closed();
    return changes.length === 0 ? [] : this.#committer.commit(changes);
  }

  /** In trouble it tries again, so that a server which is sent no writes comes back by itself. */
  ready(): MaybePromise<string | undefined> {
    if (this.#isClosed) return closed().message;
    // Where another process writes, only that one knows whether it still can.
    const isOwnWriter = this.#committer instanceof WriterClient;
    if (isOwnWriter && this.#committer.trouble === undefined) return undefined;
    this.#probe ??= this.#tryToWrite().finally(() => {
      this.#probe = undefined;
    });
    return this.#probe;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#committer.settled();
    // The writer goes last: it can empty the WAL when no reader holds on to it.
    this.#reader.close();
    await this.#committer.close();
  }

  #reopen(): void {
    const old = this.#reader;
    this.#reader = this.#openReader();
    old.close();
  }

  async #tryToWrite(): Promise<string | undefined> {
    await Promise.allSettled([this.#committer.commit([])]);
    return this.#committer.trouble;
  }

  /** The error of a damaged resource names its collection. */
  #readIn<T>(collection: string, read: (reader: Reader) => T): T {
    try {
      return this.#read(read);
    } catch (error) {
      throw withCollection(error, collection);
    }
  }

  /**
   * A collection that another drops in the middle of a read is looked for again, and a database that
   * was replaced by its copy is opened again.
   */
  #read<T>(read: (reader: Reader) => T, attemptsLeft = 3): T {
    if (this.#isClosed) throw closed();
    try {
      return read(this.#reader);
    } catch (error) {
      const isMoved = error instanceof Moved;
      const isWorthAnother = isMoved || isOfMissingTable(error);
      if (attemptsLeft === 0 || !isWorthAnother) throw storageTrouble(error) ?? error;
      if (isMoved) this.#reopen();
      else this.#reader.distrust();
      return this.#read(read, attemptsLeft - 1);
    }
  }
}

const closed = (): Outage => new Outage("unavailable", "the store is closed");
