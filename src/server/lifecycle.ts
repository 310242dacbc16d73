// Opens an app from a config, listens for it, and stops it without losing requests in flight.

import { serve } from "#runtime";
import { CliError, messageOf } from "../lib/cli-error.ts";
import type { Action } from "../model/action.ts";
import { readDefinition } from "../model/read-definition.ts";
import type { Server } from "../runtime/runtime.ts";
import type { Committer } from "../store/remote-committer.ts";
import {
  type App,
  assemble,
  type CollectMetrics,
  describeStore,
  type PortHandlers,
} from "./app.ts";
import {
  type CertificateFiles,
  type CheckedCertificate,
  certificateFiles,
  readCertificate,
} from "./certificate.ts";
import { CertificateFollower } from "./certificate-follower.ts";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";
import { metricsResponder } from "./metrics-server.ts";

const maxHeaderBytes = 16_384;

/** Less than the ten seconds after which `docker stop` kills. */
const graceMs = 8_000;

export type Stoppable = Pick<Server, "stop">;

/** Opens the store and builds the app, for the server and for commands that only need the store. */
export async function openApp(
  config: Config,
  log: Log,
  committer?: Committer,
  actions?: readonly Action[],
): Promise<App> {
  try {
    return await assemble(config, log, committer, actions);
  } catch (cause) {
    const message = `Cannot open the store in ${describeStore(config)}: ${messageOf(cause)}`;
    throw new CliError(1, message, { cause });
  }
}

/** Soon after the start, and not for a server that stops at once. */
const prepareAfterMs = 2_000;

/** The first definition takes thirty times as long as others, and nobody is answered meanwhile. */
function prepareDefinitions(): void {
  readDefinition('{"schema":{"properties":{"name":{"type":"string"}}}}');
}

/** A server that may have a port of its own for the console. */
export interface AppServer extends Server {
  readonly consolePort: number | undefined;
}

export async function listenFor(config: Config, app: App, log: Log): Promise<AppServer> {
  const { host, port, workers, consolePort } = config;
  const tls = readCertificate(config);
  const isShared = workers > 1;
  const listen = (port: number, { fetch, errorResponse }: PortHandlers) =>
    serve({ host, port, fetch, errorResponse, maxHeaderBytes, isShared, tls });
  const main = await listen(port, app);
  const server =
    consolePort === undefined
      ? { ...main, consolePort }
      : await withConsole(main, listen(consolePort, app.consolePort), consolePort);
  setTimeout(prepareDefinitions, prepareAfterMs).unref();
  const files = certificateFiles(config);
  return files && tls ? followCertificate(server, files, tls, app, log) : server;
}

/** Makes one of two servers. Stops the first when the other one cannot listen. */
async function withConsole(
  main: Server,
  listening: Promise<Server>,
  port: number,
): Promise<AppServer> {
  const other = await listening.catch(async (cause) => {
    await main.stop(0);
    const message = `Cannot serve the console on port ${port} of ${main.host}: ${messageOf(cause)}. Choose another --console-port.`;
    throw new CliError(1, message, { cause });
  });
  return {
    ...main,
    consolePort: other.port,
    replaceCertificate(tls) {
      main.replaceCertificate(tls);
      other.replaceCertificate(tls);
    },
    async stop(graceMs) {
      await Promise.all([main.stop(graceMs), other.stop(graceMs)]);
    },
  };
}

function followCertificate(
  server: AppServer,
  files: CertificateFiles,
  tls: CheckedCertificate,
  { metrics, tasks, onReload }: App,
  log: Log,
): AppServer {
  const follower = new CertificateFollower(files, tls, server, log, tasks);
  onReload(() => void follower.look());
  metrics.gauge(
    "restante_tls_certificate_expires_timestamp_seconds",
    "When the certificate of the server expires.",
    () => follower.expiresAt / 1000,
    "max",
  );
  return {
    ...server,
    stop(graceMs) {
      void follower.stop();
      return server.stop(graceMs);
    },
  };
}

/** Serves the metrics on their own port. Returns undefined when the config names none. */
export async function listenForMetrics(
  { metricsPort: port, metricsHost: host }: Config,
  collect: CollectMetrics,
): Promise<Server | undefined> {
  if (port === undefined) return undefined;
  try {
    return await serve({ host, port, maxHeaderBytes, ...metricsResponder(collect) });
  } catch (cause) {
    const message = `Cannot serve the metrics on port ${port} of ${host}: ${messageOf(cause)}. Choose another --metrics-port.`;
    throw new CliError(1, message, { cause });
  }
}

/** Finishes the requests in flight, closes the store, logs the message if given, and flushes the log. */
export async function drain(
  server: Stoppable,
  app: App,
  log: Log,
  message?: string,
): Promise<void> {
  await server.stop(graceMs);
  await app.close();
  if (message !== undefined) log.info(message);
  await new Promise<void>((resolve) => log.flush(() => resolve()));
}
