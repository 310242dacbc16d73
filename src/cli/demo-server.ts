// `restante demo --serve`: starts a server on the shop, and prints a link that opens its console signed in.

import { once } from "node:events";
import { createServer } from "node:net";
import { CliError, usageError } from "../lib/cli-error.ts";
import { codeOf } from "../lib/system-error.ts";
import type { App } from "../server/app.ts";
import type { Config, ConfigSources } from "../server/config.ts";
import { FolderInUse } from "../server/open-store.ts";
import { consoleUrlOf } from "../server/places.ts";
import { addressOfServer, linkHint, signInLink } from "./console.ts";
import { type DemoOptions, demoShop } from "./demo.ts";
import { serve } from "./serve.ts";
import { operatorConfig } from "./system-request.ts";
import { print } from "./with-progress.ts";
import { withStoreToWrite } from "./with-store.ts";

/** Runs until a signal ends the process. When a server has the folder already, the link is to that one. */
export async function serveDemo(
  config: Config,
  sources: ConfigSources,
  options: DemoOptions,
): Promise<void> {
  if (config.store !== undefined)
    throw usageError([
      { where: "--serve", detail: "has a folder, and no --store or RESTANTE_STORE" },
    ]);
  const shop = demoShop(options);
  const show = async (app: App, consoleUrl: string | undefined): Promise<void> => {
    await shop.fill(app);
    const link = await signInLink(app, consoleUrl);
    print(options, { link, data: config.data }, ["", `  ${linkHint}`, `  ${link}`, ""]);
  };
  const port = await freePort(config);
  const flags = { ...sources.flags, port: String(port) };
  try {
    await serve({ ...config, port }, { ...sources, flags }, false, show);
  } catch (thrown) {
    if (!(thrown instanceof CliError && thrown.cause instanceof FolderInUse)) throw thrown;
    await withStoreToWrite(
      operatorConfig(config),
      (app) => show(app, consoleUrlOf(config, config, config.baseUrl ?? addressOfServer(config))),
      "Run the same command again.",
    );
  }
}

/** The port of the config, or the next one that no program uses. */
async function freePort({ host, port: first }: Config): Promise<number> {
  let port = first;
  while (port !== 0 && port < lastPort && !(await isFree(host, port))) port++;
  return port;
}

const lastPort = 65_535;

/** Other errors are those of the server, which reports them. */
async function isFree(host: string, port: number): Promise<boolean> {
  const server = createServer().listen(port, host);
  try {
    await once(server, "listening");
    return true;
  } catch (error) {
    return codeOf(error) !== "EADDRINUSE";
  } finally {
    server.close();
  }
}
