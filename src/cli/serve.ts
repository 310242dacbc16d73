// The command `serve`: opens the store, listens, prints the address and stops on a signal.

import { isIPv6 } from "node:net";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { CliError, messageOf } from "../lib/cli-error.ts";
import type { Server } from "../runtime/runtime.ts";
import { loadActions, logLateFailures } from "../server/actions-folder.ts";
import { type App, describeStore, version } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { defineAll } from "../server/definitions-folder.ts";
import { makeFirstToken, writeFirstToken } from "../server/first-token.ts";
import { drain, listenFor, openApp, type Stoppable } from "../server/lifecycle.ts";
import { createLog, type Log } from "../server/log.ts";
import { Supervisor } from "../server/supervisor.ts";
import { bannerText } from "./banner.ts";

/** One Ctrl-C arrives twice: from the terminal, and once more from npm, which passes it on. */
const samePressMs = 500;

/** Runs until a signal ends the process. */
export async function serve(config: Config): Promise<void> {
  const log = createLog(config.logLevel);
  // Also where others run them, so that what is wrong with them is told once, and nothing starts.
  const actions = await loadActions(config);
  const app = await openApp(config, log, undefined, actions);
  await prepare(config, app, log);
  void sweepFiles(app, log);
  if (config.workers > 1) return lead(config, app, log);
  logLateFailures(config, app, log);
  const server = await start(config, app);
  stopOnSignal(server, app, log);
  await announce(config, app, server.port, log);
}

/** What the folder of definitions says holds before the first request, and so does a given token. */
async function prepare(config: Config, app: App, log: Log): Promise<void> {
  try {
    await defineAll(config, app, log);
    if (config.adminToken !== undefined) await makeFirstToken(app.tokens, config.adminToken);
  } catch (cause) {
    await app.close();
    throw cause;
  }
}

/** What a process that died has left of uploads; nobody waits for it. */
async function sweepFiles(app: App, log: Log): Promise<void> {
  try {
    const count = await app.sweep();
    if (count > 0) log.info({ count }, "removed files that no resource names");
  } catch (error) {
    log.warn({ err: error }, "the files cannot be swept");
  }
}

/** Many processes on one port: this one writes for them and answers no request itself. */
async function lead(config: Config, app: App, log: Log): Promise<void> {
  const port = await claimPort(config, app);
  const workers = new Supervisor({ ...config, port }, app.commit, log);
  stopOnSignal(workers, app, log);
  try {
    await workers.start();
  } catch (cause) {
    return giveUp(app, `A worker cannot start: ${messageOf(cause)}`, cause);
  }
  await announce(config, app, port, log);
}

/** A shared port is never "in use": another server there would silently get half of the requests. */
async function claimPort(config: Config, app: App): Promise<number> {
  const fetch = () => app.refuse(503, "The server is starting.");
  const server = await start({ ...config, workers: 1 }, { ...app, fetch });
  await server.stop(0);
  return server.port;
}

async function start(config: Config, app: App): Promise<Server> {
  try {
    return await listenFor(config, app);
  } catch (cause) {
    return giveUp(app, whyNotListening(config, cause), cause);
  }
}

async function giveUp(app: App, message: string, cause: unknown): Promise<never> {
  await app.close();
  throw new CliError(1, message, { cause });
}

function whyNotListening({ host, port }: Config, cause: unknown): string {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  const place = `Port ${port} on ${host}`;
  if (code === "EADDRINUSE")
    return `${place} is in use. Stop what uses it, or choose another --port.`;
  if (code === "EACCES") return `${place} needs more rights. Choose a --port from 1024 up.`;
  return `${place} cannot be listened on: ${messageOf(cause)}`;
}

/** Tells commands, and a person or the log, that the server listens. */
async function announce(config: Config, app: App, port: number, log: Log): Promise<void> {
  const localUrl = `http://${urlHost(config.host)}:${port}`;
  const tokenCommand = `${invocation()} token create ${placeFlag(config)} --name me --scope admin`;
  await app.announce(localUrl);
  const firstAdminToken = await offerFirstToken(config, app, tokenCommand);
  if (!process.stdout.isTTY) {
    const { pid } = process;
    log.info({ url: localUrl, data: describeStore(config), version, pid }, "listening");
    return;
  }
  const { baseUrl } = config;
  const data = config.store === undefined ? shortPath(config.data) : describeStore(config);
  const welcome = { version, localUrl, baseUrl, data, firstAdminToken, tokenCommand };
  process.stdout.write(bannerText(welcome));
}

/**
 * The first token's secret, for a terminal. Without one it goes to a file, because what a process
 * prints is kept with its log. A server without a token is still of use: another can be made.
 */
async function offerFirstToken(
  { adminToken, data }: Config,
  { tokens }: App,
  tokenCommand: string,
): Promise<string | undefined> {
  if (adminToken !== undefined) return undefined;
  try {
    if (process.stdout.isTTY) return await makeFirstToken(tokens);
    const file = await writeFirstToken(tokens, data);
    if (file !== undefined)
      console.error(`The first admin token is in ${file}. Remove the file when you have read it.`);
  } catch (error) {
    console.error(`No admin token was made (${messageOf(error)}). Make one: ${tokenCommand}`);
  }
  return undefined;
}

/** A URL with a password is not shown: it stays where it was set. */
function placeFlag({ store, data }: Config): string {
  if (store === undefined) return `--data ${quoted(shortPath(data))}`;
  const isPrivate = new URL(store).password !== "";
  return `--store ${isPrivate ? '"$RESTANTE_STORE"' : quoted(store)}`;
}

function stopOnSignal(server: Stoppable, app: App, log: Log): void {
  let askedAt: number | undefined;
  const onSignal = (_name: string, number: number) => {
    const now = performance.now();
    if (askedAt === undefined) {
      askedAt = now;
      log.info("draining");
      void drain(server, app, log, "stopped").then(() => process.exit(0));
    } else if (now - askedAt > samePressMs) process.exit(128 + number);
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}

/** A wildcard address is no place to send a request to; this machine is one of those it covers. */
function urlHost(host: string): string {
  if (host === "0.0.0.0" || host === "::") return "localhost";
  return isIPv6(host) ? `[${host}]` : host;
}

/** What to type to call this program: from a checkout, or from a package installed by npm. */
function invocation(): string {
  const program = fileURLToPath(new URL("../../bin/restante.js", import.meta.url));
  return program.includes("node_modules") ? "npx restante" : `node ${quoted(shortPath(program))}`;
}

const quoted = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

function shortPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith("..") ? path : `./${fromHere}`;
}
