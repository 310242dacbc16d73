// Serves HTTP/2 on the connections of a TLS server whose clients chose it, and bounds what they may do.

import { performServerHandshake, type ServerHttp2Session } from "node:http2";
import type { TLSSocket } from "node:tls";
import { answerStream } from "./node-http2-stream.ts";
import type { ServeOptions } from "./runtime.ts";

export interface Http2Timeouts {
  /** A session without activity takes no new streams after this time. */
  readonly idleMs: number;
  /** A stream is reset when it transfers nothing for so long. */
  readonly streamMs: number;
  /** A client that does not read the end of its session within this time has left. */
  readonly lingerMs: number;
}

const defaultTimeouts: Http2Timeouts = { idleMs: 30_000, streamMs: 120_000, lingerMs: 10_000 };

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
  readonly #timeouts: Http2Timeouts;
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(options: ServeOptions, timeouts = defaultTimeouts) {
    this.#options = options;
    this.#timeouts = timeouts;
  }

  open(socket: TLSSocket): void {
    const maxHeaderListSize = this.#options.maxHeaderBytes * 2;
    const settings = { ...limits.settings, maxHeaderListSize };
    const session = performServerHandshake(socket, { ...limits, settings });
    this.#sessions.add(session);
    session.once("close", () => this.#sessions.delete(session));
    endWhenIdle(session, socket, this.#timeouts);
    // A broken session ends with a GOAWAY, and is nothing that the operator could change.
    session.on("error", () => undefined);
    socket.on("error", () => undefined);
    const { remoteAddress = "" } = socket;
    const { fetch, errorResponse, maxHeaderBytes } = this.#options;
    const { streamMs } = this.#timeouts;
    const peerAddress = () => remoteAddress;
    const serving = { fetch, errorResponse, maxHeaderBytes, peerAddress, timeoutMs: streamMs };
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

/** Node waits without a limit until a client reads the end, also when it has left. */
function endWhenIdle(
  session: ServerHttp2Session,
  socket: TLSSocket,
  { idleMs, lingerMs }: Http2Timeouts,
): void {
  let streams = 0;
  const destroy = () => {
    session.destroy();
    socket.destroy();
  };
  const linger = () => {
    if (session.closed && streams === 0) setTimeout(destroy, lingerMs).unref();
  };
  session.on("stream", (stream) => {
    streams++;
    stream.once("close", () => {
      streams--;
      linger();
    });
  });
  session.setTimeout(idleMs, () => {
    session.close();
    linger();
  });
}
