// Serves HTTP/2 on the connections of a TLS server whose clients chose it, and bounds what they may do.

import type { IncomingMessage } from "node:http";
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { Server } from "node:https";
import type { TLSSocket } from "node:tls";
import { failed, type HttpError } from "./http1/http-errors.ts";
import { findHttp2Error } from "./node-request-errors.ts";
import type { ServeOptions } from "./runtime.ts";

/** A session is closed when it transfers nothing for so long, and a stream is reset. */
const inactivityTimeoutMs = 120_000;
const idleSessionTimeoutMs = 30_000;

const limits = {
  settings: { maxConcurrentStreams: 100, enablePush: false },
  /** In megabytes. */
  maxSessionMemory: 4,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
  maxOutstandingPings: 4,
  maxHeaderListPairs: 200,
  // A client may cancel this many requests at once, and then 33 a second.
  streamResetBurst: 200,
  streamResetRate: 33,
};

export type Listen = (incoming: Http2ServerRequest, outgoing: Http2ServerResponse) => Promise<void>;

export interface Http2Sessions {
  /** Finishes the requests in progress and accepts no others. */
  finish(): void;
  destroy(): void;
}

/** The server must offer `h2` and `http/1.1` by ALPN. */
export function serveHttp2(server: Server, options: ServeOptions, listen: Listen): Http2Sessions {
  const http2 = createServer({
    ...limits,
    settings: { ...limits.settings, maxHeaderListSize: options.maxHeaderBytes * 2 },
  });
  shareConnections(server, http2);
  const sessions = trackSessions(http2);
  const handle = requestHandler(options, listen);
  http2.on("request", handle);
  http2.on("checkContinue", (incoming, outgoing) => {
    sendContinueWhenRead(incoming, outgoing);
    handle(incoming, outgoing);
  });
  http2.on("checkExpectation", (_incoming, outgoing) => {
    const detail = "The only supported expectation is `100-continue`.";
    void reject(outgoing, { status: 417, detail }, options);
  });
  return {
    finish: () => {
      for (const session of sessions) session.close();
    },
    destroy: () => {
      for (const session of sessions) session.destroy();
    },
  };
}

/** HTTP/1.1 stays with the server that had all connections. */
function shareConnections(server: Server, http2: Http2Server): void {
  const http1 = server.listeners("secureConnection");
  server.removeAllListeners("secureConnection");
  server.on("secureConnection", (socket: TLSSocket) => {
    if (socket.alpnProtocol === "h2") http2.emit("connection", socket);
    else for (const listener of http1) listener.call(server, socket);
  });
}

function trackSessions(http2: Http2Server): ReadonlySet<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  http2.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
    session.setTimeout(idleSessionTimeoutMs, () => session.close());
  });
  // A broken session ends with a GOAWAY, and is nothing that the operator could change.
  http2.on("sessionError", () => undefined);
  http2.on("stream", (stream) => {
    stream.setTimeout(inactivityTimeoutMs, () => stream.close());
    stream.on("error", () => undefined);
  });
  return sessions;
}

function requestHandler(options: ServeOptions, listen: Listen) {
  return (incoming: Http2ServerRequest, outgoing: Http2ServerResponse): void => {
    const error = findHttp2Error(incoming as unknown as IncomingMessage, options.maxHeaderBytes);
    if (error !== undefined) return void reject(outgoing, error, options);
    // `OPTIONS *` is for the whole server, and a Request cannot express that target.
    if (incoming.url === "*") return void outgoing.writeHead(204).end();
    if (hasUnknownLength(incoming)) incoming.rawHeaders.push("transfer-encoding", "chunked");
    listen(incoming, outgoing).catch((cause) => {
      if (outgoing.headersSent) outgoing.stream.close();
      else void reject(outgoing, failed, options, cause);
    });
  };
}

/** HTTP/2 has no field for such a body. The application expects that of HTTP/1.1. */
const hasUnknownLength = ({ headers, stream }: Http2ServerRequest): boolean =>
  headers["content-length"] === undefined && !stream.endAfterHeaders;

async function reject(
  outgoing: Http2ServerResponse,
  { status, detail }: HttpError,
  { errorResponse }: ServeOptions,
  cause?: unknown,
): Promise<void> {
  const response = errorResponse(status, detail, cause);
  const body = Buffer.from(await response.arrayBuffer());
  if (outgoing.stream.destroyed) return;
  const headers = { ...Object.fromEntries(response.headers), "content-length": body.length };
  outgoing.writeHead(response.status, headers).end(body);
}

/** Sends `100 Continue` when the application reads the body, and not if it responds without reading it. */
function sendContinueWhenRead(incoming: Http2ServerRequest, outgoing: Http2ServerResponse): void {
  const read = incoming._read;
  incoming._read = (size) => {
    incoming._read = read;
    if (!outgoing.headersSent) outgoing.writeContinue();
    incoming._read(size);
  };
}

/** Sends an interim response such as 104. */
export function sendInterimOverHttp2(
  { stream }: Http2ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
): void {
  if (!stream.destroyed && !stream.headersSent)
    stream.additionalHeaders({ ":status": status, ...headers });
}
