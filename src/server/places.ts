// Decides what is served where: the API, a website beside it, and the console.

import type { Config } from "./config.ts";
import { localUrl } from "./local-url.ts";

/** The path that the API is below; empty when the API has the whole server. */
export const apiPathOf = ({ apiPath, public: folder }: Config): string =>
  apiPath ?? (folder === undefined ? "" : "/api");

/** The public URL of the API without a slash at the end; without a base URL it is a path. */
export const apiBaseOf = (config: Config): string => (config.baseUrl ?? "") + apiPathOf(config);

/**
 * Whether the console is on the port of the API. A script of a website with the same origin could read the
 * token of the console, so that beside a website it is on a port of its own, or nowhere.
 */
export const hasConsole = (config: Config): boolean =>
  config.console === "on" && config.public === undefined && config.consolePort === undefined;

/** The settings of the console's port: the console and the API at the root, with absolute paths as links. */
export const atConsolePort = (config: Config): Config => ({
  ...config,
  ...{ baseUrl: undefined, public: undefined, apiPath: undefined, consolePort: undefined },
});

/** Returns the address of the console's page; undefined when there is no console. */
export function consoleUrlOf(
  config: Config,
  { port, consolePort }: Pick<Config, "port" | "consolePort">,
  url = config.baseUrl ?? localUrl(config, port),
): string | undefined {
  if (config.console === "off") return undefined;
  if (consolePort !== undefined) return `${localUrl(config, consolePort)}/-/console`;
  return hasConsole(config) ? `${url}${apiPathOf(config)}/-/console` : undefined;
}
