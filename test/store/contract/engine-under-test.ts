// An engine under test with fresh data, and the function that defines a contract test.

import type { Store } from "../../../src/store/store.ts";

/** The engine is opened with this `maxCandidates`, so that a test can exceed it cheaply. */
export const testMaxCandidates = 50;

/** An engine with fresh data, and further stores on the same data. */
export interface EngineUnderTest {
  readonly store: Store;
  /** Closes the store and opens it again. */
  reopen(): Promise<Store>;
  /** Another store on the same data, as another process would have it. */
  second(): Promise<Store>;
  /** Closes all that was opened and removes the data. */
  destroy(): Promise<void>;
}

/** Opens stores in one way; `remove` deletes the data when all are closed. */
export async function engineUnderTest(
  open: () => Promise<Store>,
  remove: () => Promise<unknown>,
): Promise<EngineUnderTest> {
  const opened: Store[] = [];
  const openOne = async () => {
    const store = await open();
    opened.push(store);
    return store;
  };
  const store = await openOne();
  return {
    store,
    reopen: async () => {
      await store.close();
      return openOne();
    },
    second: openOne,
    destroy: async () => {
      for (const each of opened) await each.close();
      await remove();
    },
  };
}

/** Defines a test that gets an engine with fresh data. */
export type ContractTest = (
  text: string,
  answer: (engine: EngineUnderTest) => Promise<void>,
) => void;
