// What the servers of HTTP/1.1 and HTTP/2 on Bun share: their port, and the memory of what they receive.

import type { ServeOptions } from "./runtime.ts";

/** Bun cannot change the certificate of a listener, so another one on the same port takes over. */
export const mayChange = ({ tls, isShared }: ServeOptions): boolean =>
  tls !== undefined && !isShared;

/** Finds out that the port is free: one that listeners share never is in use. */
export async function claimPort({ host: hostname, port }: ServeOptions): Promise<number> {
  const server = Bun.serve({ hostname, port, fetch: () => Response.error() });
  const claimed = server.port ?? port;
  await server.stop(true);
  return claimed;
}

/** Bun collects chunks late: an upload would leave up to 80 MB of them. A part of a buffer is left to it. */
export function releaseChunk({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
