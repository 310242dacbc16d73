// The log: one JSON line per event, to standard output, without secrets.

import { type DestinationStream, destination, type Logger, pino } from "pino";
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

/** Writes finished lines between the log's own, in the same order and buffer. */
export function lineWriter(log: Log): (line: string) => void {
  const output = (log as unknown as Record<symbol, DestinationStream>)[pino.symbols.streamSym];
  return (line) => output?.write(line);
}
