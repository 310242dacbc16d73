// Checks that a request is for a host that the server serves.

import { Problem } from "../../model/problem.ts";
import { isHost } from "../headers/host.ts";
import type { RequestContext } from "./context.ts";
import { isProbe } from "./probe.ts";

/** Rejects a host that is not allowed, unless a trusted proxy says that it got the request for one that is. */
export function checkHost(context: RequestContext, host: string | null): Problem | undefined {
  const { allowedHosts, proxies } = context.services;
  if (host === null || host === allowedHosts.lastAllowed) return undefined;
  if (!isHost(host)) return new Problem("malformed-request", "Send one valid Host field.");
  if (allowedHosts.allows(host)) {
    allowedHosts.lastAllowed = host;
    return undefined;
  }
  const forwarded = context.request.headers.get("x-forwarded-host");
  const isForwarded =
    allowedHosts.allowsForwarded(forwarded) && proxies.trusts(context.client.peerAddress());
  // Health checks often use the server's IP address as host.
  return isForwarded || isProbe(context) ? undefined : wrongHost;
}

const wrongHost = new Problem(
  "misdirected",
  "This server does not serve the host of this request. Use its public address; the operator can allow more hosts with --allowed-hosts.",
);
