// Local copies of queries that follow the feed, and writes that are stored first and sent when there is a network.

import type { Client } from "../index.ts";
import type { AnyCollections, CollectionTypes, Patch } from "../types.ts";
import { type AnyConflict, conflictsOf, decide, type SyncConflict } from "./conflicts.ts";
import { Copy, type CopyOptions } from "./copy.ts";
import { Feed } from "./feed.ts";
import { Journal, type Unsubscribe } from "./journal.ts";
import { nextWrite, Queue } from "./queue.ts";
import { failureOf, Rounds } from "./rounds.ts";
import { type CopyQuery, copyKey, type Failure, type Write, writeKey } from "./state.ts";
import { memory, type StoredRecord, type SyncStorage } from "./storage.ts";
import { type Message, Tabs } from "./tabs.ts";
import { newId, newWrite, Writes } from "./writes.ts";

export type { SyncConflict } from "./conflicts.ts";
export type { Copy, CopyOptions } from "./copy.ts";
export { indexedDb } from "./indexed-db.ts";
export type { Change, ToldProblem, Write, WriteKind } from "./state.ts";
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

/** A copy that nobody has asked for so long is dropped. */
const keepMs = 30 * 24 * 3_600_000;

type Typed<C> = { readonly [K in keyof C]: CollectionTypes };

export class Sync<C extends Typed<C> = AnyCollections> {
  readonly #storage: SyncStorage;
  readonly #journal: Journal;
  readonly #tabs: Tabs;
  readonly #rounds: Rounds;
  readonly #queue: Queue;
  readonly #feed: Feed;
  readonly #end = new AbortController();
  readonly #copies = new Map<string, Copy<CollectionTypes>>();
  /** The copies that this tab shows, and others. */
  readonly #asked = new Map<string, CopyQuery>();
  /** Rounds that another tab was asked for. */
  readonly #waiting = new Map<string, () => void>();
  #running: Promise<void> | undefined;
  #leads = false;
  #failure: Failure;
  #error: unknown;
  #conflicts: { readonly version: number; readonly list: readonly AnyConflict[] } | undefined;

  /** Reads what is stored, and begins to send and to read. */
  static async open<C extends Typed<C>>(
    client: Client<C>,
    options: SyncOptions = {},
  ): Promise<Sync<C>> {
    const sync = new Sync<C>(client, options);
    await sync.#journal.load();
    sync.#running = sync.#run();
    return sync;
  }

