// Serves HTTP on the sockets of Node, and implements the other functions of the runtime for Node.

import { constants } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, Server as TlsServer } from "node:tls";
import type { MapFile, SendFile } from "../lib/file-access.ts";
import { Http1Server } from "./http1/server.ts";
import { openHttp1 } from "./node-socket.ts";
import type { Certificate, Serve } from "./runtime.ts";

const handshakeTimeoutMs = 5_000;

export const serve: Serve = async (options) => {
  const { fetch, errorResponse, maxHeaderBytes, tls, host, port, isShared = false } = options;
  const scheme = tls === undefined ? "http" : "https";
  const http1 = new Http1Server({ fetch, errorResponse, maxHeaderBytes, scheme });
  const server = tls === undefined ? plainServer(http1) : tlsServer(tls, http1);
  const sockets = trackSockets(server);
  server.listen({ port, host, reusePort: isShared });
  await once(server, "listening");
  const closed = new Promise((resolve) => server.once("close", resolve));

  return {
    host,
    port: (server.address() as AddressInfo).port,
    replaceCertificate(next) {
      if (server instanceof TlsServer) server.setSecureContext(certificateOptions(next));
    },
    async stop(graceMs) {
      server.close();
      await http1.stop(graceMs);
      // Those whose handshake is not complete.
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
};

const plainServer = (http1: Http1Server): Server =>
  createServer({ noDelay: true }, (socket) => openHttp1(http1, socket));

function tlsServer(tls: Certificate, http1: Http1Server): Server {
  const options = { ...certificateOptions(tls), ALPNProtocols: ["http/1.1"], noDelay: true };
  const server = createTlsServer(options, (socket) => {
    if (server.listening) openHttp1(http1, socket);
    else socket.destroy();
  });
  // A handshake that failed, or that did not end in time.
  server.on("tlsClientError", (_error, socket: TLSSocket) => socket.destroy());
  return server;
}

/** A client must not make the server compute a new handshake on an open connection. */
const certificateOptions = ({ cert, key }: Certificate) => ({
  cert,
  key,
  minVersion: "TLSv1.2" as const,
  handshakeTimeout: handshakeTimeoutMs,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
});

/** The connections, with TLS from before their handshake. */
function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return sockets;
}

/** Any stream is sent with its Content-Length. */
export const sendFile: SendFile | undefined = undefined;

/** Node has no memory-mapped files. */
export const mapFile: MapFile | undefined = undefined;

export { findSyntaxError, forgetModules, moduleSpecifier, prepareModules } from "./node-modules.ts";
