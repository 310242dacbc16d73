// The command `serve`: opens the store, listens, prints the address and stops on a signal.

import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { CliError, messageOf } from "../lib/cli-error.ts";
import { isExecutable, version } from "../lib/program.ts";
import { codeOf } from "../lib/system-error.ts";
import { loadActions } from "../server/actions-folder.ts";
import { type App, type CollectMetrics, describeStore } from "../server/app.ts";
import { BackupScheduler } from "../server/backup-schedule.ts";
import { readCertificate } from "../server/certificate.ts";
import { checkPublic } from "../server/check-public.ts";
import type { Config, ConfigSources } from "../server/config.ts";
import { applyDefinitions } from "../server/definitions-folder.ts";
import { logConcerns } from "../server/doctor.ts";
import { makeFirstToken, writeFirstToken } from "../server/first-token.ts";
import {
  type AppServer,
  drain,
  listenFor,
  listenForMetrics,
  openApp,
  type Stoppable,
} from "../server/lifecycle.ts";
import { localUrl } from "../server/local-url.ts";
import { createLog, type Log, setLogFormat } from "../server/log.ts";
import { apiPathOf, consoleUrlOf } from "../server/places.ts";
import { pathsOf, Reloader } from "../server/reload.ts";
import { Supervisor } from "../server/supervisor.ts";
import { startSweeps } from "../server/sweeps.ts";
import { logUncaughtErrors } from "../server/uncaught-errors.ts";
import { stateOf, watchFiles } from "../server/watch.ts";
import { bannerText } from "./banner.ts";
import { signInLink } from "./console.ts";

/** One Ctrl-C arrives twice: from the terminal, and again from npm, which passes it on. */
const samePressMs = 500;

/** What another command does with the server that it starts, instead of the first token and the greeting. */
export type Greet = (app: App, consoleUrl: string | undefined) => Promise<void>;

/** Runs until a signal ends the process. */
export async function serve(
  config: Config,
  sources: ConfigSources,
  isWatching: boolean,
  greet?: Greet,
): Promise<void> {
  // What changes from here on is seen.
  const before = stateOf(isWatching ? pathsOf(config, sources) : []);
  const log = createLog(config.logLevel);
  setLogFormat(log, config.logFormat);
  const listening = Promise.withResolvers<Reloader>();
  reloadOnHangUp(listening.promise);
  logUncaughtErrors(config, log);
  // Loads the actions here even when only workers run them, so that errors are reported once.
  const actions = await loadActions(config);
  // Workers read it themselves. Its errors are reported once, before anything is opened.
  readCertificate(config);
  checkPublic(config, log);
  const app = await openApp(config, log, undefined, actions);
  await prepare(config, app, log);
  startSweeps(app, log);
  void logConcerns(config, log);
  const reloader = new Reloader(sources, app, log);
  app.settings.reloadBy(() => reloader.reload());
  if (config.workers > 1) await superviseWorkers(config, app, log, reloader, greet);
  else await serveAlone(config, app, log, greet);
  listening.resolve(reloader);
  if (isWatching) watchFiles(before, reloader);
}

/** Answers requests in this process. */
async function serveAlone(
  config: Config,
  app: App,
  log: Log,
  greet: Greet | undefined,
): Promise<void> {
  const isHeadless = !process.stdout.isTTY;
  if (isHeadless && config.port !== 0) await claimPort(config, app, log);
  const metrics = await startMetrics(config, app, log, () => app.metrics.read());
  // Who waits until the server is ready finds the file.
  if (isHeadless && !greet) await createFirstToken(config, app);
  const server = await start(config, app, log, metrics);
  const backups = scheduleBackups(config, app, log, app.showBackups);
  const running = together(server, backups, metrics);
  stopOnSignal(running, app, log);
  await announce(config, app, server, log, greet).catch((thrown) =>
    stopAndThrow(running, app, log, thrown),
  );
  await backups?.start();
}

/** Returns undefined when there is no folder for backups. */
function scheduleBackups(
  config: Config,
  { tasks }: App,
  log: Log,
  onChange: App["showBackups"],
): BackupScheduler | undefined {
  const { backupTo: to } = config;
  return to === undefined ? undefined : new BackupScheduler({ config, to, log, onChange, tasks });
}

