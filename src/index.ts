// The entry of the package: runs Restante inside another program, as a Web-standard fetch.

import { noClient } from "./lib/client.ts";
import { then } from "./lib/maybe-promise.ts";
import { responseOf } from "./lib/reply.ts";
import { checkActions, type Definitions, loadActions } from "./server/actions-folder.ts";
import { type App, assemble } from "./server/app.ts";
import { checkPublic } from "./server/check-public.ts";
import { type Config, defaultConfig } from "./server/config.ts";
import { applyDefinitions } from "./server/definitions-folder.ts";
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
export type * from "./model/action-resources.ts";

/** The settings of the config file. Actions may also be given as an object, by their names. */
export interface Options extends Partial<Omit<Config, "actions" | "givens">> {
  readonly actions?: string | Definitions;
}

export interface Restante {
  fetch(request: Request): Response | Promise<Response>;
  /** The secret of the first admin token, when the store was empty and no token was configured. */
  readonly firstAdminToken: string | undefined;
  close(): Promise<void>;
}

/** Opens the store and returns the whole API as one function. */
export async function restante({ actions, ...options }: Options = {}): Promise<Restante> {
  const folder = typeof actions === "string" ? actions : undefined;
  const config: Config = { ...defaultConfig, logLevel: "silent", ...options, actions: folder };
  const log = createLog(config.logLevel);
  checkPublic(config, log);
  const loaded = typeof actions === "object" ? checkActions(actions) : await loadActions(config);
  const app = await assemble(config, log, undefined, loaded);
  const firstAdminToken = await prepare(config, app, log);
  // Runs in the background. A file that cannot be removed does no harm.
  app.sweep().catch(() => undefined);
  return {
    fetch: (request) => then(app.fetch(withBodyHeader(request), noClient), responseOf),
    firstAdminToken,
    close: () => app.close(),
  };
}

/** Applies definitions and creates the first token. Releases the data folder when that fails. */
async function prepare(config: Config, app: App, log: Log): Promise<string | undefined> {
  try {
    await applyDefinitions(config, app, log);
    const secret = await makeFirstToken(app.tokens, config.adminToken);
    await app.announce(undefined);
    return secret;
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** Adds Transfer-Encoding to a Request with a body, which a Request from the network always has (or a length). */
function withBodyHeader(request: Request): Request {
  const { headers, body } = request;
  if (body === null || headers.has("content-length") || headers.has("transfer-encoding"))
    return request;
  return new Request(request, { headers: [...headers, ["transfer-encoding", "chunked"]] });
}
