// The log: one JSON line per event, to standard output, without secrets.

import { destination, type Logger, pino } from "pino";
import type { LogLevel } from "./settings.ts";

export type Log = Logger;

/** Lines are gathered and written together, at the latest after this time. */
const flushIntervalMs = 200;

/** A line per request is on the hot path, so a write per line is too dear; `flush` before the end. */
export function createLog(level: LogLevel): Log {
  const output = destination({
    fd: 1,
    sync: false,
    minLength: 8_192,
    periodicFlush: flushIntervalMs,
  });
  return pino(
    { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"` },
    output,
  );
}
