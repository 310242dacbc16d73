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
    rules: (collection) => store.rules(collection),
    find: (collection, id) => store.find(collection, id),
    slice: (collection, range) => store.slice(collection, range),
    query: (collection, query) => store.query(collection, query),
    since: (collection, position, limit, maxBytes) =>
      store.since(collection, position, limit, maxBytes),
    named: (keys) => store.named(keys),
    token: (hash) => store.token(hash),
    tokens: () => store.tokens(),
    commit: (changes) => group.commit(changes),
    ready: () => store.ready(),
    close: () => group.close(),
  };
}

interface Call {
  readonly changes: readonly Change[];
  /** Those within units counted one by one. */
  readonly count: number;
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
    const count = countOf(changes);
    const bytes = sizeOf(changes);
    if (!this.#hasRoom(count, bytes)) throw new Outage("busy", "too much is waiting");
    const outcomes = new Promise<readonly Outcome[]>((resolve, reject) => {
      this.#calls.push({ changes, count, bytes, resolve, reject });
    });
    this.#waiting += count;
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
  #hasRoom(count: number, bytes: number): boolean {
    if (this.#waiting === 0) return true;
    const { maxWaiting, maxWaitingBytes } = this.#limits;
    return this.#waiting + count <= maxWaiting && this.#waitingBytes + bytes <= maxWaitingBytes;
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
    let calls = 0;
    let count = 0;
    let bytes = 0;
    for (const call of this.#calls) {
      const fits = count + call.count <= maxBatchChanges && bytes + call.bytes <= maxBatchBytes;
      if (calls > 0 && !fits) break;
      calls++;
      count += call.count;
      bytes += call.bytes;
    }
    this.#waiting -= count;
    this.#waitingBytes -= bytes;
    return this.#calls.splice(0, calls);
  }
}

/** A unit counts as what is in it, and as one when it is empty. */
function countOf(changes: readonly Change[]): number {
  let count = 0;
  for (const change of changes)
    count += change.kind === "all" ? Math.max(1, change.changes.length) : 1;
  return count;
}

function sizeOf(changes: readonly Change[]): number {
  let bytes = 0;
  for (const change of changes)
    if (change.kind === "put") bytes += change.fields.length + (change.parts?.length ?? 0);
    else if (change.kind === "all") bytes += sizeOf(change.changes);
    else if (change.kind === "define") bytes += change.definition.length;
  return bytes;
}
