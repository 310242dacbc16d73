// Does work that is kept as resources of a system collection until it is done, each when it is due.

import type { Task, Tasks } from "../lib/tasks.ts";
import type { Query } from "../model/query/query.ts";
import type { Resource } from "../model/resource.ts";
import type { ResourceChange, Store } from "../store/store.ts";

/** Work whose process ends, or that takes longer, is begun again by any process. */
const takenMs = 60_000;
const longestRetryMs = 6 * 60 * 60_000;
/** A timer cannot wait much longer. */
const longestWaitMs = 24 * 60 * 60_000;
/** How much is done at once. */
const atOnce = 8;

/** What a resource has besides what the work needs. */
interface DueFields {
  /** In milliseconds since 1970. */
  readonly due: number;
  /** How often it was begun. */
  readonly tries: number;
}

export interface DueWorkOptions<Fields> {
  readonly store: Store;
  readonly tasks: Tasks;
  readonly clock: () => number;
  /** The name of the task. */
  readonly name: string;
  /** Has an index over `due`. */
  readonly collection: string;
  /** The pause after the first failure; it doubles with each one that follows. */
  readonly retryMs: number;
  /**
   * What it returns is committed with the removal of the work, all or nothing, so it has effect once. What it
   * does outside the store can happen again: after a kill, and beside another process that was held up.
   */
  readonly perform: (work: Fields & DueFields, id: string) => Promise<readonly ResourceChange[]>;
}

export class DueWork<Fields> {
  readonly #options: DueWorkOptions<Fields>;
  readonly #task: Task;
  readonly #unwatch: () => void;
  /** The revision of the collection when it was read last. */
  #revision = -1;
  #isLooking = false;

  constructor(options: DueWorkOptions<Fields>) {
    const { store, tasks, name } = options;
    this.#options = options;
    this.#task = tasks.add({ name, run: (isStopped) => this.#run(isStopped) });
    this.#unwatch = store.watch(() => void this.#look());
    this.#task.schedule(0);
  }

  /** Waits for the work in progress. */
  async close(): Promise<void> {
    this.#unwatch();
    await this.#task.close();
  }

  /** Called after every commit, of any process. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      const { store, collection } = this.#options;
      const found = await store.collection(collection);
      if (found !== undefined && found.revision !== this.#revision) this.#task.schedule(0);
    } catch {
      // The next call looks again, which comes within a second.
    } finally {
      this.#isLooking = false;
    }
  }

  /** Does all that is due, and waits for the next. Rejects when some of it has failed, so that it is seen. */
  async #run(isStopped: () => boolean): Promise<void> {
    const { store, clock, collection } = this.#options;
    const failures: unknown[] = [];
    while (!isStopped()) {
      const page = await store.query(collection, firstDue);
      if (page === undefined) return;
      this.#revision = page.collection.revision;
      const all = page.resources.map((resource) => ({ resource, ...this.#fieldsOf(resource) }));
      const due = all.filter((each) => each.due <= clock());
      if (due.length === 0) {
        const [next] = all;
        if (next) this.#task.schedule(Math.min(longestWaitMs, next.due - clock()));
        break;
      }
      failures.push(...(await Promise.all(due.map(({ resource }) => this.#take(resource)))).flat());
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Does nothing when another process has taken it. Returns what was thrown. */
  async #take(resource: Resource): Promise<readonly unknown[]> {
    const { clock, perform, retryMs } = this.#options;
    const fields = this.#fieldsOf(resource);
    const taken = { ...fields, due: clock() + takenMs, tries: fields.tries + 1 };
    const revision = await this.#put(resource, taken);
    if (revision === undefined) return [];
    const { id } = resource;
    try {
      await this.#finish({ id, revision }, await perform(taken, id));
      return [];
    } catch (error) {
      const pause = Math.min(retryMs * 2 ** fields.tries, longestRetryMs);
      // Work that failed together does not come back together.
      const due = Math.round(clock() + pause * (0.8 + 0.4 * Math.random()));
      await this.#put({ id, revision }, { ...taken, due });
      return [error];
    }
  }

  /** Returns the new revision, if the resource had this one. */
  async #put(
    { id, revision }: Pick<Resource, "id" | "revision">,
    fields: DueFields,
  ): Promise<number | undefined> {
    const { store, clock, collection } = this.#options;
    const put = { kind: "put", collection, id, fields: JSON.stringify(fields) } as const;
    const [outcome] = await store.commit([{ ...put, expect: revision, at: clock() }]);
    return outcome?.kind === "replaced" ? outcome.resource.revision : undefined;
  }

  /** Rejects when the changes cannot be applied. */
  async #finish(
    { id, revision }: Pick<Resource, "id" | "revision">,
    changes: readonly ResourceChange[],
  ): Promise<void> {
    const { store, clock, collection } = this.#options;
    const remove = { kind: "remove", collection, id, expect: revision, at: clock() } as const;
    const [outcome] = await store.commit([{ kind: "all", changes: [remove, ...changes] }]);
    if (outcome?.kind === "none" && outcome.index > 0)
      throw new Error(`what the work returned was refused: ${outcome.outcome.kind}`);
  }

  #fieldsOf(resource: Resource): Fields & DueFields {
    return JSON.parse(resource.fields) as Fields & DueFields;
  }
}

const firstDue: Query = {
  conditions: [],
  words: [],
  sortings: [{ field: "due", kind: "number", isDescending: false }],
  isNewestFirst: false,
  start: 0,
  limit: atOnce,
  isCounted: false,
};
