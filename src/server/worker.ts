// One of many processes behind one port: serves like a lone server, and has the first one write.

import { CliError, messageOf } from "../lib/cli-error.ts";
import { RemoteCommitter } from "../store/remote-committer.ts";
import { loadActions, logLateFailures } from "./actions-folder.ts";
import { drain, listenFor, openApp } from "./lifecycle.ts";
import { createLog } from "./log.ts";
import type { Order, Report } from "./supervisor.ts";

/** Started by the first process only, and ends with it. */
export async function work(): Promise<void> {
  if (process.send === undefined)
    throw new CliError(2, "A worker is started by `restante serve --workers`, and not by hand.");
  // Nobody would write any more: whoever started the first process starts it again.
  process.once("disconnect", () => process.exit(1));
  // Ctrl-C reaches every process on the terminal. The first one alone decides what it means.
  process.on("SIGINT", () => undefined);

  const committer = new RemoteCommitter(tell);
  const { config } = await new Promise<Extract<Order, { kind: "work" }>>((resolve) => {
    process.on("message", (order: Order) => {
      if (order.kind === "work") resolve(order);
      else committer.receive(order);
    });
  });
  try {
    const log = createLog(config.logLevel);
    const app = await openApp(config, log, committer, await loadActions(config));
    logLateFailures(config, app, log);
    const server = await listenFor(config, app);
    process.once("SIGTERM", () => void drain(server, app, log).then(() => process.exit(0)));
    // A service manager tells every process, and then we are told again: that is no second wish.
    process.on("SIGTERM", () => undefined);
    tell({ kind: "listening" });
  } catch (error) {
    // The first process ends us when it has read this: our own end might overtake our last words.
    tell({ kind: "failed", message: messageOf(error) });
  }
}

/** When nobody is there to hear it, the end of the connection tells us so. */
function tell(report: Report): void {
  process.send?.(report, undefined, undefined, () => undefined);
}
