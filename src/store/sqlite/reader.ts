// Answers reads synchronously on one connection: never stale, and from a cache while nothing has changed.

import type { Collection, Rules } from "../../model/collection.ts";
import type { Feed, FeedRange, InvalidPosition } from "../../model/feed.ts";
import type { FeedPosition } from "../../model/feed-position.ts";
import type { IndexEntry } from "../../model/query/index-plan.ts";
import type { Query } from "../../model/query/query.ts";
import type { Resource } from "../../model/resource.ts";
import type { Token } from "../../model/token.ts";
import type { IndexBuild } from "../core/index-build.ts";
import { ResourceCache } from "../core/resource-cache.ts";
import { maxCounted, type QueryResult, type Range, type Slice, type TokenRange } from "../store.ts";
import { CachedCollection, CollectionRows, HeadReader, toCollection } from "./collections.ts";
import type { CommitCounter } from "./commit-counter.ts";
import type { Connection, PreparedQuery } from "./connection.ts";
import { FileReferenceReader } from "./file-references.ts";
import { QueryReader } from "./query.ts";
import { ResourceReader, resourceColumns } from "./resource-reader.ts";
import { SeenCommits } from "./seen-commits.ts";
import { TokenReader } from "./token.ts";

/** The sizes of the caches, which limit the memory use, and how a page in order of creation is read. */
export const readerLimits = {
  resourceCacheBytes: 16 * 1024 * 1024,
  collections: 10_000,
  maxCounted,
  pageColumns: resourceColumns,
  /** Some 200 µs. */
  shortRows: 100,
};
/** So many changes are read at once, before there are too many. */
const maxRevisionsUnread = 500;

interface CachedRules {
  readonly cached: CachedCollection;
  /** The last commit before it was read. */
  commit: number;
  /** The state of the catalog in which its rules were read. */
  catalog: number;
}

export class Reader {
  readonly secret: string;
  readonly #connection: Connection;
  readonly #commits: SeenCommits;
  readonly #transaction: Readonly<Record<"begin" | "end", PreparedQuery<never>>>;
  readonly #collectionRows: CollectionRows;
  readonly #heads: HeadReader;
  readonly #resources: ResourceReader;
  readonly #queries: QueryReader;
  readonly #fileReferences: FileReferenceReader;
  readonly #tokenReader: TokenReader;

  readonly #limits: typeof readerLimits;
  readonly #cached: CachedResources;
  readonly #known = new Map<string, CachedRules>();

  constructor(connection: Connection, commitCounter: CommitCounter, limits = readerLimits) {
    this.#connection = connection;
    this.#commits = new SeenCommits(connection, commitCounter);
    this.#limits = limits;
    this.secret = connection.query<readonly [string]>("SELECT id FROM store").one()?.[0] ?? "";
    this.#transaction = { begin: connection.query("BEGIN"), end: connection.query("END") };
    this.#collectionRows = new CollectionRows(connection);
    this.#heads = new HeadReader(connection);
    this.#resources = new ResourceReader(connection, limits.pageColumns);
    this.#cached = new CachedResources(this.#resources, limits.resourceCacheBytes);
    this.#queries = new QueryReader(connection, limits, (name) => this.#find(name));
    this.#fileReferences = new FileReferenceReader(connection);
    this.#tokenReader = new TokenReader(connection);
  }

  /** The number of the last commit. */
  version(): number {
    this.#commits.refresh();
    return this.#commits.last;
  }

  /** The number of the last commit that changed tokens. */
  tokenVersion(): number {
    this.#commits.refreshCatalog();
    return this.#commits.lastTokens;
  }

  collection(name: string): Collection | undefined {
    this.#commits.refresh();
    return this.#find(name)?.collection;
  }

