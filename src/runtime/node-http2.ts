// Serves HTTP/2 on the connections of a TLS server whose clients chose it, and bounds what they may do.

import { performServerHandshake, type ServerHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import { answerStream } from "./node-http2-stream.ts";
import type { ServeOptions } from "./runtime.ts";

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

export class Http2Sessions {
  readonly #options: ServeOptions;
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(options: ServeOptions) {
    this.#options = options;
  }

  open(socket: TLSSocket): void {
    const maxHeaderListSize = this.#options.maxHeaderBytes * 2;
    const settings = { ...limits.settings, maxHeaderListSize };
    const session = performServerHandshake(socket, { ...limits, settings });
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    session.setTimeout(idleSessionTimeoutMs, () => session.close());
    // A broken session ends with a GOAWAY, and is nothing that the operator could change.
    session.on("error", () => undefined);
    socket.on("error", () => undefined);
    const { remoteAddress = "" } = socket;
    const { fetch, errorResponse, maxHeaderBytes } = this.#options;
    const serving = { fetch, errorResponse, maxHeaderBytes, peerAddress: () => remoteAddress };
    session.on("stream", (stream, _headers, _flags, lines) => answerStream(stream, lines, serving));
  }

  /** Waits at most this long for requests in progress, then closes all sessions. */
  async stop(graceMs: number): Promise<void> {
    const sessions = [...this.#sessions];
    const force = setTimeout(() => {
      for (const session of sessions) session.destroy();
    }, graceMs);
    await Promise.all(sessions.map(closeSession));
    clearTimeout(force);
  }
}

/** Resolves when its requests were answered. */
const closeSession = (session: ServerHttp2Session): Promise<void> =>
  new Promise((resolve) => {
    session.once("close", resolve);
    session.close();
  });
