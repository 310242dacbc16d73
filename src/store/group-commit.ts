// Groups commits: calls that arrive while a commit is in progress are committed together in the next one.

import { setImmediate as turn } from "node:timers/promises";
import { type Metrics, secondsBounds } from "../lib/metrics.ts";
import { Outage } from "../model/outage.ts";
import { failureOf, isDeletion, isFailure } from "./change.ts";
import type { Change, Outcome, Store } from "./store.ts";

export interface GroupOptions {
  /** When more changes than this are waiting, new ones are rejected, so that the wait stays short. */
  readonly maxWaiting: number;
  readonly maxWaitingBytes: number;
  /** Whether calls for different collections are committed separately, at the same time. */
  readonly isByCollection: boolean;
  /** How many batches are sent to the store before the first of them is committed. */
  readonly maxInFlight: number;
  /** Whether the store has no processor of its own, so that it never works while calls arrive. */
  readonly sharesProcessor: boolean;
  /** Where commits are counted. */
  readonly metrics: Metrics | undefined;
}

const defaultOptions: GroupOptions = {
  maxWaiting: 4_096,
  maxWaitingBytes: 64 * 1024 * 1024,
  isByCollection: false,
  maxInFlight: 1,
  sharesProcessor: false,
  metrics: undefined,
};

/** Batches are small enough that the calls in them do not wait long for each other. */
const maxBatchChanges = 1_024;
const maxBatchBytes = 8 * 1024 * 1024;
/** So few calls are not divided. */
const minBatchCalls = 8;

/** The changes in a commit, for the metrics. */
const changesBounds = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];

/** Wraps a store so that its commits are grouped: one at a time, in order, without timers. */
export function withGroupCommit(store: Store, options: Partial<GroupOptions> = {}): Store {
  const queue = new CommitQueue(store, { ...defaultOptions, ...options });
  return {
    version: () => store.version?.(),
    tokenVersion: () => store.tokenVersion?.(),
    collection: (name) => store.collection(name),
    collections: () => store.collections(),
    rules: (collection) => store.rules(collection),
    find: (collection, id) => store.find(collection, id),
    findAll: (collection, ids) => store.findAll(collection, ids),
    findUnique: (collection, entry) => store.findUnique(collection, entry),
    slice: (collection, range, options) => store.slice(collection, range, options),
    query: (collection, query, options) => store.query(collection, query, options),
    since: (collection, position, range) => store.since(collection, position, range),
    indexBuild: (collection) => store.indexBuild(collection),
    secret: () => store.secret(),
    findReferencedFiles: (keys) => store.findReferencedFiles(keys),
    fileBytes: (owner) => store.fileBytes(owner),
    token: (hash) => store.token(hash),
    findToken: (id) => store.findToken(id),
    tokens: (range) => store.tokens(range),
    countTokens: (subject) => store.countTokens(subject),
    commit: (changes) => queue.commit(changes),
    erase: (erasure) => store.erase(erasure),
    scrub: (options) => store.scrub(options),
    setQueryDeadline: (ms) => store.setQueryDeadline(ms),
    watch: (listener) => store.watch(listener),
    ready: () => store.ready(),
    close: () => queue.close(),
  };
}

interface CommitCall {
  readonly changes: readonly Change[];
  /** The number of changes, including those inside `all`. */
  readonly count: number;
  readonly bytes: number;
  readonly resolve: (outcomes: readonly Outcome[]) => void;
  readonly reject: (reason: unknown) => void;
}

/** Calls that are committed together, in order. */
interface Lane {
  readonly calls: CommitCall[];
  /** The number of calls in the batch before. */
  formerCalls: number;
  /** The number of batches that the store has not committed yet. */
  inFlight: number;
  /** Whether a change of the last batch failed, as when many callers change one resource, and try again. */
  isContended: boolean;
}

class CommitQueue {
  readonly #store: Store;
  readonly #options: GroupOptions;
  readonly #lanes = new Map<string, Lane>();
  readonly #running = new Set<Promise<void>>();
  #waiting = 0;
  #waitingBytes = 0;
  #isClosed = false;
  readonly #measure: (changes: number, ms: number) => void;

  constructor(store: Store, options: GroupOptions) {
    this.#store = store;
    this.#options = options;
    this.#measure = options.metrics ? this.#measureIn(options.metrics) : () => undefined;
  }

