// Who sits the exam, and how it is asked.

import type { Store } from "../../../src/store/store.ts";

/** The engine is opened with so few for `maxCandidates`, so that more of them are cheap to have. */
export const fewCandidates = 50;

/** An engine with fresh data, and other ways to the same data. */
export interface Candidate {
  readonly store: Store;
  /** Closes the store and opens it again. */
  reopen(): Promise<Store>;
  /** Another store on the same data, as another process would have it. */
  second(): Promise<Store>;
  /** Closes all that was opened and removes the data. */
  destroy(): Promise<void>;
}

/** A candidate of stores that are opened one way; `remove` takes the data away when all are closed. */
export async function candidateOf(
  open: () => Promise<Store>,
  remove: () => Promise<unknown>,
): Promise<Candidate> {
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

/** A test that is given a candidate with fresh data. */
export type Question = (text: string, answer: (candidate: Candidate) => Promise<void>) => void;