async function startMetrics(
  config: Config,
  app: App,
  log: Log,
  collect: CollectMetrics,
): Promise<Stoppable | undefined> {
  try {
    const server = await listenForMetrics(config, collect);
    if (server) log.info({ port: server.port, host: config.metricsHost }, "serving metrics");
    return server;
  } catch (error) {
    await app.close();
    throw error;
  }
}

const together = (
  server: Stoppable,
  backups: BackupScheduler | undefined,
  metrics: Stoppable | undefined,
): Stoppable => ({
  async stop(graceMs) {
    backups?.stop();
    await server.stop(graceMs);
    await metrics?.stop(0);
  },
});

/** Applies the definitions and creates the configured token before the first request. */
async function prepare(config: Config, app: App, log: Log): Promise<void> {
  try {
    await app.claimFiles().catch((cause) => {
      throw new CliError(1, `Cannot start: ${messageOf(cause)}`, { cause });
    });
    await applyDefinitions(config, app, log);
    if (config.adminToken !== undefined) await makeFirstToken(app.tokens, config.adminToken);
  } catch (cause) {
    await app.close();
    throw cause;
  }
}

/** Starts workers that share a port. This process does their writes and answers no requests. */
async function superviseWorkers(
  config: Config,
  app: App,
  log: Log,
  reloader: Reloader,
  greet: Greet | undefined,
): Promise<void> {
  const claimed = await claimPort(config, app, log);
  const { port, consolePort } = claimed;
  const workers = new Supervisor({ ...config, consolePort }, port, app, log, reloader);
  const backups = scheduleBackups(config, app, log, (status) => workers.showBackups(status));
  const metrics = await startMetrics(config, app, log, () => workers.collectMetrics());
  const running = together(workers, backups, metrics);
  stopOnSignal(running, app, log);
  // Who waits until a worker is ready finds the file.
  if (!process.stdout.isTTY && !greet) await createFirstToken(config, app);
  try {
    await workers.start();
  } catch (cause) {
    await metrics?.stop(0);
    return closeAndThrow(app, `Cannot start a worker: ${messageOf(cause)}`, cause);
  }
  await announce(config, app, claimed, log, greet).catch((thrown) =>
    stopAndThrow(running, app, log, thrown),
  );
  await backups?.start();
}

/** A signal stops the greeting, too, which is no error then. */
async function stopAndThrow(server: Stoppable, app: App, log: Log, thrown: unknown): Promise<void> {
  if (app.isClosing) return;
  await drain(server, app, log);
  throw thrown;
}

type Ports = Pick<AppServer, "port" | "consolePort">;

/**
 * Checks that the ports are free, before anything is written. A shared port is never "in use", so another
 * server could take requests.
 */
async function claimPort(config: Config, app: App, log: Log): Promise<Ports> {
  const fetch = () => app.errorResponse(503, "The server is starting.");
  const starting = { ...app, fetch, consolePort: { ...app.consolePort, fetch } };
  const server = await start({ ...config, ...noTls, workers: 1 }, starting, log);
  await server.stop(0);
  return server;
}

const noTls = { tlsCert: undefined, tlsKey: undefined };

async function start(
  config: Config,
  app: App,
  log: Log,
  metrics?: Stoppable | undefined,
): Promise<AppServer> {
  try {
    return await listenFor(config, app, log);
  } catch (cause) {
    await metrics?.stop(0);
    const isExplained = cause instanceof CliError;
    const message = isExplained ? cause.message : listenErrorMessage(config, cause);
    return closeAndThrow(app, message, cause);
  }
}

async function closeAndThrow(app: App, message: string, cause: unknown): Promise<never> {
  await app.close();
  throw new CliError(1, message, { cause });
}

function listenErrorMessage({ host, port }: Config, cause: unknown): string {
  const code = codeOf(cause);
  const address = `Port ${port} on ${host}`;
  if (code === "EADDRINUSE")
    return `${address} is in use. Stop the program that uses it, or choose another --port.`;
  if (code === "EACCES") return `${address} needs more rights. Choose a --port from 1024 up.`;
  return `${address}: cannot listen: ${messageOf(cause)}`;
}

