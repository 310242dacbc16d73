// Group commit: what arrives while one commit is on its way goes together into the next.

import { type Change, Outage, type Outcome, type Store } from "./store.ts";

export interface GroupLimits {
  /** More changes than this waiting, and new ones are turned away while the wait is still short. */
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
}

const defaultLimits: GroupLimits = { maxWaiting: 4_096, maxWaitingBytes: 64 * 1024 * 1024 };

/** A batch stays small enough that the calls in it do not wait long for one another. */
const maxBatchChanges = 1_024;
const maxBatchBytes = 8 * 1024 * 1024;

/** The store with its commits gathered: one at a time, in order, without timers. */
export function grouped(store: Store, limits: Partial<GroupLimits> = {}): Store {
  const group = new Group(store, { ...defaultLimits, ...limits });
  return {
    collection: (name) => store.collection(name),
    collections: () => store.collections(),
    find: (collection, id) => store.find(collection, id),
    slice: (collection, range) => store.slice(collection, range),
    token: (hash) => store.token(hash),
    tokens: () => store.tokens(),
    commit: (changes) => group.commit(changes),
    ready: () => store.ready(),
    close: () => group.close(),
  };
}

interface Call {
  readonly changes: readonly Change[];
  readonly bytes: number;
  readonly resolve: (outcomes: readonly Outcome[]) => void;
  readonly reject: (reason: unknown) => void;
}

class Group {
  readonly #store: Store;
  readonly #limits: GroupLimits;
  #calls: Call[] = [];
  #waiting = 0;
  #waitingBytes = 0;
  #run: Promise<void> | undefined;
  #isClosed = false;

  constructor(store: Store, limits: GroupLimits) {
    this.#store = store;
    this.#limits = limits;
  }

  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    if (this.#isClosed) throw new Outage("unavailable", "the store is closed");
    if (changes.length === 0) return [];
    const bytes = sizeOf(changes);
    if (!this.#hasRoom(changes.length, bytes)) throw new Outage("busy", "too much is waiting");
    const outcomes = new Promise<readonly Outcome[]>((resolve, reject) => {
      this.#calls.push({ changes, bytes, resolve, reject });
    });
    this.#waiting += changes.length;
    this.#waitingBytes += bytes;
    this.#run ??= this.#commitAll();
    return outcomes;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#run;
    await this.#store.close();
  }

  /** One call that is larger than the limit by itself may pass when nothing else waits. */
  #hasRoom(changes: number, bytes: number): boolean {
    if (this.#waiting === 0) return true;
    const { maxWaiting, maxWaitingBytes } = this.#limits;
    return this.#waiting + changes <= maxWaiting && this.#waitingBytes + bytes <= maxWaitingBytes;
  }

  async #commitAll(): Promise<void> {
    while (this.#calls.length > 0) await this.#commitSome(this.#takeBatch());
    this.#run = undefined;
  }

  async #commitSome(calls: readonly Call[]): Promise<void> {
    try {
      const outcomes = await this.#store.commit(calls.flatMap((call) => call.changes));
      let start = 0;
      for (const { changes, resolve } of calls) {
        resolve(outcomes.slice(start, start + changes.length));
        start += changes.length;
      }
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }

  /** As many whole calls as fit into a batch; always at least one. */
  #takeBatch(): readonly Call[] {
    let count = 0;
    let changes = 0;
    let bytes = 0;
    for (const call of this.#calls) {
      const fits =
        changes + call.changes.length <= maxBatchChanges && bytes + call.bytes <= maxBatchBytes;
      if (count > 0 && !fits) break;
      count++;
      changes += call.changes.length;
      bytes += call.bytes;
    }
    this.#waiting -= changes;
    this.#waitingBytes -= bytes;
    return this.#calls.splice(0, count);
  }
}

function sizeOf(changes: readonly Change[]): number {
  let bytes = 0;
  for (const change of changes) if (change.kind === "put") bytes += change.fields.length;
  return bytes;
}
