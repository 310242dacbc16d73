// Measures this process: its memory, processor time and open files, and how late its event loop is.

import { readdirSync } from "node:fs";
import { type Metrics, secondsBounds } from "../lib/metrics.ts";
import { runtimeVersion, version } from "../lib/program.ts";

/** How often the delay of the event loop is measured. */
const lagIntervalMs = 250;

/** Returns a function that ends the measurements. */
export function measureProcess(metrics: Metrics): () => void {
  const runtime = runtimeVersion();
  metrics.info("restante_info", "The version of Restante and of its runtime.", {
    version,
    runtime,
  });
  metrics.count("process_cpu_seconds_total", "The processor time of all threads.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000_000;
  });
  metrics.gauge("process_resident_memory_bytes", "The memory in use.", () =>
    ifReadable(() => process.memoryUsage.rss()),
  );
  const startedAt = Date.now() / 1_000 - process.uptime();
  metrics.gauge(
    "process_start_time_seconds",
    "When the process was started, in seconds since 1970; of several, the last one.",
    () => startedAt,
    "max",
  );
  // Only Linux has this folder.
  metrics.gauge("process_open_fds", "The open files and connections.", () =>
    ifReadable(() => readdirSync("/proc/self/fd").length),
  );
  return measureLag(metrics);
}

/** A timer that fires late shows how long other work kept the event loop. */
function measureLag(metrics: Metrics): () => void {
  const lag = metrics.histogram(
    "restante_event_loop_lag_seconds",
    "How late a timer fires that is due four times a second.",
    secondsBounds,
  );
  let expected = performance.now() + lagIntervalMs;
  const timer = setInterval(() => {
    const now = performance.now();
    lag.add(Math.max(0, now - expected) / 1_000);
    expected = now + lagIntervalMs;
  }, lagIntervalMs).unref();
  return () => clearInterval(timer);
}

/** Undefined when the system does not tell it, such as when no more files can be opened. */
function ifReadable(read: () => number): number | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
