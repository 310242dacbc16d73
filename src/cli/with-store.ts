// Opens the store for a command: for reading beside a running server, or for writing through the owner of the folder.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "../lib/cli-error.ts";
import { version } from "../lib/program.ts";
import { Outage } from "../model/outage.ts";
import type { App } from "../server/app.ts";
import type { Config } from "../server/config.ts";
import { makeFirstToken } from "../server/first-token.ts";
import { openApp } from "../server/lifecycle.ts";
import { createLog } from "../server/log.ts";
import { connectToOwner, FolderInUse, OtherVersion } from "../server/open-store.ts";
import type { Committer } from "../store/remote-committer.ts";

/** Opens the store for reading only, also while a server runs. */
export const withStoreToRead = (config: Config, act: (app: App) => Promise<void>): Promise<void> =>
  withStore(config, act, () => {
    if (config.store === undefined && !existsSync(join(config.data, "restante.db")))
      throw noStore(config);
    return openApp(config, silent, readOnly);
  });

/**
 * Sends writes to the process that owns the data folder. Opens the store itself when no process owns it.
 * `unknownHint` says what to do when it is not known whether a write was done.
 */
export const withStoreToWrite = (
  config: Config,
  act: (app: App) => Promise<void>,
  unknownHint: string,
): Promise<void> =>
  withStore(
    config,
    act,
    async () => {
      const app =
        config.store === undefined ? await openEmbedded(config) : await openApp(config, silent);
      // A later start would find a token in the store and would not create this one.
      if (config.adminToken !== undefined) await makeFirstToken(app.tokens, config.adminToken);
      return app;
    },
    unknownHint,
  );

async function withStore(
  config: Config,
  act: (app: App) => Promise<void>,
  open: () => Promise<App>,
  unknownHint = "",
): Promise<void> {
  // Opening would create the folder, and a typo in the path would look like an empty store.
  if (config.store === undefined && !existsSync(config.data)) throw noStore(config);
  const app = await open();
  try {
    await act(app);
  } catch (thrown) {
    if (!(thrown instanceof Outage)) throw thrown;
    const hint = thrown.reason === "unknown" && unknownHint !== "" ? ` ${unknownHint}` : "";
    throw new CliError(1, `The change failed: ${thrown.message}.${hint}`, { cause: thrown });
  } finally {
    await app.close();
  }
}

const noStore = ({ data }: Config): CliError =>
  new CliError(1, `There is no store in ${data}. Start the server once, or correct --data.`);

/**
 * A server may start or stop at any moment, so this tries to connect and to open in turn. It fails when the
 * folder stays locked and its owner cannot be reached for a while.
 */
async function openEmbedded(config: Config): Promise<App> {
  let failure: { readonly error: CliError; readonly deadline: number } | undefined;
  for (;;) {
    const owner = await connect(config);
    if (owner !== undefined) return openApp(config, silent, owner);
    if (failure !== undefined && performance.now() > failure.deadline)
      throw unreachable(failure.error);
    try {
      return await openApp(config, silent);
    } catch (thrown) {
      if (!(thrown instanceof CliError && thrown.cause instanceof FolderInUse)) throw thrown;
      failure ??= { error: thrown, deadline: performance.now() + timeoutMs };
      await sleep(pauseMs);
    }
  }
}

const unreachable = ({ message, cause }: CliError): CliError =>
  new CliError(1, `${message} It does not accept changes from commands at the moment.`, { cause });

async function connect({ data }: Config): Promise<Committer | undefined> {
  try {
    return await connectToOwner(data, version);
  } catch (thrown) {
    throw thrown instanceof OtherVersion ? new CliError(1, thrown.message) : thrown;
  }
}

const timeoutMs = 1_000;
const pauseMs = 100;

/** Keeps log lines out of standard output, which is for the result. */
const silent = createLog("silent");

const onlyReading = () => new Outage("unavailable", "the store is open for reading only");

const readOnly: Committer = {
  commit: () => Promise.reject(onlyReading()),
  erase: () => Promise.reject(onlyReading()),
  scrub: () => Promise.reject(onlyReading()),
  lastError: undefined,
  settled: async () => undefined,
  close: async () => undefined,
};
