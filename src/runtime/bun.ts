// Serves HTTP on the sockets of Bun, and implements the other functions of the runtime for Bun.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import type { MapFile, SendFile } from "../lib/file-access.ts";
import type { HttpConnection } from "./http1/connection.ts";
import { Http1Server } from "./http1/server.ts";
import type { Socket } from "./http1/socket.ts";
import type {
  FindSyntaxError,
  ForgetModules,
  ModuleSpecifier,
  PrepareModules,
  Serve,
  ServeOptions,
} from "./runtime.ts";

export const serve: Serve = async (options) => {
  const { fetch, errorResponse, maxHeaderBytes, tls, isShared = false } = options;
  const scheme = tls === undefined ? "http" : "https";
  const server = new Http1Server({ fetch, errorResponse, maxHeaderBytes, releaseChunk, scheme });
  const port = tls !== undefined && !isShared ? claimPort(options) : options.port;
  let listener = listenFor(server, { ...options, port });
  return {
    host: options.host,
    port: listener.port,
    replaceCertificate(next) {
      const former = listener;
      listener = listenFor(server, { ...options, port, tls: next });
      former.stop();
    },
    stop(graceMs) {
      listener.stop();
      return server.stop(graceMs);
    },
  };
};

/** Throws when the port is taken, which a listener that shares its port does not find out. */
function claimPort({ host: hostname, port }: ServeOptions): number {
  const listener = Bun.listen({ hostname, port, socket: { data: () => undefined } });
  const claimed = listener.port;
  listener.stop(true);
  return claimed;
}

/** Another listener may have the same port: those of other processes, and one with another certificate. */
const listenFor = (server: Http1Server, { host, port, tls, isShared = false }: ServeOptions) =>
  Bun.listen<HttpConnection>({
    hostname: host,
    port,
    allowHalfOpen: true,
    ...((isShared || tls !== undefined) && { reusePort: true }),
    ...(tls && { tls: { cert: tls.cert, key: tls.key } }),
    socket: {
      open: (socket) => {
        socket.data = server.open(socketOf(socket));
      },
      // With this, a connection is known before its handshake, so that it has a limit.
      ...(tls && { handshake: () => undefined }),
      data: (socket, bytes) => socket.data.receive(bytes),
      drain: (socket) => socket.data.drain(),
      end: (socket) => socket.data.end(),
      close: (socket) => server.closed(socket.data),
      error: (socket) => socket.data?.destroy(),
    },
  });

/** The methods that end a connection have other names. */
const socketOf = (socket: Bun.Socket<HttpConnection>): Socket => ({
  write: (data) => socket.write(data),
  // The kernel has what was taken.
  isFull: false,
  shutdown: () => socket.shutdown(),
  close: () => socket.end(),
  terminate: () => socket.terminate(),
  pause: () => socket.pause(),
  resume: () => socket.resume(),
  // A client that has left before it was accepted has none.
  remoteAddress: socket.remoteAddress ?? "",
});

/** Bun collects chunks late: an upload would leave up to 80 MB of them. A part of a buffer is left to it. */
function releaseChunk({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** Bun sends any other stream in chunks, even with a Content-Length. */
export const sendFile: SendFile = (path, start, end) => Bun.file(path).slice(start, end);

export const mapFile: MapFile = (path) => Bun.mmap(path, { shared: true });

const registered = new Set<string>();
const runAgainMs = 5_000;

/** Applies to every folder, because Bun does not tell which module imports. */
export const prepareModules: PrepareModules = (_folder, name, { load }) => {
  if (registered.has(name)) return;
  registered.add(name);
  Bun.plugin({
    name,
    setup(build) {
      build.module(name, async () => ({ exports: await load(), loader: "object" }));
    },
  });
};

/** Bun waits for ever for a module that is not loaded, but not for its path with a query, which a URL would lose. */
export const moduleSpecifier: ModuleSpecifier = (path, timesStuck) =>
  timesStuck === 0 ? pathToFileURL(path).href : `${path}?again=${timesStuck}`;

export const forgetModules: ForgetModules = async (folder, hasFailed) => {
  const paths = modulesIn(folder);
  const isOwn = (key: string) => paths.includes(key.split("?again=")[0] ?? key);
  const forget = () => {
    // Modules that failed are not among the keys.
    for (const key of [...paths, ...Object.keys(require.cache).filter(isOwn)])
      delete require.cache[key];
  };
  forget();
  if (!hasFailed) return;
  // Bun keeps a module that was read for an import that failed, until the module is run.
  const runAgain = Promise.allSettled(paths.map((path) => import(path)));
  // One of them may never be loaded.
  await Promise.race([runAgain, sleep(runAgainMs, undefined, { ref: false })]);
  forget();
};

const modulesIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.[mc]?[jt]sx?$/.test(path) && !/\.(?:test|spec|d)\.\w+$/.test(path))
    .filter((path) => !path.includes("node_modules"))
    .map((path) => join(folder, path));

/** Bun's own errors contain file, line and column. */
export const findSyntaxError: FindSyntaxError = () => undefined;
