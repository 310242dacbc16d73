// Ends the thread that gets a change to the id `die`.

import { parentPort } from "node:worker_threads";

parentPort?.on("message", (message: unknown) => {
  if (Array.isArray(message) && message.includes("die")) process.exit(7);
});
