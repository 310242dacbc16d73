// Returns the address of a client.

import type { RequestContext } from "./context.ts";

/** Returns the client's address; behind a trusted proxy, the address that the proxy forwards. */
export function addressOf(context: RequestContext): string {
  return context.clientAddress ?? context.client.peerAddress();
}
