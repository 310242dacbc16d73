// Loaded before the tests of `npm test`: the stores in the process of a test start their threads from a bundle.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { isMainThread } from "node:worker_threads";

const servers = process.env.RESTANTE_TEST_SERVERS;
if (isMainThread && servers !== undefined) {
  const { bundledThreads } = await import("../src/lib/program.ts");
  const runtime = "bun" in process.versions ? "bun" : "node";
  bundledThreads.folder = pathToFileURL(join(servers, runtime, "threads/"));
}
