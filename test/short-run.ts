// What `npm test` of all files leaves to `npm run test:long`: some combinations of runtime and engine.

import { describe } from "node:test";

type Runtime = "bun" | "node";

const runtime: Runtime = "bun" in process.versions ? "bun" : "node";

/** A file that is chosen by its name, or started by hand, runs with all combinations. */
export const isShort = process.env.RESTANTE_TEST_SHORT === "1";

/** Whether tests that need one runtime only run here, in a file that runs on both. */
export const runsOn = (one: Runtime): boolean => !isShort || runtime === one;

/** Describes tests that a short run needs on one runtime only, in a file that runs on both. */
export const describeOn = (one: Runtime, title: string, tests: () => void): void => {
  if (runsOn(one)) describe(title, tests);
};
