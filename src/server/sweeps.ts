// Removes unused files and expired uploads, when a server starts and regularly after that.

import { type App, hourMs } from "./app.ts";
import type { Log } from "./log.ts";

const dayMs = 24 * hourMs;
const uploadsEveryMs = 600_000;

/** Runs in the background until the process ends. */
export function startSweeps(app: App, log: Log): void {
  void sweepFiles(app, log);
  sweepUploads(app, log);
}

/** Removes files of uploads that a crashed process left behind, now and each day. */
async function sweepFiles(app: App, log: Log): Promise<void> {
  try {
    const count = await app.sweep();
    if (count > 0) log.info({ count }, "removed files that no resource refers to");
  } catch (error) {
    if (!app.isClosing) log.warn({ err: error }, "cannot remove unused files");
  }
  setTimeout(() => void sweepFiles(app, log), dayMs).unref();
}

/** Removes unfinished uploads that have expired, now and regularly. */
function sweepUploads(app: App, log: Log): void {
  const sweep = async () => {
    const count = await app.sweepUploads();
    if (count > 0) log.info({ count }, "removed unfinished uploads that have expired");
  };
  const run = () =>
    sweep().catch((error) => {
      if (!app.isClosing) log.warn({ err: error }, "cannot remove expired uploads");
    });
  void run();
  setInterval(run, uploadsEveryMs).unref();
}
