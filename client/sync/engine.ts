// Does the network work of all tabs with one storage, in the one of them whose turn it is.

import type { Client } from "../index.ts";
import { Feed } from "./feed.ts";
import { Journal } from "./journal.ts";
import { Queue } from "./queue.ts";
import { failureOf, type Pauses, Rounds } from "./rounds.ts";
import type { CopyQuery, Failure } from "./state.ts";
import type { StoredRecord, SyncStorage } from "./storage.ts";
import { type Message, Tabs } from "./tabs.ts";
import { newId } from "./writes.ts";

/** A copy that nobody has asked for so long is dropped. */
const keepMs = 30 * 24 * 3_600_000;

export class Engine {
  readonly journal: Journal;
  readonly #storage: SyncStorage;
  readonly #pauses: Pauses;
  readonly #tabs: Tabs;
  readonly #rounds: Rounds;
  readonly #queue: Queue;
  readonly #feed: Feed;
  readonly #end = new AbortController();
  /** The copies that this tab shows. */
  readonly #own = new Map<string, CopyQuery>();
  /** Those that any tab shows. */
  readonly #asked = new Map<string, CopyQuery>();
  /** Rounds that another tab was asked for. */
  readonly #waiting = new Map<string, () => void>();
  #running: Promise<void> | undefined;
  #leads = false;
  failure: Failure;
  error: unknown;

  constructor(client: Client, storage: SyncStorage, pauses: Pauses) {
    const { signal } = this.#end;
    this.#storage = storage;
    this.#pauses = pauses;
    this.#tabs = new Tabs(storage.name, (message) => this.#receive(message));
    this.journal = new Journal(storage, (records) => this.#tabs.post({ records }));
    this.#rounds = new Rounds(pauses, signal);
    this.#queue = new Queue(client, this.journal, signal);
    this.#feed = new Feed(client, this.journal, this.#queue, signal);
  }

  async open(): Promise<void> {
    try {
      await this.journal.load();
    } catch (error) {
      this.#tabs.close();
      throw error;
    }
    globalThis.addEventListener?.("online", this.#rounds.wake);
    this.#running = this.#run();
  }

  /** Saves, and begins a round. */
  async commit(change: Parameters<Journal["commit"]>[0]): Promise<void> {
    this.#end.signal.throwIfAborted();
    await this.journal.commit(change);
    this.#wake();
  }

  ask(key: string, query: CopyQuery): void {
    this.#own.set(key, query);
    this.#asked.set(key, query);
    this.#tabs.post({ asked: [[key, query]] });
    this.#wake();
  }

  async forget(key: string): Promise<void> {
    this.#own.delete(key);
    this.#asked.delete(key);
    this.#tabs.post({ forgotten: key });
    // Rows are saved by one tab, or the news of one could undo those of the other.
    if (this.#leads) await this.#feed.drop(key);
  }

  now(): Promise<void> {
    if (this.#leads || this.#end.signal.aborted) return this.#rounds.now();
    const now = newId();
    this.#tabs.post({ now });
    return new Promise((resolve) => this.#waiting.set(now, resolve));
  }

  async close(): Promise<void> {
    this.#end.abort(new Error("The sync is closed."));
    globalThis.removeEventListener?.("online", this.#rounds.wake);
    // The other tabs are told what was saved.
    await this.journal.settled();
    if (!this.#leads) this.#tabs.close();
    await this.#running;
    await this.journal.settled();
    this.#tabs.close();
    this.#storage.close?.();
  }

  async #run(): Promise<void> {
    // The tab whose turn it is may be in the background, where its timers seldom run.
    const timer = setInterval(() => this.#tabs.post({ isDue: true }), this.#pauses.everyMs);
    this.#leads = await this.#tabs.lead();
    clearInterval(timer);
    if (this.#leads) await this.#lead();
    for (const resolve of this.#waiting.values()) resolve();
  }

  async #lead(): Promise<void> {
    // What the tab before has saved.
    if (this.#storage.name) await this.journal.load().catch(() => undefined);
    this.#tabs.post({ leads: true });
    for (const resolve of this.#waiting.values()) void this.#rounds.now().then(resolve);
    await this.#rounds.run(
      () => this.#round(),
      (error) => this.#ended(error),
    );
  }

  async #round(): Promise<void> {
    await this.#queue.send();
    for (const [key, query] of [...this.#asked])
      if (this.#asked.has(key)) await this.#feed.read(key, query);
    for (const [key, { readAt }] of this.journal.state.copies)
      if (!this.#asked.has(key) && Date.now() - readAt > keepMs) await this.#feed.drop(key);
  }

  #ended(error: unknown): void {
    this.error = error;
    if (this.#setFailure(failureOf(error))) this.#tellEnd();
  }

  /** Returns whether it is another one than before. */
  #setFailure(failure: Failure): boolean {
    if (failure === this.failure) return false;
    this.failure = failure;
    this.journal.notify();
    return true;
  }

  #wake(): void {
    if (this.#leads) this.#rounds.wake();
  }

  #receive(message: Message): void {
    const { records, asked, forgotten, ended } = message;
    if (records) this.#saved(records);
    for (const [key, query] of asked ?? []) this.#asked.set(key, query);
    if (forgotten !== undefined) void this.#forgotten(forgotten);
    if (message.leads) this.#follow();
    if (ended) this.#setFailure(ended.failure);
    this.#waiting.get(ended?.now ?? "")?.();
    this.#waiting.delete(ended?.now ?? "");
    if (this.#leads) this.#serve(message);
  }

  /** What others want of the tab whose turn it is. */
  #serve({ asked, now, isDue }: Message): void {
    if (now) void this.#rounds.now().then(() => this.#tellEnd(now));
    if (isDue) this.#rounds.remind();
    if (!asked) return;
    this.#tellEnd();
    this.#wake();
  }

  /** It is the turn of another tab: it must know what this one wants. */
  #follow(): void {
    void this.journal.load().catch(() => undefined);
    this.#tellAsked();
    for (const now of this.#waiting.keys()) this.#tabs.post({ now });
  }

  #saved(records: readonly StoredRecord[]): void {
    this.journal.receive(records);
    if (records.some(([key]) => key.startsWith("write/"))) this.#wake();
  }

  /** Another tab forgets a copy. A tab that shows it asks for it again. */
  async #forgotten(key: string): Promise<void> {
    if (this.#own.has(key)) return this.#tellAsked();
    this.#asked.delete(key);
    if (this.#leads) await this.#feed.drop(key).catch(() => undefined);
  }

  #tellAsked(): void {
    this.#tabs.post({ asked: [...this.#own] });
  }

  #tellEnd(now?: string): void {
    this.#tabs.post({ ended: { failure: this.failure, ...(now && { now }) } });
  }
}