  private constructor(client: Client<C>, options: SyncOptions) {
    const { storage = memory(), everyMs = 2_000, waitMs = 1_000 } = options;
    const { signal } = this.#end;
    // It repeats requests itself, with keys that outlive the program.
    const api = client.with({ retries: 0 }) as unknown as Client;
    this.#storage = storage;
    this.#tabs = new Tabs(storage.name, (message) => this.#receive(message));
    this.#journal = new Journal(storage, (records) => this.#tabs.post({ records }));
    this.#rounds = new Rounds({ everyMs, waitMs }, signal);
    this.#queue = new Queue(api, this.#journal, signal);
    this.#feed = new Feed(api, this.#journal, this.#queue, signal);
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
    const copy = known ?? new Copy<C[N]>(this.#journal, key, query, matches);
    this.#copies.set(key, copy as unknown as Copy<CollectionTypes>);
    if (!known) this.#ask([[key, query]]);
    return copy;
  }

  /** Drops a copy and what only it has. */
  async forget({ key }: Pick<Copy<CollectionTypes>, "key">): Promise<void> {
    this.#copies.delete(key);
    this.#asked.delete(key);
    this.#tabs.post({ forgotten: key });
    // Rows are saved by one tab, or the news of one could undo those of the other.
    if (this.#leads) await this.#feed.drop(key);
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

  /** Several changes that happen together or not at all. */
  async together<T>(make: (write: Writes<C>) => T): Promise<T> {
    this.#end.signal.throwIfAborted();
    const { unsaved } = this.#journal;
    const write = newWrite(this.#journal);
    unsaved.add(write);
    try {
      const made = make(new Writes<C>(this.#journal, write));
      if (write.changes.length > 0) await this.#save(write);
      return made;
    } finally {
      unsaved.delete(write);
    }
  }

  async #save(write: Write): Promise<void> {
    await this.#journal.commit(() => [[writeKey(write), write]]);
    this.#wake();
  }

  /** Writes that are not yet sent, or were refused, in their order. */
  get pending(): readonly Write[] {
    return this.#journal.state.writes;
  }

  /** Refused writes. Others to the same resources wait behind them. */
  get conflicts(): readonly SyncConflict<C>[] {
    const version = this.#journal.version();
    if (this.#conflicts?.version !== version)
      this.#conflicts = { version, list: conflictsOf(this.#journal.state) };
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
    this.#end.signal.throwIfAborted();
    const decided = conflict as unknown as AnyConflict;
    await this.#journal.commit((state) => decide(state, decided, choice));
    this.#wake();
  }

  /** `offline` when the last request got no answer, or one that passes. */
  get status(): SyncStatus {
    return this.#failure ?? (nextWrite(this.#journal.state) ? "sending" : "idle");
  }

  /** Why the last round failed: a `Problem`, or an error of the storage. Undefined in other tabs. */
  get error(): unknown {
    return this.#error;
  }

  /** The listener is called after each change of anything. */
  subscribe = (listener: () => void): Unsubscribe => this.#journal.subscribe(listener);

  /** Sends and reads at once. Resolves when that has ended, also when it failed: see `status`. */
  now(): Promise<void> {
    if (this.#leads || this.#end.signal.aborted) return this.#rounds.now();
    const now = newId();
    this.#tabs.post({ now });
    return new Promise((resolve) => this.#waiting.set(now, resolve));
  }

  /** What is pending stays in the storage. */
  async close(): Promise<void> {
    this.#end.abort(new Error("The sync is closed."));
    globalThis.removeEventListener?.("online", this.#rounds.wake);
    if (!this.#leads) this.#tabs.close();
    await this.#running;
    await this.#journal.settled();
    this.#tabs.close();
    this.#storage.close?.();
  }

  /** One tab at a time. It reads what the one before has saved. */
  async #run(): Promise<void> {
    globalThis.addEventListener?.("online", this.#rounds.wake);
    this.#leads = await this.#tabs.lead();
    if (this.#leads) {
      if (this.#storage.name) await this.#journal.load().catch(() => undefined);
      this.#tabs.post({ leads: true });
      for (const resolve of this.#waiting.values()) void this.#rounds.now().then(resolve);
      await this.#rounds.run(
        () => this.#round(),
        (error) => this.#ended(error),
      );
    }
    for (const resolve of this.#waiting.values()) resolve();
  }

  async #round(): Promise<void> {
    await this.#queue.send();
    for (const [key, query] of [...this.#asked])
      if (this.#asked.has(key)) await this.#feed.read(key, query);
    for (const [key, query] of this.#journal.state.copies)
      if (!this.#asked.has(key) && Date.now() - query.readAt > keepMs) await this.#feed.drop(key);
  }

  #ended(error: unknown): void {
    this.#error = error;
    this.#setFailure(failureOf(error));
  }

  #setFailure(failure: Failure): void {
    const isNew = failure !== this.#failure;
    this.#failure = failure;
    if (isNew) this.#journal.notify();
    if (isNew && this.#leads) this.#tellEnd();
  }

  #wake(): void {
    if (this.#leads) this.#rounds.wake();
  }

  #ask(asked: readonly (readonly [string, CopyQuery])[], isMine = true): void {
    for (const [key, query] of asked) this.#asked.set(key, query);
    if (isMine) this.#tabs.post({ asked });
    else if (this.#leads) this.#tellEnd();
    this.#wake();
  }

  #receive({ records, asked, forgotten, leads, now, ended }: Message): void {
    if (records) this.#received(records);
    if (asked) this.#ask(asked, false);
    if (forgotten !== undefined) void this.#forgotten(forgotten);
    if (leads) void this.#journal.load().catch(() => undefined);
    if (leads) this.#tellAsked();
    if (leads) for (const waiting of this.#waiting.keys()) this.#tabs.post({ now: waiting });
    if (now && this.#leads) void this.#rounds.now().then(() => this.#tellEnd(now));
    if (ended) this.#setFailure(ended.failure);
    this.#waiting.get(ended?.now ?? "")?.();
    this.#waiting.delete(ended?.now ?? "");
  }

  #received(records: readonly StoredRecord[]): void {
    this.#journal.receive(records);
    if (records.some(([key]) => key.startsWith("write/"))) this.#wake();
  }

  /** Another tab forgets a copy. A tab that shows it asks for it again. */
  async #forgotten(key: string): Promise<void> {
    if (this.#copies.has(key)) return this.#tellAsked();
    this.#asked.delete(key);
    if (this.#leads) await this.#feed.drop(key).catch(() => undefined);
  }

  #tellAsked(): void {
    const asked = [...this.#copies].map(([key, { query }]) => [key, query] as const);
    if (asked.length > 0) this.#tabs.post({ asked });
  }

  #tellEnd(now?: string): void {
    this.#tabs.post({ ended: { failure: this.#failure, ...(now && { now }) } });
  }
}
