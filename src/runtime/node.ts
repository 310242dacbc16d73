// Serves HTTP with node:http or node:https, and corrects what its parser accepts or rejects without a body.

import { constants } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { Http2ServerResponse } from "node:http2";
import { createServer as createTlsServer, Server as TlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import { withoutStream } from "./head.ts";
import { failed, proxyNotSupported, unknownExpectation } from "./http1/http-errors.ts";
import { Connection } from "./node-connection.ts";
import { sendInterimOverHttp2, serveHttp2 } from "./node-http2.ts";
import { httpErrorOf, type ParserError } from "./node-parser-errors.ts";
import { findRequestError } from "./node-request-errors.ts";
import type { Certificate, MapFile, SendFile, Serve, ServeOptions } from "./runtime.ts";

const headersTimeoutMs = 5_000;
const handshakeTimeoutMs = 5_000;
const keepAliveTimeoutMs = 5_000;
/** The limit for a whole request, long enough for a large file over a slow connection. */
const requestTimeoutMs = 14_400_000;
/** A connection is closed when it transfers nothing for so long within a request or a response. */
const inactivityTimeoutMs = 120_000;
/** The rest of a body up to this size is read after an early response; otherwise the connection closes. */
const drainBytes = 65_536;

type HttpServer = Server | TlsServer;
type Connections = ReadonlyMap<Socket, Connection>;

export const serve: Serve = async (options) => {
  const { tls } = options;
  const httpOptions = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: 1_000,
    // The real limit is checked later, so that the error can say what is too large.
    maxHeaderSize: options.maxHeaderBytes * 2,
    // A missing Host is rejected later, with a detail.
    requireHostHeader: false,
    optimizeEmptyRequests: true,
  };
  const server =
    tls === undefined
      ? createServer(httpOptions)
      : createTlsServer({ ...httpOptions, ...tlsOptions(tls), ALPNProtocols: protocols(options) });
  // With a limit node:http would drop lines silently. They are counted later.
  server.maxHeadersCount = 0;
  server.timeout = inactivityTimeoutMs;

  const connections = trackConnections(server, options);
  const listener = createListener(options);
  handleRequests(server, connections, options, listener);
  handleProtocolErrors(server, connections);
  const http2 =
    options.http2 && server instanceof TlsServer
      ? serveHttp2(server, options, listener)
      : undefined;

  const { port, host, isShared = false } = options;
  server.listen({ port, host, reusePort: isShared });
  await once(server, "listening");
  const closed = new Promise((resolve) => server.once("close", resolve));

  return {
    host: options.host,
    port: (server.address() as AddressInfo).port,
    replaceCertificate(next) {
      if (server instanceof TlsServer) server.setSecureContext(tlsOptions(next));
    },
    async stop(graceMs) {
      server.close();
      for (const connection of connections.values()) connection.finish();
      http2?.finish();
      const force = setTimeout(() => {
        for (const connection of connections.values()) connection.destroy();
        http2?.destroy();
      }, graceMs);
      await closed;
      clearTimeout(force);
    },
  };
};

const protocols = ({ http2 = false }: ServeOptions): string[] =>
  http2 ? ["h2", "http/1.1"] : ["http/1.1"];

/** A client must not make the server compute a new handshake on an open connection. */
const tlsOptions = ({ cert, key }: Certificate) => ({
  ...({ cert, key, minVersion: "TLSv1.2", handshakeTimeout: handshakeTimeoutMs } as const),
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
});

/** With TLS a connection counts from the end of its handshake. */
function trackConnections(server: HttpServer, { errorResponse, tls }: ServeOptions): Connections {
  const connections = new Map<Socket, Connection>();
  server.on(tls === undefined ? "connection" : "secureConnection", (socket: Socket) => {
    const connection = new Connection(socket, errorResponse);
    connections.set(socket, connection);
    socket.once("close", () => connections.delete(socket));
    if (!server.listening) connection.finish();
  });
  return connections;
}

