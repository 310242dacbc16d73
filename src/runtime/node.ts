// Bytes through node:http; what its parser refuses without words or lets pass is put right.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import { withoutStream } from "./head.ts";
import { Connection } from "./node/connection.ts";
import { explain, type ParserError } from "./node/parser.ts";
import { findFault, type Refusal } from "./node/request.ts";
import type { MapFile, SendFile, Serve, ServeOptions } from "./runtime.ts";

const headersTimeoutMs = 5_000;
const keepAliveTimeoutMs = 5_000;
/** The most a whole request may take: a large file over a bad link, but not for ever. */
const requestTimeoutMs = 14_400_000;
/** The most a connection may be silent in the middle of a request or an answer. */
const silenceTimeoutMs = 120_000;
/** The rest of a body up to this size is read after an early answer; else the connection closes. */
const drainBytes = 65_536;

type Connections = ReadonlyMap<Socket, Connection>;

export const serve: Serve = async (options) => {
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: 1_000,
    // The parser only stops what is absurd; we refuse what is too large and can say what it was.
    maxHeaderSize: options.maxHeaderBytes * 2,
    // We ask for Host ourselves, with words.
    requireHostHeader: false,
    optimizeEmptyRequests: true,
  });
  // No limit: over it, node:http would drop lines in silence. We count them.
  server.maxHeadersCount = 0;
  server.timeout = silenceTimeoutMs;

  const connections = track(server, options);
  answerRequests(server, connections, options);
  refuseTheRest(server, connections);

  const { port, host, isShared = false } = options;
  server.listen({ port, host, reusePort: isShared });
  await once(server, "listening");
  const closed = new Promise((resolve) => server.once("close", resolve));

  return {
    host: options.host,
    port: (server.address() as AddressInfo).port,
    async stop(graceMs) {
      server.close();
      for (const connection of connections.values()) connection.finish();
      const force = setTimeout(() => {
        for (const connection of connections.values()) connection.cut();
      }, graceMs);
      await closed;
      clearTimeout(force);
    },
  };
};

function track(server: Server, { refuse }: ServeOptions): Connections {
  const connections = new Map<Socket, Connection>();
  server.on("connection", (socket: Socket) => {
    connections.set(socket, new Connection(socket, refuse));
    socket.once("close", () => connections.delete(socket));
  });
  return connections;
}

function answerRequests(server: Server, connections: Connections, options: ServeOptions): void {
  const listener = listenerFor(options);

  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const connection = connections.get(incoming.socket);
    if (!connection?.admits(outgoing)) return;
    const fault = findFault(incoming, options.maxHeaderBytes);
    if (fault !== undefined) return void connection.refuseRequest(outgoing, fault);
    // The whole server is asked, not one of its addresses, and a Request cannot say so.
    if (incoming.url === "*") return void outgoing.writeHead(204).end();

    if (incoming.headers.upgrade !== undefined) connection.closeAfter(outgoing);
    closeUnlessRead(incoming, outgoing);
    // It rejects when a field of the answer cannot be written, which must not end the process.
    listener(incoming, outgoing).catch((cause) => {
      if (outgoing.headersSent) outgoing.destroy();
      else void connection.refuseRequest(outgoing, failed, cause);
    });
  };

  server.on("request", answer);
  server.on("checkContinue", (incoming, outgoing) => {
    continueWhenRead(incoming, outgoing);
    answer(incoming, outgoing);
  });
}

const failed: Refusal = {
  status: 500,
  detail: "The server failed while answering this request.",
};

/** Request and Response for node:http. It also makes the global ones lighter, which is its speed. */
function listenerFor({ fetch, refuse }: ServeOptions) {
  return getRequestListener(
    (request, { incoming }) => {
      const answer = fetch(request, () => incoming.socket.remoteAddress ?? "");
      return request.method === "HEAD" ? withoutStream(answer) : answer;
    },
    {
      // For HTTP/1.0, which needs no Host.
      hostname: "localhost",
      errorHandler: (cause) =>
        cause instanceof RequestError
          ? refuse(400, `The request target or Host is not valid: ${cause.message}.`)
          : refuse(failed.status, failed.detail, cause),
    },
  );
}

/** Everything that is not a request to answer. */
function refuseTheRest(server: Server, connections: Connections): void {
  server.on("checkExpectation", (incoming, outgoing) => {
    const connection = connections.get(incoming.socket);
    const detail = "The only expectation understood is `100-continue`.";
    if (connection?.admits(outgoing))
      void connection.refuseRequest(outgoing, { status: 417, detail });
  });
  server.on("connect", (_incoming, socket: Socket) => {
    const detail = "This server is no proxy: CONNECT is not offered.";
    void connections.get(socket)?.refuseBytes({ status: 501, detail });
  });
  server.on("clientError", (error: ParserError, socket: Socket) => {
    const connection = connections.get(socket);
    // Sent after `Connection: close`; the answer before it is still due (RFC 9112 §9.6).
    if (error.code === "HPE_CLOSED_CONNECTION") return connection?.close();
    const refusal = explain(error);
    if (refusal === undefined) connection?.cut();
    else void connection?.refuseBytes(refusal);
  });
  server.on("timeout", (socket) => connections.get(socket)?.timeOut());
}

/** `100 Continue` is sent when the application asks for the body, and not if it answers without. */
function continueWhenRead(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const read = incoming._read;
  incoming._read = (size) => {
    incoming._read = read;
    if (!outgoing.headersSent) outgoing.writeContinue();
    incoming._read(size);
  };
}

/** Who is answered before the end of a large body must not make us read the rest of it. */
function closeUnlessRead(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { "content-length": length, "transfer-encoding": coding } = incoming.headers;
  if (coding === undefined && Number(length ?? 0) <= drainBytes) return;
  const { shouldKeepAlive } = outgoing;
  outgoing.shouldKeepAlive = false;
  incoming.once("end", () => {
    outgoing.shouldKeepAlive = shouldKeepAlive;
  });
}

/** node:http sends the length that is declared. */
export const sendFile: SendFile = undefined;

/** node has no memory-mapped files. */
export const mapFile: MapFile = undefined;

export { findSyntaxError, prepareModules } from "./node/modules.ts";
