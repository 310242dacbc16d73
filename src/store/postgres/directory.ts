// Reads collections, and caches their rows. Each read of a part also reads its head, which shows that a row is outdated.

import type { MaybePromise } from "../../lib/maybe-promise.ts";
import type { Collection, Rules } from "../../model/collection.ts";
import { Outage } from "../../model/outage.ts";
import type { Change } from "../store.ts";
import { BatchLoader } from "./batch-loader.ts";
import {
  type CollectionRow,
  currentCollections,
  findCollectionRows,
  findHeads,
  type HeadState,
  listCollections,
  toCollection,
} from "./collections.ts";
import type { Pool } from "./pool.ts";

/** What was read from a part, and the version of the definition in its head at that moment. */
export interface Versioned<T> {
  readonly version: number;
  readonly value: T;
}

interface DirectoryEntry {
  readonly row: CollectionRow;
  /** When the head last had the version of the row. */
  checkedAt: number;
}

interface DirectoryOptions {
  readonly maxInFlight: number;
  /** How long rules are returned without a look at the head. */
  readonly maxAgeMs: number;
}

/** When the cache is full it is cleared, which bounds the memory use. */
const maxEntries = 10_000;
/** A collection that is deleted or redefined during each of so many reads is not read any further. */
const maxAttempts = 20;

export class Directory {
  readonly #pool: Pool;
  readonly #maxAgeMs: number;
  readonly #rows: BatchLoader<string, CollectionRow | undefined>;
  readonly #heads: BatchLoader<number, HeadState | undefined>;
  readonly #entries = new Map<string, DirectoryEntry>();
  #invalidatedAt = 0;

  constructor(pool: Pool, { maxInFlight, maxAgeMs }: DirectoryOptions) {
    this.#pool = pool;
    this.#maxAgeMs = maxAgeMs;
    this.#rows = new BatchLoader((names) => this.#load(names), maxInFlight);
    this.#heads = new BatchLoader(
      (parts) => pool.read((sql) => findHeads(sql, parts)),
      maxInFlight,
    );
  }

  collection(name: string): Promise<Collection | undefined> {
    return this.#readHead(name, toCollection);
  }

  async collections(): Promise<readonly Collection[]> {
    const listed = await this.#pool.read(listCollections);
    return currentCollections(listed, (name) => this.collection(name));
  }

  rules(name: string): MaybePromise<Rules | undefined> {
    return this.#recentRules(name) ?? this.#readHead(name, ({ rules }) => rules);
  }

  /** Rules are returned only after the next look at the head. */
  invalidate(): void {
    this.#invalidatedAt = performance.now();
  }

  /** Returns the rules when they were checked recently. */
  #recentRules(name: string): Rules | undefined {
    const entry = this.#entries.get(name);
    if (!entry || entry.checkedAt <= this.#invalidatedAt) return undefined;
    return performance.now() - entry.checkedAt < this.#maxAgeMs ? entry.row.rules : undefined;
  }

  /** Reads from the part of a collection; again when the row was outdated. Undefined when there is no collection. */
  async read<T>(
    name: string,
    send: (row: CollectionRow) => Promise<Versioned<T> | undefined>,
  ): Promise<T | undefined> {
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const row = this.#entries.get(name)?.row ?? (await this.#rows.get(name));
      if (!row) return undefined;
      const readAt = performance.now();
      const found = await send(row);
      if (found?.version === row.rules.version) {
        this.#confirm(row, readAt);
        return found.value;
      }
      this.#forget(row);
    }
    throw new Outage("busy", `the collection "${name}" is changed too often`);
  }

  #readHead<T>(
    name: string,
    toValue: (row: CollectionRow, head: HeadState) => T,
  ): Promise<T | undefined> {
    return this.read(name, async (row) => {
      const head = await this.#heads.get(row.part);
      return head && { version: head.version, value: toValue(row, head) };
    });
  }

  #confirm(row: CollectionRow, readAt: number): void {
    const entry = this.#entries.get(row.name);
    if (entry?.row === row && entry.checkedAt < readAt) entry.checkedAt = readAt;
  }

  #forget(row: CollectionRow): void {
    if (this.#entries.get(row.name)?.row === row) this.#entries.delete(row.name);
  }

  /** Missing collections are not cached, so that a new one is found at once. */
  async #load(names: readonly string[]): Promise<readonly (CollectionRow | undefined)[]> {
    const loaded = await this.#pool.read((sql) => findCollectionRows(sql, names));
    if (this.#entries.size + names.length > maxEntries) this.#entries.clear();
    for (const row of loaded) if (row) this.#entries.set(row.name, { row, checkedAt: 0 });
    return loaded;
  }
}

/** Whether it changes what nodes cache: tokens or definitions. */
export const changesCachedData = ({ kind }: Change): boolean =>
  kind.endsWith("-token") || kind === "define" || kind === "drop";
