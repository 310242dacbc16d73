// Bytes through node:http, where what its parser refuses or lets pass is put right and into words.

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { getRequestListener, RequestError } from "@hono/node-server";
import { withoutStream } from "./head.ts";
import { Connection } from "./node/connection.ts";
import { explain, findFault, type ParserError, type Refusal } from "./node/refusal.ts";
import type { Serve, ServeOptions } from "./runtime.ts";

const headersTimeoutMs = 5_000;
const keepAliveTimeoutMs = 5_000;
/** The most a whole request may take: a large file over a bad link, but not for ever. */
const requestTimeoutMs = 1_800_000;
/** The most a connection may be silent in the middle of a request or an answer. */
const silenceTimeoutMs = 120_000;

/** A body up to this size is read to its end after an early answer; for a larger one the connection closes. */
const drainBytes = 65_536;

export const serve: Serve = async (options) => {
  const server = createServer({
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: 1_000,
    // The parser only stops what is absurd. What is too large is refused by us, who can say what.
    maxHeaderSize: options.maxHeaderBytes * 2,
    requireHostHeader: false,
    optimizeEmptyRequests: true,
  });
  server.maxHeadersCount = 0;
  server.timeout = silenceTimeoutMs;
  const connections = answerOn(server, options);

  server.listen(options.port, options.host);
  await once(server, "listening");

  return {
    host: options.host,
    port: (server.address() as AddressInfo).port,
    async stop(graceMs) {
      const closed = once(server, "close");
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

/** Answers everything that can happen on the server's connections, which are returned as they come and go. */
function answerOn(server: Server, { fetch, refuse, maxHeaderBytes }: ServeOptions) {
  const connections = new Map<Socket, Connection>();
  server.on("connection", (socket: Socket) => {
    connections.set(socket, new Connection(socket));
    socket.once("close", () => connections.delete(socket));
  });

  const listener = getRequestListener(
    (request, { incoming }) => {
      const answer = fetch(request, () => incoming.socket.remoteAddress ?? "");
      return request.method === "HEAD" ? withoutStream(answer) : answer;
    },
    {
      // HTTP/1.0 needs no Host.
      hostname: "localhost",
      errorHandler: (cause) =>
        cause instanceof RequestError
          ? refuse(400, `The request target or Host is not valid: ${cause.message}.`)
          : refuse(500, "The server failed while answering this request.", cause),
    },
  );

  const refuseRequest = async (outgoing: ServerResponse, { status, detail }: Refusal) => {
    connections.get(outgoing.req.socket)?.close();
    const answer = refuse(status, detail);
    const body = Buffer.from(await answer.arrayBuffer());
    outgoing.shouldKeepAlive = false;
    outgoing.setHeaders(answer.headers);
    outgoing.writeHead(answer.status, { "Content-Length": body.length }).end(body);
  };

  const answer = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (!connections.get(incoming.socket)?.admits(outgoing)) return;
    const fault = findFault(incoming, maxHeaderBytes);
    if (fault !== undefined) return void refuseRequest(outgoing, fault);
    // The whole server is asked, not one of its addresses, and a Request cannot say so.
    if (incoming.url === "*") return void outgoing.writeHead(204).end();
    closeUnlessRead(incoming, outgoing);
    return void listener(incoming, outgoing);
  };

  server.on("request", answer);
  server.on("checkContinue", (incoming, outgoing) => {
    continueWhenRead(incoming, outgoing);
    answer(incoming, outgoing);
  });
  server.on("checkExpectation", (incoming, outgoing) => {
    if (!connections.get(incoming.socket)?.admits(outgoing)) return;
    const detail = "The only expectation understood is `100-continue`.";
    void refuseRequest(outgoing, { status: 417, detail });
  });

  const refuseBytes = (socket: Socket, refusal: Refusal | undefined) => {
    const connection = connections.get(socket);
    if (connection?.isClosing) return;
    if (refusal === undefined) return socket.destroy();
    void connection?.refuse(refuse(refusal.status, refusal.detail));
  };
  server.on("clientError", (error: ParserError, socket: Socket) => {
    // Sent after `Connection: close`; the answer before it is still due (RFC 9112 §9.6).
    if (error.code === "HPE_CLOSED_CONNECTION") connections.get(socket)?.close();
    else refuseBytes(socket, explain(error));
  });
  server.on("connect", (_incoming, socket: Socket) => {
    refuseBytes(socket, {
      status: 501,
      detail: "This server is no proxy: CONNECT is not offered.",
    });
  });
  server.on("timeout", (socket) => {
    if (!connections.get(socket)?.isReceiving) return socket.destroy();
    refuseBytes(socket, { status: 408, detail: "The rest of the request did not arrive in time." });
  });
  return connections;
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

/** An answer before the end of a large body closes the connection: reading the rest would be a gift. */
function closeUnlessRead(incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { "content-length": length, "transfer-encoding": coding } = incoming.headers;
  if (coding === undefined && Number(length ?? 0) <= drainBytes) return;
  const { shouldKeepAlive } = outgoing;
  outgoing.shouldKeepAlive = false;
  incoming.once("end", () => {
    outgoing.shouldKeepAlive = shouldKeepAlive;
  });
}
