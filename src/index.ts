// The package's door: Restante inside another program, as a Web-standard fetch.

import { assemble } from "./assemble.ts";
import { type Config, defaultConfig } from "./config.ts";
import { createLog } from "./log.ts";

export interface Restante {
  fetch(request: Request): Response | Promise<Response>;
  /** The first admin token's secret, when the store was empty and none was given. */
  readonly firstAdminToken: string | undefined;
  close(): Promise<void>;
}

/** Opens the store and gives the whole API as one function. Options are those of the config file. */
export async function restante(options: Partial<Config> = {}): Promise<Restante> {
  const config: Config = { ...defaultConfig, logLevel: "silent", ...options };
  const app = await assemble(config, createLog(config.logLevel));
  return {
    fetch: (request) => app.fetch(request, () => ""),
    firstAdminToken: app.firstAdminToken,
    close: () => app.close(),
  };
}