function handleRequests(
  server: HttpServer,
  connections: Connections,
  options: ServeOptions,
  listener: Listener,
): void {
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const connection = connections.get(incoming.socket);
    if (!connection?.accepts(outgoing)) return;
    const error = findRequestError(incoming, options.maxHeaderBytes);
    if (error !== undefined) return void connection.rejectRequest(outgoing, error);
    // `OPTIONS *` is for the whole server, and a Request cannot express that target.
    if (incoming.url === "*") return void outgoing.writeHead(204).end();

    if (incoming.headers.upgrade !== undefined) connection.closeAfter(outgoing);
    closeUnlessRead(incoming, outgoing);
    // The promise rejects when a response header is invalid, which must not end the process.
    listener(incoming, outgoing).catch((cause) => {
      if (outgoing.headersSent) outgoing.destroy();
      else void connection.rejectRequest(outgoing, failed, cause);
    });
  };

  server.on("request", handle);
  server.on("checkContinue", (incoming, outgoing) => {
    sendContinueWhenRead(incoming, outgoing);
    handle(incoming, outgoing);
  });
}

type Listener = ReturnType<typeof createListener>;

/** Converts between node:http and Request and Response. It replaces the global classes with faster ones. */
function createListener({ fetch, errorResponse }: ServeOptions) {
  return getRequestListener(
    (request, { incoming, outgoing }) => {
      const response = fetch(
        request,
        () => incoming.socket.remoteAddress ?? "",
        undefined,
        incoming.httpVersion === "1.0" ? undefined : interimSender(outgoing),
      );
      return request.method === "HEAD" ? withoutStream(response) : response;
    },
    {
      // For HTTP/1.0, where Host is optional.
      hostname: "localhost",
      errorHandler: (cause) =>
        cause instanceof RequestError
          ? errorResponse(400, `The request target or Host is not valid: ${cause.message}.`)
          : errorResponse(failed.status, failed.detail, cause),
    },
  );
}

const interimSender =
  (outgoing: object) =>
  (status: number, headers: Readonly<Record<string, string>>): void => {
    if (outgoing instanceof ServerResponse) outgoing.writeInformation(status, headers);
    if (outgoing instanceof Http2ServerResponse) sendInterimOverHttp2(outgoing, status, headers);
  };

/** Handles what never becomes a request: CONNECT, expectations, parser errors and timeouts. */
function handleProtocolErrors(server: HttpServer, connections: Connections): void {
  server.on("checkExpectation", (incoming, outgoing) => {
    const connection = connections.get(incoming.socket);
    if (connection?.accepts(outgoing)) void connection.rejectRequest(outgoing, unknownExpectation);
  });
  server.on("connect", (_incoming, socket: Socket) => {
    void connections.get(socket)?.rejectInput(proxyNotSupported);
  });
  server.on("clientError", (error: ParserError, socket: Socket) => {
    const connection = connections.get(socket);
    // A handshake that failed, or that did not end in time.
    if (connection === undefined) return void socket.destroy();
    // Data after `Connection: close`; the response before it must still be sent (RFC 9112 §9.6).
    if (error.code === "HPE_CLOSED_CONNECTION") return connection.close();
    const httpError = httpErrorOf(error);
    if (httpError === undefined) connection.destroy();
    else void connection.rejectInput(httpError);
  });
  server.on("timeout", (socket) => connections.get(socket)?.timeOut());
}

/** Sends `100 Continue` when the application reads the body, and not if it responds without reading it. */
function sendContinueWhenRead(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const read = incoming._read;
  incoming._read = (size) => {
    incoming._read = read;
    if (!outgoing.headersSent) outgoing.writeContinue();
    incoming._read(size);
  };
}

/** Closes the connection after an early response to a large body, instead of reading the rest. */
function closeUnlessRead(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { "content-length": length, "transfer-encoding": coding } = incoming.headers;
  if (coding === undefined && Number(length ?? 0) <= drainBytes) return;
  const { shouldKeepAlive } = outgoing;
  outgoing.shouldKeepAlive = false;
  incoming.once("end", () => {
    outgoing.shouldKeepAlive = shouldKeepAlive;
  });
}

/** node:http sends a stream with its Content-Length. */
export const sendFile: SendFile = undefined;

/** Node has no memory-mapped files. */
export const mapFile: MapFile = undefined;

export { findSyntaxError, forgetModules, prepareModules } from "./node-modules.ts";
