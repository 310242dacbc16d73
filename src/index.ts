// The package's door: Restante inside another program, as a Web-standard fetch.

import { type Definitions, loadActions, readActions } from "./actions.ts";
import { assemble } from "./assemble.ts";
import { type Config, defaultConfig } from "./config.ts";
import { defineAll } from "./definitions.ts";
import { createLog } from "./log.ts";

export {
  type Action,
  type ActionContext,
  type ActionDefinition,
  accepted,
  defineAction,
  type Elsewhere,
  ProblemError,
  problem,
  seeOther,
} from "./model/action.ts";
export type * from "./model/action-resources.ts";
export type { FromSchema } from "./model/schema/from-schema.ts";

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
  await defineAll(config, app, log);
  // Nobody waits for it, and what it cannot remove harms nobody.
  app.sweep().catch(() => undefined);
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
