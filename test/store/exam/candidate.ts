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

/** A test that is given a candidate with fresh data. */
export type Question = (text: string, answer: (candidate: Candidate) => Promise<void>) => void;
