// Opens an app from a config, listens for it, and stops it without losing requests in flight.

import { serve } from "#runtime";
import { CliError, messageOf } from "../lib/cli-error.ts";
import type { Action } from "../model/action.ts";
import { readDefinition } from "../model/read-definition.ts";
import type { Server } from "../runtime/runtime.ts";
import type { Committer } from "../store/remote-committer.ts";
import { type App, assemble, type CollectMetrics, describeStore } from "./app.ts";
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

export async function listenFor(config: Config, app: App, log: Log): Promise<Server> {
  const { host, port, workers } = config;
  const { fetch, errorResponse } = app;
  const tls = readCertificate(config);
  const isShared = workers > 1;
  const server = await serve({ host, port, fetch, errorResponse, maxHeaderBytes, isShared, tls });
  setTimeout(prepareDefinitions, prepareAfterMs).unref();
  const files = certificateFiles(config);
  return files && tls ? followCertificate(server, files, tls, app, log) : server;
}

function followCertificate(
  server: Server,
  files: CertificateFiles,
  tls: CheckedCertificate,
  { metrics, onReload }: App,
  log: Log,
): Server {
  const follower = new CertificateFollower(files, tls, server, log);
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
      follower.stop();
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
