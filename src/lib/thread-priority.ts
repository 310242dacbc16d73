// Lowers the priority of a thread, so that the event loop of the main thread does not wait for it.

import { readlinkSync } from "node:fs";
import { getPriority, setPriority } from "node:os";
import { basename } from "node:path";

const lowest = 19;

/** Has an effect only on Linux, where each thread has an id and a priority of its own. */
export function lowerThreadPriority(by: number): void {
  try {
    const thread = Number(basename(readlinkSync("/proc/thread-self")));
    setPriority(thread, Math.min(lowest, getPriority(thread) + by));
  } catch {
    // Other systems have no such file.
  }
}
