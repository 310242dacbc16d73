// What `npm test` of all files leaves to `npm run test:all`: some combinations of runtime and engine, and some tests.

import { describe, it, type TestContext, type TestOptions } from "node:test";

type Runtime = "bun" | "node";

const runtime: Runtime = "bun" in process.versions ? "bun" : "node";

/** Whether this is `npm test` of all files. A file that is chosen by its name, or started by hand, runs with all combinations. */
export const isShort = process.env.RESTANTE_TEST_SHORT === "1";

/** Whether tests that need one runtime only run here, in a file that runs on both. */
export const runsOn = (one: Runtime): boolean => !isShort || runtime === one;

/** Describes tests that a short run needs on one runtime only, in a file that runs on both. */
export const describeOn = (one: Runtime, title: string, tests: () => void): void => {
  if (runsOn(one)) describe(title, tests);
};

type Act = (context: TestContext) => void | Promise<void>;
type Test = [title: string, act: Act] | [title: string, options: TestOptions, act: Act];

/**
 * `it` for tests of what is above the engines, which are the same on both. A short run has every second
 * one on each engine, so that each runs once.
 */
export function itOn(store: string | undefined): (...test: Test) => void {
  let turn = store === "postgres" ? 1 : 0;
  return (...test) => {
    if (!isShort || turn++ % 2 === 0) it(...(test as [string, Act]));
  };
}

/** `it` for tests that a short run leaves out, because they take long and others find most of what they find. */
export const itLong = (...test: Test): void => {
  if (!isShort) it(...(test as [string, Act]));
};

/** The engines of tests that need each other: of all, a short run has one. */
export const storesHere = <T>(one: T, all: readonly T[]): readonly T[] => (isShort ? [one] : all);

const engines = ["sqlite", "postgres"] as const;

/** From where to where rows are copied: a short run has each engine once on each side. */
export const enginePairs = engines.flatMap((from) =>
  engines.filter((to) => !isShort || to !== from).map((to) => [from, to] as const),
);
