// A log in memory, for tests that read it.

import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { maxDelayMs } from "../../src/http/request-log.ts";
import type { Log } from "../../src/server/log.ts";
import { passTurns } from "../turns-of.ts";

export interface CapturedLog {
  readonly log: Log;
  /**
   * Resolves when all lines so far are written, because lines of requests are written in groups: its timer
   * begins after theirs and is longer, so that it ends after theirs, however long both take.
   */
  settled(): Promise<void>;
  /** Everything written so far. */
  text(): string;
  lines(): readonly Readonly<Record<string, unknown>>[];
}

export function captureLog(): CapturedLog {
  const written: string[] = [];
  const log = pino({ level: "info", base: null }, { write: (line) => void written.push(line) });
  return {
    log,
    async settled() {
      await passTurns();
      await sleep(maxDelayMs * 2);
    },
    text: () => written.join(""),
    lines: () =>
      written
        .join("")
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
  };
}