  #measureIn(metrics: Metrics): (changes: number, ms: number) => void {
    const seconds = metrics.histogram(
      "restante_commit_duration_seconds",
      "How long commits took until they were on disk.",
      secondsBounds,
    );
    const sizes = metrics.histogram(
      "restante_commit_changes",
      "How many changes a commit had.",
      changesBounds,
    );
    metrics.gauge(
      "restante_commit_waiting_changes",
      "How many changes wait for the next commit.",
      () => this.#waiting,
    );
    return (changes, ms) => {
      sizes.add(changes);
      seconds.add(ms / 1_000);
    };
  }

  /** Not an async function: returning its promise would take three more turns of the microtask queue. */
  commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new Outage("unavailable", "the store is closed");
      if (changes.length === 0) return resolve([]);
      const count = countOf(changes);
      const bytes = sizeOf(changes);
      if (!this.#hasRoom(count, bytes)) throw new Outage("busy", "too many writes are waiting");
      const name = this.#laneOf(changes);
      const lane = this.#lane(name);
      lane.calls.push({ changes, count, bytes, resolve, reject });
      this.#waiting += count;
      this.#waitingBytes += bytes;
      this.#startDue(name, lane);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    while (this.#running.size > 0) await Promise.all(this.#running);
    await this.#store.close();
  }

  /** A store commits calls with a common collection in the order in which it gets them. */
  #laneOf(changes: readonly Change[]): string {
    return this.#options.isByCollection ? collectionsIn(changes).toSorted().join("\n") : "";
  }

  /** A call that is larger than the limit is accepted when nothing else is waiting. */
  #hasRoom(count: number, bytes: number): boolean {
    if (this.#waiting === 0) return true;
    const { maxWaiting, maxWaitingBytes } = this.#options;
    return this.#waiting + count <= maxWaiting && this.#waitingBytes + bytes <= maxWaitingBytes;
  }

  #lane(name: string): Lane {
    const idle = { formerCalls: 0, inFlight: 0, isContended: false };
    const lane = this.#lanes.get(name) ?? { calls: [], ...idle };
    this.#lanes.set(name, lane);
    return lane;
  }

  #startDue(name: string, lane: Lane): void {
    if (!this.#isDue(lane)) return;
    const run = this.#commitNext(name, lane).finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** A batch that follows another before its end has as many calls, so that batches do not become small. */
  #isDue({ calls, formerCalls, inFlight }: Lane): boolean {
    if (inFlight === 0) return calls.length > 0;
    const least = Math.max(formerCalls, minBatchCalls);
    return inFlight < this.#options.maxInFlight && calls.length >= least;
  }

  /**
   * Starts the next commit before the calls of this one go on, so that the store does not wait for them.
   * Where only one of the two can work at a time, these callers go on first, and it takes what they send next, too.
   */
  async #commitNext(name: string, lane: Lane): Promise<void> {
    lane.inFlight++;
    const settle = await this.#commitSome(lane, this.#takeBatch(lane));
    const takesAll = this.#takesAll(lane);
    if (takesAll) {
      settle();
      await untilAllHaveCome(lane.calls);
    }
    lane.inFlight--;
    this.#startDue(name, lane);
    if (lane.inFlight === 0) this.#lanes.delete(name);
    if (!takesAll) settle();
  }

  /** Of callers that change one resource, only the first in a batch succeeds, so that small ones cost less. */
  #takesAll({ isContended }: Lane): boolean {
    return this.#options.sharesProcessor && !isContended;
  }

  /** Returns a function that settles the calls. On a full disk, what only deletes is committed without the rest. */
  async #commitSome(lane: Lane, calls: readonly CommitCall[]): Promise<() => void> {
    try {
      const startedAt = performance.now();
      const sent = calls.flatMap((call) => call.changes);
      const outcomes = await this.#store.commit(sent);
      lane.isContended = outcomes.some((outcome) => isFailure(failureOf(outcome)));
      this.#measure(sent.length, performance.now() - startedAt);
      return () => {
        let start = 0;
        for (const { changes, resolve } of calls) {
          resolve(outcomes.slice(start, start + changes.length));
          start += changes.length;
        }
      };
    } catch (error) {
      const deletions = calls.filter(({ changes }) => changes.every(isDeletion));
      const isFull = error instanceof Outage && error.reason === "full";
      const again = isFull && deletions.length < calls.length ? deletions : [];
      const settle = again.length > 0 ? await this.#commitSome(lane, again) : undefined;
      return () => {
        settle?.();
        for (const call of calls) if (!again.includes(call)) call.reject(error);
      };
    }
  }

  /**
   * Takes as many calls as fit into a batch, but at least one. With many callers it takes about half of
   * them: the store commits these while the others are answered and send their next requests.
   */
  #takeBatch(lane: Lane): readonly CommitCall[] {
    const { calls: waiting, formerCalls } = lane;
    const half = Math.ceil((waiting.length + formerCalls) / 2);
    const most = this.#takesAll(lane) ? waiting.length : Math.max(half, minBatchCalls);
    let calls = 0;
    let count = 0;
    let bytes = 0;
    for (const call of waiting) {
      const fits = count + call.count <= maxBatchChanges && bytes + call.bytes <= maxBatchBytes;
      if (calls === most || (calls > 0 && !fits)) break;
      calls++;
      count += call.count;
      bytes += call.bytes;
    }
    this.#waiting -= count;
    this.#waitingBytes -= bytes;
    lane.formerCalls = calls;
    return waiting.splice(0, calls);
  }
}

/** Resolves when no more calls come, or when there are enough for a batch. */
async function untilAllHaveCome(calls: readonly CommitCall[]): Promise<void> {
  for (let before = -1; before < calls.length && calls.length < maxBatchChanges; ) {
    before = calls.length;
    // Sockets are read between turns, but perhaps not before the first one.
    await turn();
    await turn();
  }
}

/** Counts the changes inside `all`; an empty `all` counts as one. */
function countOf(changes: readonly Change[]): number {
  let count = 0;
  for (const change of changes)
    count += change.kind === "all" ? Math.max(1, change.changes.length) : 1;
  return count;
}

function sizeOf(changes: readonly Change[]): number {
  let bytes = 0;
  for (const change of changes)
    if (change.kind === "put") bytes += change.fields.length + (change.files?.length ?? 0);
    else if (change.kind === "operate") bytes += change.bytes + change.operations.length;
    else if (change.kind === "all") bytes += sizeOf(change.changes);
    else if (change.kind === "define") bytes += change.definition.length;
  return bytes;
}

/** Returns the names of the collections that the changes refer to; tokens count as one with an empty name. */
export function collectionsIn(changes: readonly Change[]): readonly string[] {
  const names = new Set<string>();
  for (const change of changes)
    if (change.kind === "all") for (const name of collectionsIn(change.changes)) names.add(name);
    else names.add("collection" in change ? change.collection : "");
  return [...names];
}
