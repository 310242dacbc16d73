// Changes what is in memory and in the storage, in one order: first it is saved, then it is shown.

import { type Row, rowKey, State, type Write } from "./state.ts";
import type { StoredRecord, SyncStorage } from "./storage.ts";

export type Unsubscribe = () => void;

interface Listener {
  /** All collections, if it is left out. */
  readonly collection: string | undefined;
  readonly call: () => void;
}

export class Journal {
  readonly state = new State();
  /** Writes that are being saved. */
  readonly unsaved = new Set<Write>();
  readonly #storage: SyncStorage;
  readonly #tell: (records: readonly StoredRecord[]) => void;
  readonly #listeners = new Set<Listener>();
  readonly #versions = new Map<string | undefined, number>();
  #turn: Promise<unknown> = Promise.resolve();

  /** `tell` gets what was saved. */
  constructor(storage: SyncStorage, tell: (records: readonly StoredRecord[]) => void) {
    this.#storage = storage;
    this.#tell = tell;
  }

  /** Reads everything, also what other tabs have saved. */
  load(): Promise<void> {
    return this.#next(() => this.#load());
  }

  /** `change` sees all changes before it. When the storage fails, it rejects, and nothing has changed. */
  commit(change: (state: State) => readonly StoredRecord[]): Promise<void> {
    return this.#next(async () => {
      const records = change(this.state);
      if (records.length === 0) return;
      await this.#save(records);
      this.#tell(records);
      this.#apply(records);
    });
  }

  /** Resolves when everything that was begun is saved or has failed. */
  async settled(): Promise<void> {
    await this.#turn;
  }

  /** What another tab has saved. */
  receive(records: readonly StoredRecord[]): void {
    void this.#next(async () => this.#apply(records));
  }

  /** Changes with each change of a collection, or of anything. */
  version(collection?: string): number {
    return this.#versions.get(collection) ?? 0;
  }

  subscribe(call: () => void, collection?: string): Unsubscribe {
    const listener = { call, collection };
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls the listeners of these collections, and those of all. */
  notify(collections: ReadonlySet<string> = new Set()): void {
    for (const name of [undefined, ...collections])
      this.#versions.set(name, this.version(name) + 1);
    for (const { collection, call } of this.#listeners)
      if (collection === undefined || collections.has(collection)) queueMicrotask(call);
  }

  /** After a failure, what is in memory is what is stored: somebody may have deleted it. */
  #save(records: readonly StoredRecord[]): Promise<void> {
    return this.#storage.save(records).catch(async (error) => {
      await this.#load().catch(() => undefined);
      throw error;
    });
  }

  async #load(): Promise<void> {
    const stored = await this.#storage.load();
    const keys = new Set(stored.map(([key]) => key));
    const gone = this.state.keys().filter((key) => !keys.has(key));
    this.#apply([...stored, ...gone.map((key) => [key, undefined] as const)]);
  }

  #next(act: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(act);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  #apply(records: readonly StoredRecord[]): void {
    this.notify(this.state.apply(records));
  }
}

/** The record of a row, which stays while a copy has it or a write waits for it. */
export function rowRecord(state: State, row: Row, without: ReadonlySet<Write>): StoredRecord {
  const { collection, resource } = row;
  const isNeeded =
    Object.keys(row.in).length > 0 ||
    state.writes.some(
      (write) =>
        !without.has(write) &&
        write.changes.some((one) => one.collection === collection && one.id === resource.id),
    );
  return [rowKey({ collection, id: resource.id }), isNeeded ? row : undefined];
}
