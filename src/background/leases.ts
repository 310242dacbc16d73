// Lets one process at a time do a duty, and refuses what a process sends that has lost it.

import { randomUUID } from "node:crypto";
import { leasesName } from "../model/system-collections.ts";
import type { Outcome, ResourceChange, Store } from "../store/store.ts";
import { defineSystemCollection } from "./system-definitions.ts";

const renewMs = 5_000;
/** No clocks of two processes are compared: each measures how long it has seen the same revision. */
const freeAfterMs = 15_000;

export interface LeasesOptions {
  /** Whether no other process can have the store: then this one holds every lease, and nothing is written. */
  readonly isAlone: boolean;
  /** Milliseconds since any start; never set back. */
  readonly now?: () => number;
}

interface SeenLease {
  readonly revision: number;
  readonly at: number;
}

export class Leases {
  readonly #store: Store;
  readonly #isAlone: boolean;
  readonly #now: () => number;
  /** The leases of others, as they were seen first in this state. */
  readonly #seen = new Map<string, SeenLease>();
  readonly #held = new Set<string>();

  constructor(store: Store, { isAlone, now = () => performance.now() }: LeasesOptions) {
    this.#store = store;
    this.#isAlone = isAlone;
    this.#now = now;
  }

  /** Does the work while it holds the lease. Returns false, without doing it, while another holds it. */
  async run(name: string, work: (lease: Lease) => Promise<void>): Promise<boolean> {
    if (this.#held.has(name)) return false;
    this.#held.add(name);
    try {
      const lease = await this.#take(name);
      if (lease === undefined) return false;
      // An outage ends the lease when it lasts.
      const timer = setInterval(() => void lease.renew().catch(() => undefined), renewMs);
      timer.unref();
      try {
        await work(lease);
      } finally {
        clearInterval(timer);
        await lease.release();
      }
      return true;
    } finally {
      this.#held.delete(name);
    }
  }

  async #take(name: string): Promise<Lease | undefined> {
    const lease = new Lease(this.#store, name, this.#now);
    if (this.#isAlone) return lease;
    await defineSystemCollection(this.#store, leasesName);
    const found = await this.#store.find(leasesName, name);
    if (found !== undefined && !this.#isFree(name, found.revision)) return undefined;
    return (await lease.take(found?.revision)) ? lease : undefined;
  }

  #isFree(name: string, revision: number): boolean {
    const seen = this.#seen.get(name);
    if (seen?.revision === revision) return this.#now() - seen.at >= freeAfterMs;
    this.#seen.set(name, { revision, at: this.#now() });
    return false;
  }
}

class Lease {
  readonly #store: Store;
  readonly #now: () => number;
  readonly #id: string;
  /** Only this one has it, so that it knows what it has written. */
  readonly #fields = JSON.stringify({ holder: randomUUID() });
  /** Undefined when it is not in the store. */
  #revision: number | undefined;
  #isLost = false;
  #renewedAt = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(store: Store, id: string, now: () => number) {
    this.#store = store;
    this.#id = id;
    this.#now = now;
  }

  /** False when another process holds it or may do so. What has effects outside the store asks before each. */
  get isHeld(): boolean {
    if (this.#revision === undefined) return true;
    return !this.#isLost && this.#now() - this.#renewedAt < freeAfterMs;
  }

  /**
   * Applies all changes or none. When another process holds the lease, none is applied and `isHeld` is false:
   * the revision of the lease must be the same at the commit.
   */
  commit(changes: readonly ResourceChange[]): Promise<Outcome | undefined> {
    return this.#inTurn(async () => {
      const [outcome] = await this.#store.commit([
        { kind: "all", changes: changes.map((change) => this.#fenced(change)) },
      ]);
      if (outcome?.kind === "none" && outcome.outcome.kind === "stale") await this.#look();
      return outcome;
    });
  }

  /** Takes a lease that nobody has, or that has this revision. Returns whether it is held. */
  async take(revision: number | undefined): Promise<boolean> {
    return this.#put(revision ?? "nothing");
  }

  renew(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#revision === undefined || this.#isLost) return;
      if (!(await this.#put(this.#revision))) await this.#look();
    });
  }

  /** When that fails, others wait until it is free. */
  release(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#revision === undefined || this.#isLost) return;
      const remove = { kind: "remove", collection: leasesName, id: this.#id } as const;
      const change = { ...remove, expect: this.#revision, at: Date.now() };
      this.#isLost = true;
      await this.#store.commit([change]).catch(() => undefined);
    });
  }

  async #put(expect: "nothing" | number): Promise<boolean> {
    const sentAt = this.#now();
    const put = {
      kind: "put",
      collection: leasesName,
      id: this.#id,
      fields: this.#fields,
    } as const;
    const [outcome] = await this.#store.commit([{ ...put, expect, at: Date.now() }]);
    if (outcome?.kind !== "created" && outcome?.kind !== "replaced") return false;
    this.#revision = outcome.resource.revision;
    this.#renewedAt = sentAt;
    return true;
  }

  /** A renewal whose outcome nobody heard can have changed the revision. */
  async #look(): Promise<void> {
    if (this.#revision === undefined) return;
    const found = await this.#store.find(leasesName, this.#id);
    if (found?.fields === this.#fields) this.#revision = found.revision;
    else this.#isLost = true;
  }

  #fenced<C extends ResourceChange>(change: C): C {
    if (this.#revision === undefined) return change;
    const state = { collection: leasesName, id: this.#id, revision: this.#revision };
    return { ...change, unchanged: [...(change.unchanged ?? []), state] };
  }

  /** One after another, so that a renewal does not make a commit stale. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
