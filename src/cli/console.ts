// The command `console`: prints a link that opens the console signed in, once.

import { CliError } from "../lib/cli-error.ts";
import { system } from "../model/principal.ts";
import { Problem } from "../model/problem.ts";
import type { App } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { readOwner } from "../server/open-store.ts";
import { consoleUrlOf } from "../server/places.ts";
import { withStoreToWrite } from "./with-store.ts";

/** Prints only the link to standard output, so that a script can read it. */
export async function printConsoleLink(config: Config): Promise<void> {
  await withStoreToWrite(
    config,
    async (app) => {
      const address = addressOfServer(config);
      const link = await signInLink(app, consoleUrlOf(config, config, config.baseUrl ?? address));
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
export async function signInLink({ tokens }: App, consoleUrl: string | undefined): Promise<string> {
  if (consoleUrl === undefined)
    throw new CliError(
      1,
      "There is no console: it is switched off (--console off), or needs --console-port beside a website.",
    );
  const code = await tokens.createCode(system);
  if (code instanceof Problem) throw new CliError(1, code.detail);
  return `${consoleUrl}#code=${code}`;
}
