// Tells at which URL this machine reaches the server.

import { isIPv6 } from "node:net";
import type { Config } from "./config.ts";

/** With a wildcard address, to which clients cannot connect, it is localhost. */
export function localUrl({ host, tlsCert }: Config, port: number): string {
  const scheme = tlsCert === undefined ? "http" : "https";
  if (host === "0.0.0.0" || host === "::") return `${scheme}://localhost:${port}`;
  return `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
