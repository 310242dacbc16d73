// Loaded before a program of a test: its stores start their threads from the bundles that `npm test` has built.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  const { bundledThreads } = await import("../src/lib/program.ts");
  const runtime = "bun" in process.versions ? "bun" : "node";
  bundledThreads.folder = pathToFileURL(
    join(process.env.RESTANTE_TEST_SERVERS, runtime, "threads/"),
  );
}
