// Removes unused files, expired uploads and expired tokens, when a server starts and regularly after that.

import { type App, hourMs } from "./app.ts";
import type { Log } from "./log.ts";

const dayMs = 24 * hourMs;
const uploadsEveryMs = 600_000;

/** What two nodes remove at once is removed once: the second finds nothing. */
export function startSweeps({ tasks, sweep, sweepUploads, sweepTokens }: App, log: Log): void {
  const start = (what: string, everyMs: number, run: () => Promise<number>, removed: string) =>
    tasks
      .add({
        name: what.replace(" ", "-"),
        everyMs,
        failure: `cannot remove ${what}`,
        async run() {
          const count = await run();
          if (count > 0) log.info({ count }, `removed ${removed}`);
        },
      })
      .schedule(0);
  start("unused files", dayMs, sweep, "files that no resource refers to");
  start("expired uploads", uploadsEveryMs, sweepUploads, "unfinished uploads that have expired");
  start("expired tokens", dayMs, sweepTokens, "tokens that expired 30 days ago");
}