  collections(): readonly Collection[] {
    return this.#inSnapshot(() =>
      this.#collectionRows.all().flatMap((row) => {
        const head = this.#heads.find(row.part);
        return head ? [toCollection(row, head)] : [];
      }),
    );
  }

  /** Reads no head while only resources change. */
  rules(collection: string): Rules | undefined {
    this.#commits.refreshCatalog();
    const known = this.#known.get(collection);
    const isSame = known?.catalog === this.#commits.catalog;
    return isSame ? known.cached.rules : this.#find(collection)?.rules;
  }

  find(collection: string, id: string): Resource | undefined {
    const known = this.#current(collection);
    return known && this.#cached.find(known, id);
  }

  findAll(collection: string, ids: readonly string[]): readonly (Resource | undefined)[] {
    const known = this.#current(collection);
    return ids.map((id) => known && this.#cached.find(known, id));
  }

  findUnique(collection: string, entry: IndexEntry): Resource | undefined {
    return this.#inSnapshotOf(collection, (known) => this.#resources.findUnique(known, entry));
  }

  sliceIfShort(collection: string, range: Range): Slice | "long" | undefined {
    return this.#inSnapshotOf(collection, (known) => this.#resources.sliceIfShort(known, range));
  }

  slice(collection: string, range: Range): Slice | undefined {
    return this.#inSnapshotOf(collection, (known) => this.#resources.slice(known, range));
  }

  /** Returns `long` when the query may block others. */
  queryIfShort(collection: string, query: Query): QueryResult | "long" | undefined {
    return this.#inSnapshotOf(
      collection,
      (known) => this.#queries.answerIfShort(known, query) ?? "long",
    );
  }

  query(collection: string, query: Query, checkStop: () => void): QueryResult | undefined {
    return this.#inSnapshotOf(collection, (known) => this.#queries.answer(known, query, checkStop));
  }

  since(
    collection: string,
    position: FeedPosition | 0,
    range: FeedRange,
  ): Feed | InvalidPosition | undefined {
    return this.#inSnapshotOf(collection, (known) => this.#resources.since(known, position, range));
  }

  indexBuild(collection: string): IndexBuild | undefined {
    return this.#inSnapshot(() => this.#collectionRows.find(collection)?.build);
  }

  findReferencedFiles(keys: readonly string[]): ReadonlySet<string> {
    return this.#inSnapshot(() => {
      const parts = this.#collectionRows.all().map(({ part }) => part);
      return this.#fileReferences.among(keys, parts);
    });
  }

  fileBytes(owner?: string): number {
    return this.#inSnapshot(() => this.#fileReferences.bytes(owner));
  }

  token(hash: string): Token | undefined {
    this.#commits.refresh();
    return this.#tokenReader.find(hash);
  }

  findToken(id: string): Token | undefined {
    this.#commits.refresh();
    return this.#tokenReader.findById(id);
  }

  tokens(range?: TokenRange): readonly Token[] {
    this.#commits.refresh();
    return range === undefined ? this.#tokenReader.all() : this.#tokenReader.page(range);
  }

  countTokens(subject?: string): number {
    this.#commits.refresh();
    return this.#tokenReader.count(subject);
  }

  close(): void {
    this.#connection.close();
  }

  #inSnapshot<T>(read: () => T): T {
    const { number } = this.#commits;
    this.#transaction.begin.run();
    try {
      this.#commits.catchUp(number);
      return read();
    } finally {
      this.#transaction.end.run();
    }
  }

  #inSnapshotOf<T>(collection: string, read: (known: CachedCollection) => T): T | undefined {
    return this.#inSnapshot(() => {
      const known = this.#find(collection);
      return known && read(known);
    });
  }

  /** Returns the collection with a cache that has no outdated resources of it. */
  #current(name: string): CachedCollection | undefined {
    this.#commits.refresh();
    const known = this.#find(name);
    if (known) this.#cached.removeChanged(known);
    return known;
  }

  /** Reads the head of the collection again when anything was committed since the last time. */
  #find(name: string): CachedCollection | undefined {
    const known = this.#known.get(name);
    if (known === undefined) return this.#load(name);
    const { last, catalog } = this.#commits;
    if (known.commit !== last && !this.#update(known.cached)) return this.#load(name);
    known.commit = last;
    known.catalog = catalog;
    return known.cached;
  }

  #load(name: string): CachedCollection | undefined {
    const row = this.#collectionRows.find(name);
    const head = row && this.#heads.find(row.part);
    if (!head) return undefined;
    const [oldest] = this.#known.size >= this.#limits.collections ? this.#known.values() : [];
    if (oldest) this.#forget(oldest.cached);
    const cached = new CachedCollection(row, head);
    const { last, catalog } = this.#commits;
    this.#known.set(name, { cached, commit: last, catalog });
    return cached;
  }

  /** Returns false when the collection was deleted. */
  #update(cached: CachedCollection): boolean {
    const { name, part, rules } = cached;
    const head = this.#heads.find(part);
    if (head === undefined) {
      this.#forget(cached);
      return false;
    }
    if (head.version !== rules.version) {
      const row = this.#collectionRows.find(name);
      if (row?.part === part) cached.redefine(row);
    }
    cached.update(head);
    if (head.revision - cached.cachedRevision >= maxRevisionsUnread)
      this.#cached.removeChanged(cached);
    return true;
  }

  /** Removes the resources too: changes in a collection that is not known are not noticed. */
  #forget({ name, part }: CachedCollection): void {
    this.#known.delete(name);
    this.#cached.forget(part);
  }
}

/** With more new revisions than this, clearing the whole collection is cheaper than reading the changes. */
const maxRevisionsBehind = 1_000;

class CachedResources {
  readonly #resources: ResourceReader;
  readonly #cache: ResourceCache;

  constructor(resources: ResourceReader, limitBytes: number) {
    this.#resources = resources;
    this.#cache = new ResourceCache(limitBytes);
  }

  /** The changes must be removed before. */
  find({ part }: CachedCollection, id: string): Resource | undefined {
    const cached = this.#cache.find(part, id);
    if (cached) return cached;
    const resource = this.#resources.find(part, id);
    if (resource) this.#cache.add(part, resource);
    return resource;
  }

  /** Removes the resources from the cache that were written since it was last used. */
  removeChanged(known: CachedCollection): void {
    const { part, head, cachedRevision } = known;
    if (head.revision === cachedRevision) return;
    const oldest = Math.max(
      head.revision - maxRevisionsBehind,
      this.#resources.purgedRevision(part),
    );
    if (cachedRevision < oldest) this.#cache.deleteAllOf(part);
    else if (this.#cache.hasAnyOf(part))
      for (const id of this.#resources.changedSince(part, cachedRevision))
        this.#cache.delete(part, id);
    known.cachedRevision = head.revision;
  }

  forget(part: number): void {
    this.#cache.deleteAllOf(part);
  }
}
