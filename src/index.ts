// The package's door: Restante inside another program, as a Web-standard fetch.

import { type Definitions, loadActions, readActions } from "./server/actions-folder.ts";
import { type App, assemble } from "./server/app.ts";
import { type Config, defaultConfig } from "./server/config.ts";
import { defineAll } from "./server/definitions-folder.ts";
import { makeFirstToken } from "./server/first-token.ts";
import { createLog, type Log } from "./server/log.ts";

export type { FromSchema } from "./lib/schema/from-schema.ts";
export {
  type Action,
  type ActionContext,
  type ActionDefinition,
  accepted,
  defineAction,
  type LocationResult,
  ProblemError,
  problem,
  seeOther,
} from "./model/action.ts";
export type * from "./model/action-client.ts";

/** Those of the config file; the actions may also be given as they are, by their names. */
export interface Options extends Partial<Omit<Config, "actions">> {
  readonly actions?: string | Definitions;
}

export interface Restante {
  fetch(request: Request): Response | Promise<Response>;
  /** The first admin token's secret, when the store was empty and none was given. */
  readonly firstAdminToken: string | undefined;
  close(): Promise<void>;
}

/** Opens the store and gives the whole API as one function. */
export async function restante({ actions, ...options }: Options = {}): Promise<Restante> {
  const folder = typeof actions === "string" ? actions : undefined;
  const config: Config = { ...defaultConfig, logLevel: "silent", ...options, actions: folder };
  const log = createLog(config.logLevel);
  const loaded = typeof actions === "object" ? readActions(actions) : await loadActions(config);
  const app = await assemble(config, log, undefined, loaded);
  const firstAdminToken = await prepare(config, app, log);
  // Nobody waits for it, and what it cannot remove harms nobody.
  app.sweep().catch(() => undefined);
  return {
    fetch: (request) => app.fetch(framed(request), () => ""),
    firstAdminToken,
    close: () => app.close(),
  };
}

/** Gives up the data folder when the program cannot have what it asked for. */
async function prepare(config: Config, app: App, log: Log): Promise<string | undefined> {
  try {
    await defineAll(config, app, log);
    const secret = await makeFirstToken(app.tokens, config.adminToken);
    await app.announce(undefined);
    return secret;
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** On the wire a body is always announced; in a Request made by hand it is not. */
function framed(request: Request): Request {
  const { headers, body } = request;
  if (body === null || headers.has("content-length") || headers.has("transfer-encoding"))
    return request;
  return new Request(request, { headers: [...headers, ["transfer-encoding", "chunked"]] });
}
