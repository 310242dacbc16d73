// What `npm test` of all files leaves to `npm run test:long`: some combinations of runtime and engine.

import { describe } from "node:test";

type Runtime = "bun" | "node";

const runtime: Runtime = "bun" in process.versions ? "bun" : "node";

/** A file that is chosen by its name, or started by hand, runs with all combinations. */
export const isShort = process.env.RESTANTE_TEST_SHORT === "1";

/** Whether tests that need one runtime only run here. */
export const runsOn = (one: Runtime): boolean => !isShort || runtime === one;

/** Describes tests that a short run needs on one runtime only. */
export const describeOn = (one: Runtime, title: string, tests: () => void): void => {
  if (runsOn(one)) describe(title, tests);
};

/**
 * Returns the stores that a file runs on here, of which `"postgres"` is one. A short run takes Postgres on
 * the given runtime and the embedded engine on the other, so that the file runs on both runtimes and on
 * both engines. The contract tests run on each engine on both runtimes.
 */
export const storesHere = <T>(postgresOn: Runtime, stores: readonly T[]): readonly T[] =>
  isShort ? stores.filter((store) => (store === "postgres") === (runtime === postgresOn)) : stores;
