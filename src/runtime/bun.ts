// Bytes through Bun.serve: as little as possible between its parser and the application.

import { badPath, rawRoutes } from "./bun/raw-target.ts";
import { withoutStream } from "./head.ts";
import type { FindSyntaxError, MapFile, PrepareModules, SendFile, Serve } from "./runtime.ts";

/** Who has not sent a whole header section by then is cut off, and so is an idle connection. */
const idleTimeoutSeconds = 10;

/**
 * Only about 16 KB/s winds Bun's idle clock up again: slower uploads are cut off without a word
 * although bytes keep arriving, and so is who reads slowly. Bodies that may take a while therefore get
 * a longer clock, which who reads or writes them can wind up. It stays on the connection until the
 * next request there.
 */
const longTimeoutSeconds = 120;

/** A body up to this size comes with its header section, or right after it. */
const smallBodyBytes = 4_096;

/**
 * The limit of the header section is no option of Bun.serve but a flag of the process
 * (`--max-http-header-size`, 16 KiB by default), so `maxHeaderBytes` is not read here.
 */
export const serve: Serve = async ({ host, port, fetch, refuse, isShared = false }) => {
  // The hot path: a GET costs one comparison and two closures, and stays synchronous if it was.
  const answer = (request: Request, server: Bun.Server<undefined>) => {
    const peerAddress = () => server.requestIP(request)?.address ?? "";
    const extendTimeout = () => server.timeout(request, longTimeoutSeconds);
    const method = request.method;
    if (method === "GET") return fetch(request, peerAddress, extendTimeout);
    if (method === "HEAD") return answerHead(fetch(request, peerAddress));
    if (!mayTakeAWhile(method, request.headers)) return fetch(request, peerAddress);
    extendTimeout();
    return fetch(request, peerAddress, extendTimeout);
  };

  const server = Bun.serve({
    hostname: host,
    port,
    reusePort: isShared,
    idleTimeout: idleTimeoutSeconds,
    development: false,
    // The application answers 413, with words; Bun's own answer would have none.
    maxRequestBodySize: Number.MAX_SAFE_INTEGER,

    routes: rawRoutes(answer, () => refuse(400, badPath)),
    error: (cause) => refuse(500, "The server failed while answering this request.", cause),
  });

  return {
    host,
    port: server.port ?? port,
    async stop(graceMs) {
      const force = setTimeout(() => void server.stop(true), graceMs);
      await server.stop();
      clearTimeout(force);
    },
  };
};

/** A large body does; and what is asked without one, because Bun takes thinking about that for idleness. */
function mayTakeAWhile(method: string, headers: Headers): boolean {
  const length = Number(headers.get("content-length"));
  if (length > 0) return length > smallBodyBytes;
  return method === "POST" || headers.has("transfer-encoding");
}

/** Bun leaves Date out when it strips a body, and RFC 9110 §6.6.1 wants it on every 2xx to 4xx. */
async function answerHead(answer: Response | Promise<Response>): Promise<Response> {
  const response = await withoutStream(answer);
  response.headers.set("Date", new Date().toUTCString());
  return response;
}

/** Every other stream is sent in chunks, whatever length is declared. */
export const sendFile: SendFile = (path, start, end) => Bun.file(path).slice(start, end);

export const mapFile: MapFile = (path) => Bun.mmap(path, { shared: true });

const provided = new Set<string>();

/** For every importer: Bun does not tell which one it is. */
export const prepareModules: PrepareModules = (_folder, name, url) => {
  if (provided.has(name)) return;
  provided.add(name);
  Bun.plugin({
    name,
    setup(build) {
      build.module(name, async () => ({ exports: await import(url), loader: "object" }));
    },
  });
};

/** Bun's own errors name file, line and column. */
export const findSyntaxError: FindSyntaxError = () => undefined;
