// Serves HTTP/2, and HTTP/1.1 to clients that choose it, with Bun.serve.

import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../lib/client.ts";
import { claimPort, mayChange, releaseChunk } from "./bun-listener.ts";
import { badPath, rawRoutes } from "./bun-raw-target.ts";
import type { Serve, ServeOptions } from "./runtime.ts";

/** A connection is closed when the header section takes longer, or when it is idle for so long. */
const idleTimeoutSeconds = 10;

/**
 * Bun resets its idle timeout only at about 16 KB/s: it closes slower uploads and downloads although
 * bytes keep arriving. It also counts the time of a handler as idle. Bodies and queries that may take
 * longer get this timeout, which can be extended. It applies until the next request on the connection.
 */
const longTimeoutSeconds = 120;

const lookMs = 50;
/** Longer than a connection can be idle. */
const handOverMs = 15_000;

/** A body up to this size arrives with the header section, or right after it. */
const smallBodyBytes = 4_096;

export const serveHttp2: Serve = async (options) => {
  const port = mayChange(options) ? await claimPort(options) : options.port;
  let current = listen({ ...options, port });
  /** Those whose certificate was replaced. */
  const former = new Set<Http2Listener>();

  return {
    host: options.host,
    port: current.server.port ?? port,
    replaceCertificate(tls) {
      const replaced = current;
      current = listen({ ...options, port, tls });
      former.add(replaced);
      void handOver(replaced).then(() => former.delete(replaced));
    },
    async stop(graceMs) {
      const all = [current, ...former];
      const force = setTimeout(() => {
        for (const { server } of all) void server.stop(true);
      }, graceMs);
      await Promise.all(all.map(({ server }) => stopAfterRequests(server, options)));
      clearTimeout(force);
    },
  };
};

/** Bun would wait for connections over TLS that have sent nothing until they are idle for too long. */
async function stopAfterRequests(
  server: Http2Listener["server"],
  { tls }: ServeOptions,
): Promise<void> {
  const stopped = server.stop();
  if (tls !== undefined) {
    do await sleep(lookMs);
    while (server.pendingRequests > 0);
    await server.stop(true);
  }
  await stopped;
}

interface Http2Listener {
  readonly server: Bun.Server<undefined>;
  /** Whether it closes each connection after the next response. */
  isEnding: boolean;
}

/**
 * Stops a listener without losing a request: each connection ends with its next response, or is idle for
 * too long. Only connections whose handshake is not complete at the end of that time are reset.
 */
async function handOver(listener: Http2Listener): Promise<void> {
  listener.isEnding = true;
  await sleep(handOverMs, undefined, { ref: false });
  await listener.server.stop();
}

/**
 * `maxHeaderBytes` is not used: on Bun the limit of the header section is a flag of the process
 * (`--max-http-header-size`, 16 KiB by default).
 */
function listen({
  host,
  port,
  fetch,
  errorResponse,
  isShared = false,
  tls,
  http2 = false,
}: ServeOptions): Http2Listener {
  // A GET costs one comparison and three objects, and is synchronous when `fetch` is.
  const respond = (request: Request, server: Bun.Server<undefined>) => {
    const extendTimeout = () => server.timeout(request, longTimeoutSeconds);
    const peerAddress = () => server.requestIP(request)?.address ?? "";
    const client: Client = { peerAddress, extendTimeout, releaseChunk };
    const method = request.method;
    if (http2 && method !== "GET") markUnknownLength(request);
    if (method === "HEAD") return headResponse(fetch(request, client));
    if (method !== "GET" && mayBeSlow(method, request.headers)) extendTimeout();
    return fetch(request, client);
  };
  const respondAndClose = async (request: Request, server: Bun.Server<undefined>) => {
    const response = await respond(request, server);
    if (listener.isEnding) response.headers.set("Connection", "close");
    return response;
  };

  const server = Bun.serve({
    hostname: host,
    port,
    reusePort: isShared || tls !== undefined,
    idleTimeout: idleTimeoutSeconds,
    development: false,
    // The application responds with 413 and a problem; Bun's own response has no body.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    ...(tls && { tls: { cert: tls.cert, key: tls.key }, http2 }),

    routes: rawRoutes(
      (request: Request, server: Bun.Server<undefined>) =>
        listener.isEnding ? respondAndClose(request, server) : respond(request, server),
      () => errorResponse(400, badPath),
    ),
    error: (cause) => errorResponse(500, "The server failed while handling this request.", cause),
  });
  const listener: Http2Listener = { server, isEnding: false };
  return listener;
}

/** HTTP/2 has no field for a body of unknown length. The application expects that of HTTP/1.1. */
function markUnknownLength(request: Request): void {
  const { headers } = request;
  if (headers.has("content-length") || headers.has("transfer-encoding")) return;
  if (request.body !== null) headers.set("transfer-encoding", "chunked");
}

/** Also for a POST without a body, because Bun counts the time of the handler as idle. */
function mayBeSlow(method: string, headers: Headers): boolean {
  const length = Number(headers.get("content-length"));
  if (length > 0) return length > smallBodyBytes;
  return method === "POST" || headers.has("transfer-encoding");
}

/**
 * Bun omits Date when it removes a body; RFC 9110 §6.6.1 requires it on every 2xx to 4xx. It also replaces
 * the Content-Length of a stream with `chunked`.
 */
async function headResponse(getResponse: Response | Promise<Response>): Promise<Response> {
  const response = await getResponse;
  response.headers.set("Date", new Date().toUTCString());
  if (!response.headers.has("content-length")) return response;
  await response.body?.cancel();
  return new Response(null, { status: response.status, headers: response.headers });
}
