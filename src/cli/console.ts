// The command `console`: prints a link that opens the console signed in, once.

import { CliError } from "../lib/cli-error.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { App } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { localUrl } from "../server/local-url.ts";
import { readOwner } from "../server/open-store.ts";
import { withStoreToWrite } from "./with-store.ts";

/** Prints only the link to standard output, so that a script can read it. */
export async function printConsoleLink(config: Config): Promise<void> {
  if (config.console === "off")
    throw new CliError(1, "The console is switched off (--console off).");
  await withStoreToWrite(
    config,
    async (app) => {
      const address = addressOfServer(config);
      const link = await signInLink(
        app,
        config.baseUrl ?? address ?? localUrl(config, config.port),
      );
      const isWaiting = config.store === undefined && address === undefined;
      console.error(
        isWaiting ? `No server uses ${config.data} now: start it first. ${linkHint}` : linkHint,
      );
      process.stdout.write(`${link}\n`);
    },
    "Run the same command again.",
  );
}

export const linkHint = "Opens the console signed in: once, within 15 minutes.";

/** Of the server that owns the folder. While this command owns it, there is none. */
export const addressOfServer = ({ store, data }: Config): string | undefined =>
  store === undefined ? readOwner(data)?.address : undefined;

/** The code is in the fragment, which browsers send to nobody. */
export async function signInLink({ tokens }: App, url: string): Promise<string> {
  const code = await tokens.createCode(system);
  if (code instanceof Problem) throw new CliError(1, code.detail);
  return `${url}/-/console#code=${code}`;
}
