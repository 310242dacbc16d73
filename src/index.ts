// The package's door: Restante inside another program, as a Web-standard fetch.

import { assemble } from "./assemble.ts";
import { type Config, defaultConfig } from "./config.ts";
import { defineAll } from "./definitions.ts";
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
  const log = createLog(config.logLevel);
  const app = await assemble(config, log);
  await defineAll(config, app, log);
  return {
    fetch: (request) => app.fetch(framed(request), () => ""),
    firstAdminToken: app.firstAdminToken,
    close: () => app.close(),
  };
}

/** On the wire a body is always announced; in a Request made by hand it is not. */
function framed(request: Request): Request {
  const { headers, body } = request;
  if (body === null || headers.has("content-length") || headers.has("transfer-encoding"))
    return request;
  return new Request(request, { headers: [...headers, ["transfer-encoding", "chunked"]] });
}
