// The server's life: open the store, listen, say so, and drain when told to stop.

import { isIPv6 } from "node:net";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { serve as listen } from "#runtime";
import { type App, assemble, version } from "./assemble.ts";
import type { Config } from "./config.ts";
import { Exit, messageOf } from "./exit.ts";
import { greeting } from "./greeting.ts";
import { createLog, type Log } from "./log.ts";
import type { Server } from "./runtime/runtime.ts";

const maxHeaderBytes = 16_384;

/** Under the ten seconds that `docker stop` waits before it kills. */
const graceMs = 8_000;

/** One Ctrl-C arrives twice: from the terminal, and once more from npm, which passes it on. */
const samePressMs = 500;

/** Runs until a signal ends the process. */
export async function serve(config: Config): Promise<void> {
  const log = createLog(config.logLevel);
  const app = await openApp(config, log);
  const server = await start(config, app);
  announce(config, app, server, log);
  stopOnSignal(() => drain(server, app, log));
}

/** Also for commands that need the store and no server. */
export async function openApp(config: Config, log: Log): Promise<App> {
  try {
    return await assemble(config, log);
  } catch (cause) {
    const message = `The store in ${config.data} cannot be opened: ${messageOf(cause)}`;
    throw new Exit(1, message, { cause });
  }
}

async function start({ host, port }: Config, app: App): Promise<Server> {
  try {
    return await listen({ host, port, fetch: app.fetch, refuse: app.refuse, maxHeaderBytes });
  } catch (cause) {
    // Otherwise nobody would ever see it: the next start finds a store that has a token.
    showFirstAdminToken(app);
    await app.close();
    throw new Exit(1, whyNotListening(host, port, cause), { cause });
  }
}

function whyNotListening(host: string, port: number, cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  const place = `Port ${port} on ${host}`;
  if (code === "EADDRINUSE")
    return `${place} is in use. Stop what uses it, or choose another --port.`;
  if (code === "EACCES") return `${place} needs more rights. Choose a --port from 1024 up.`;
  return `${place} cannot be listened on: ${messageOf(cause)}`;
}

function announce(config: Config, app: App, server: Server, log: Log): void {
  const localUrl = `http://${urlHost(config.host)}:${server.port}`;
  if (!process.stdout.isTTY) {
    showFirstAdminToken(app);
    log.info({ url: localUrl, data: config.data, version, pid: process.pid }, "listening");
    return;
  }
  const { baseUrl } = config;
  const { firstAdminToken } = app;
  const data = shortPath(config.data);
  const tokenCommand = `${invocation()} token create --data ${quoted(data)} --name me --scope admin`;
  const welcome = { version, localUrl, baseUrl, data, firstAdminToken, tokenCommand };
  process.stdout.write(greeting(welcome));
}

/** To standard error as plain text: a log is kept, and a secret must not be kept with it. */
export function showFirstAdminToken({ firstAdminToken }: App): void {
  if (firstAdminToken !== undefined)
    console.error(`The first admin token, shown only this once: ${firstAdminToken}`);
}

function stopOnSignal(stop: () => Promise<void>): void {
  let askedAt: number | undefined;
  const onSignal = (_name: string, number: number) => {
    const now = performance.now();
    if (askedAt === undefined) {
      askedAt = now;
      void stop().then(() => process.exit(0));
    } else if (now - askedAt > samePressMs) process.exit(128 + number);
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}

async function drain(server: Server, app: App, log: Log): Promise<void> {
  log.info("draining");
  await server.stop(graceMs);
  await app.close();
  log.info("stopped");
  await new Promise<void>((resolve) => log.flush(() => resolve()));
}

/** A wildcard address is no place to send a request to; this machine is one of those it covers. */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return isIPv6(host) ? `[${host}]` : host;
}

/** What to type to call this program: from a checkout, or from a package installed by npm. */
function invocation(): string {
  const program = fileURLToPath(new URL("../bin/restante.js", import.meta.url));
  return program.includes("node_modules") ? "npx restante" : `node ${quoted(shortPath(program))}`;
}

const quoted = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

function shortPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith("..") ? path : `./${fromHere}`;
}
