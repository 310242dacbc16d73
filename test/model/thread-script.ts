// A thread that does what its message says: it answers, loops, allocates, ends, or is silent.

import { parentPort, threadId, workerData } from "node:worker_threads";
import type { ThreadData } from "../../src/lib/thread-pool.ts";

const { stopped } = workerData as ThreadData;

const acts: Readonly<Record<string, () => void>> = {
  answer: () => parentPort?.postMessage(threadId),
  close: () => parentPort?.postMessage("closed"),
  loop: () => {
    for (;;);
  },
  stop: () => {
    while (Atomics.load(stopped, 0) === 0);
    parentPort?.postMessage("stopped");
  },
  allocate: () => grow([]),
  exit: () => process.exit(3),
  throw: () => {
    throw new Error("as it should");
  },
  silent: () => undefined,
};

/** In turns, because Node ends a thread between them. */
function grow(all: unknown[]): void {
  all.push(new Array(10_000).fill(all.length));
  setImmediate(grow, all);
}

parentPort?.on("message", (name: string) => acts[name]?.());