/** Publishes the address for commands, and shows it on the terminal or in the log. */
async function announce(
  config: Config,
  app: App,
  ports: Ports,
  log: Log,
  greet: Greet | undefined,
): Promise<void> {
  const url = localUrl(config, ports.port);
  await app.announce(url);
  const { baseUrl, public: website } = config;
  const apiPath = apiPathOf(config);
  const consoleUrl = consoleUrlOf(config, ports);
  if (!process.stdout.isTTY) {
    const { pid } = process;
    const places = {
      ...(website !== undefined && { website }),
      ...(apiPath !== "" && { apiPath }),
      ...(ports.consolePort !== undefined && { console: consoleUrl }),
    };
    log.info({ url, data: describeStore(config), ...places, version, pid }, "listening");
  }
  if (greet) return greet(app, consoleUrl);
  if (!process.stdout.isTTY) return;
  const data = config.store === undefined ? shortPath(config.data) : describeStore(config);
  const firstAdminToken = await createFirstToken(config, app);
  const isFirst = firstAdminToken !== undefined && consoleUrl !== undefined;
  process.stdout.write(
    bannerText({
      ...{ version, localUrl: url, baseUrl, apiPath, consoleUrl, data, firstAdminToken },
      website: website && shortPath(website),
      // The token does without it.
      signInLink: isFirst ? await signInLink(app, consoleUrl).catch(() => undefined) : undefined,
      linkCommand: linkCommandFor(config, ports),
      tokenCommand: tokenCommandFor(config),
    }),
  );
}

/**
 * Creates the first token and returns its secret when there is a terminal. Otherwise it writes the secret
 * to a file, because the output of a process is stored with its log. A failure does not stop the server.
 */
async function createFirstToken(config: Config, { tokens }: App): Promise<string | undefined> {
  const { adminToken, data } = config;
  if (adminToken !== undefined) return undefined;
  try {
    if (process.stdout.isTTY) return await makeFirstToken(tokens);
    const file = await writeFirstToken(tokens, data);
    if (file !== undefined)
      console.error(`The first admin token is in ${file}. Delete the file after you have read it.`);
  } catch (error) {
    console.error(
      `Cannot create the first admin token (${messageOf(error)}). Create one: ${tokenCommandFor(config)}`,
    );
  }
  return undefined;
}

const tokenCommandFor = (config: Config): string =>
  `${commandFor(config, "token create")} --name me --scope admin`;

const linkCommandFor = (config: Config, { consolePort }: Ports): string =>
  commandFor(config, "console") +
  (consolePort === undefined ? "" : ` --console-port ${consolePort}`);

const commandFor = (config: Config, name: string): string =>
  `${invocation()} ${name} ${storeFlag(config)}`;

/** Shows a URL with a password as the variable, not as text. */
function storeFlag({ store, data }: Config): string {
  if (store === undefined) return `--data ${quoted(shortPath(data))}`;
  const isPrivate = new URL(store).password !== "";
  return `--store ${isPrivate ? '"$RESTANTE_STORE"' : quoted(store)}`;
}

/** Reloads on each SIGHUP, when the server listens. */
function reloadOnHangUp(listening: Promise<Reloader>): void {
  if (process.stdout.isTTY) return;
  process.on("SIGHUP", () => void listening.then((reloader) => reloader.reload()));
}

function stopOnSignal(server: Stoppable, app: App, log: Log): void {
  let signalledAt: number | undefined;
  const onSignal = (_name: string, number: number) => {
    const now = performance.now();
    if (signalledAt === undefined) {
      signalledAt = now;
      log.info("draining");
      void drain(server, app, log, "stopped").then(() => process.exit(0));
    } else if (now - signalledAt > samePressMs) process.exit(128 + number);
  };
  // A terminal sends it when it is closed.
  if (process.stdout.isTTY) process.on("SIGHUP", onSignal);
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
}

/** Returns the command that starts this program, from a checkout or from an installed package. */
function invocation(): string {
  if (isExecutable) return quoted(shortPath(process.execPath));
  const program = fileURLToPath(new URL("../../bin/restante", import.meta.url));
  return program.includes("node_modules") ? "npx restante" : quoted(shortPath(program));
}

const quoted = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

function shortPath(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith("..") ? path : `./${fromHere}`;
}
