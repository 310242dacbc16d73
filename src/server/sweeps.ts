// Removes unused files and expired uploads, when a server starts and regularly after that.

import { type App, hourMs } from "./app.ts";
import type { Log } from "./log.ts";

const dayMs = 24 * hourMs;
const uploadsEveryMs = 600_000;

/** What two nodes remove at once is removed once: the second finds nothing. */
export function startSweeps({ tasks, sweep, sweepUploads }: App, log: Log): void {
  const files = tasks.add({
    name: "unused-files",
    everyMs: dayMs,
    failure: "cannot remove unused files",
    async run() {
      const count = await sweep();
      if (count > 0) log.info({ count }, "removed files that no resource refers to");
    },
  });
  const uploads = tasks.add({
    name: "expired-uploads",
    everyMs: uploadsEveryMs,
    failure: "cannot remove expired uploads",
    async run() {
      const count = await sweepUploads();
      if (count > 0) log.info({ count }, "removed unfinished uploads that have expired");
    },
  });
  for (const task of [files, uploads]) task.schedule(0);
}
