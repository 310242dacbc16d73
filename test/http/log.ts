// A log that is kept in memory, for tests that read what would have been written.

import { pino } from "pino";
import type { Log } from "../../src/log.ts";

export interface Captured {
  readonly log: Log;
  /** Everything written so far. */
  text(): string;
  lines(): readonly Readonly<Record<string, unknown>>[];
}

export function captureLog(): Captured {
  const written: string[] = [];
  const log = pino({ level: "info", base: null }, { write: (line) => void written.push(line) });
  return {
    log,
    text: () => written.join(""),
    lines: () => written.map((line) => JSON.parse(line)),
  };
}
