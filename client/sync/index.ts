// Local copies of queries that follow the feed, and writes that are stored first and sent when there is a network.

import type { Client } from "../index.ts";
import type { AnyCollections, CollectionTypes, Patch } from "../types.ts";
import { type AnyConflict, conflictsOf, decide, type SyncConflict } from "./conflicts.ts";
import { Copy, type CopyOptions } from "./copy.ts";
import { Engine } from "./engine.ts";
import type { Unsubscribe } from "./journal.ts";
import { nextWrite } from "./queue.ts";
import { type CopyQuery, copyKey, type Failure, type Write, writeKey } from "./state.ts";
import { memory, type SyncStorage } from "./storage.ts";
import { newWrite, Writes } from "./writes.ts";

export type { SyncConflict } from "./conflicts.ts";
export type { Copy, CopyOptions } from "./copy.ts";
export { indexedDb } from "./indexed-db.ts";
export type { PendingChange, ToldProblem, Write, WriteKind } from "./state.ts";
export { memory, type StoredRecord, type SyncStorage } from "./storage.ts";
export type { Writes } from "./writes.ts";

export type SyncStatus = "idle" | "sending" | NonNullable<Failure>;

export interface SyncOptions {
  /** In memory by default. */
  readonly storage?: SyncStorage;
  /** How often the feeds are read; 2 seconds by default. */
  readonly everyMs?: number;
  /** How long it waits after the first failure, then twice as long each time; 1 second by default. */
  readonly waitMs?: number;
}

type Typed<C> = { readonly [K in keyof C]: CollectionTypes };

export class Sync<C extends Typed<C> = AnyCollections> {
  readonly #engine: Engine;
  readonly #copies = new Map<string, Copy<CollectionTypes>>();
  #conflicts: { readonly version: number; readonly list: readonly AnyConflict[] } | undefined;

  /** Reads what is stored, and begins to send and to read. */
  static async open<C extends Typed<C>>(
    client: Client<C>,
    options: SyncOptions = {},
  ): Promise<Sync<C>> {
    const { storage = memory(), everyMs = 2_000, waitMs = 1_000 } = options;
    // It repeats requests itself, with keys that outlive the program.
    const api = client.with({ retries: 0 }) as unknown as Client;
    const engine = new Engine(api, storage, { everyMs, waitMs });
    await engine.open();
    return new Sync<C>(engine);
  }

  private constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The same query is the same copy, also in later sessions. */
  copy<N extends keyof C & string>(
    collection: N,
    options: CopyOptions<C[N]["resource"]> = {},
  ): Copy<C[N]> {
    const { where, matches } = options;
    const query: CopyQuery = { collection, ...(where && { where }) };
    const key = copyKey(query);
    const known = this.#copies.get(key) as unknown as Copy<C[N]> | undefined;
    const copy = known ?? new Copy<C[N]>(this.#engine.journal, key, query, matches);
    this.#copies.set(key, copy as unknown as Copy<CollectionTypes>);
    if (!known) this.#engine.ask(key, query);
    return copy;
  }

  /** Drops a copy and what only it has. */
  async forget({ key }: Pick<Copy<CollectionTypes>, "key">): Promise<void> {
    this.#copies.delete(key);
    await this.#engine.forget(key);
  }

  /** Returns when it is stored. The id is made here. */
  create<N extends keyof C & string>(
    collection: N,
    draft: C[N]["draft"],
  ): Promise<C[N]["resource"]> {
    return this.together((write) => write.create(collection, draft));
  }

  update<N extends keyof C & string>(
    collection: N,
    target: C[N]["resource"] | string,
    patch: Patch<C[N]["draft"]>,
  ): Promise<C[N]["resource"]> {
    return this.together((write) => write.update(collection, target, patch));
  }

  replace<N extends keyof C & string>(
    collection: N,
    target: C[N]["resource"] | string,
    draft: C[N]["draft"],
  ): Promise<C[N]["resource"]> {
    return this.together((write) => write.replace(collection, target, draft));
  }

  remove<N extends keyof C & string>(
    collection: N,
    target: C[N]["resource"] | string,
  ): Promise<void> {
    return this.together((write) => write.remove(collection, target));
  }

  /** Several changes that happen together or not at all. `make` makes all of them before it returns. */
  async together<T>(make: (write: Writes<C>) => T): Promise<T> {
    const { journal } = this.#engine;
    const write = newWrite(journal);
    journal.unsaved.add(write);
    try {
      const made = make(new Writes<C>(journal, write));
      Object.freeze(write.changes);
      if (write.changes.length > 0) await this.#engine.commit(() => [[writeKey(write), write]]);
      return made;
    } finally {
      journal.unsaved.delete(write);
    }
  }

  /** Writes that are not yet sent, or were refused, in their order. */
  get pending(): readonly Write[] {
    return this.#engine.journal.state.writes;
  }

  /** Refused writes. Others to the same resources wait behind them. */
  get conflicts(): readonly SyncConflict<C>[] {
    const { journal } = this.#engine;
    const version = journal.version();
    if (this.#conflicts?.version !== version)
      this.#conflicts = { version, list: conflictsOf(journal.state) };
    return this.#conflicts.list as unknown as readonly SyncConflict<C>[];
  }

  /**
   * `mine` sends the change again, made from the current state. `theirs` drops it, and what waits behind it.
   * A merge patch of the current state replaces it.
   */
  async resolve<K extends SyncConflict<C>>(
    conflict: K,
    choice: "mine" | "theirs" | Patch<C[K["collection"]]["draft"]>,
  ): Promise<void> {
    const decided = conflict as unknown as AnyConflict;
    await this.#engine.commit((state) => decide(state, decided, choice));
  }

  /** `offline` when the last request got no answer, or one that passes. */
  get status(): SyncStatus {
    const { failure, journal } = this.#engine;
    return failure ?? (nextWrite(journal.state) ? "sending" : "idle");
  }

  /** Why the last round failed: a `Problem`, or an error of the storage. Undefined in other tabs. */
  get error(): unknown {
    return this.#engine.error;
  }

  /** The listener is called after each change of anything. */
  subscribe = (listener: () => void): Unsubscribe => this.#engine.journal.subscribe(listener);

  /** Sends and reads at once. Resolves when that has ended, also when it failed: see `status`. */
  now(): Promise<void> {
    return this.#engine.now();
  }

  /** What is pending stays in the storage. */
  close(): Promise<void> {
    return this.#engine.close();
  }
}
