// An engine under test with empty data, and the function that defines a contract test.

import type { Store } from "../../../src/store/store.ts";

/** The engine is opened with this `maxCounted`, so that a test can exceed it cheaply. */
export const testMaxCounted = 300;

/** Larger than the files of the other tests. */
export const testFileQuotas = { perSubject: 2 ** 43, total: 2 ** 52 } as const;

/** An engine without collections and tokens, and further stores on the same data. */
export interface EngineUnderTest {
  readonly store: Store;
  /** Closes the store and opens it again. */
  reopen(): Promise<Store>;
  /** Another store on the same data, as another process would have it. */
  second(): Promise<Store>;
}

/** Opens the stores of one contract test after the other, on the same data as long as it can be emptied. */
export class ReusedEngine implements EngineUnderTest {
  readonly #open: () => Promise<Store>;
  readonly #remove: () => Promise<unknown>;
  readonly #stores: Store[] = [];
  #used = 0;

  private constructor(open: () => Promise<Store>, remove: () => Promise<unknown>) {
    this.#open = open;
    this.#remove = remove;
  }

  /** Opens stores in one way; `remove` deletes the data when all are closed. */
  static async start(
    open: () => Promise<Store>,
    remove: () => Promise<unknown>,
  ): Promise<ReusedEngine> {
    const engine = new ReusedEngine(open, remove);
    await engine.second();
    return engine;
  }

  get store(): Store {
    const [first] = this.#stores;
    if (first === undefined) throw new Error("the engine was not started");
    return first;
  }

  async reopen(): Promise<Store> {
    await this.store.close();
    this.#stores[0] = await this.#open();
    return this.store;
  }

  async second(): Promise<Store> {
    const index = this.#used++;
    this.#stores[index] ??= await this.#open();
    return this.#stores[index];
  }

  /**
   * Deletes the collections. Returns false when the data cannot be used again, because a store was closed
   * or there are tokens, which are never deleted.
   */
  async empty(): Promise<boolean> {
    this.#used = 1;
    for (const store of this.#stores) if ((await store.ready()) !== undefined) return false;
    if ((await this.store.tokens()).length > 0) return false;
    const names = (await this.store.collections()).map(({ name }) => name);
    await this.store.commit(
      names.map((collection) => ({ kind: "drop", collection, isEmptyOnly: false })),
    );
    return true;
  }

  /** Closes all that was opened and removes the data. */
  async destroy(): Promise<void> {
    for (const store of this.#stores) await store.close();
    await this.#remove();
  }
}

/**
 * Defines a test that gets an engine with empty data. With `isNew` nothing was ever written to it: the
 * clock by which keys expire belongs to the whole store.
 */
export type ContractTest = (
  text: string,
  answer: (engine: EngineUnderTest) => Promise<void>,
  options?: { readonly isNew?: boolean },
) => void;
