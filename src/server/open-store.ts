// Opens the store that a config names, and locks the data folder when this process writes to it.

import { availableParallelism } from "node:os";
import { mapFile } from "#runtime";
import type { Metrics } from "../lib/metrics.ts";
import type { Tasks } from "../lib/tasks.ts";
import { Outage } from "../model/outage.ts";
import { type CommitListener, listenForCommits } from "../store/commit-socket.ts";
import { withGroupCommit } from "../store/group-commit.ts";
import type { PostgresOptions } from "../store/postgres/options.ts";
import { openPostgres } from "../store/postgres/postgres.ts";
import type { CommitOwner, Committer } from "../store/remote-committer.ts";
import { finishStart } from "../store/sqlite/former.ts";
import { FolderLock } from "../store/sqlite/lock.ts";
import { refuseOtherVersion } from "../store/sqlite/open.ts";
import { openSqlite } from "../store/sqlite/sqlite.ts";
import { writeVersionFile } from "../store/sqlite/version-file.ts";
import type { Report } from "../store/sqlite/writer-client.ts";
import type { Store } from "../store/store.ts";
import type { Config } from "./config.ts";
import { fileQuotasOf } from "./limit-settings.ts";
import { foldersOf } from "./open-files.ts";

export { connectToOwner, OtherVersion } from "../store/commit-socket.ts";
export { FolderInUse, readOwner } from "../store/sqlite/lock.ts";

/** A store whose `close` also releases the lock of the folder. */
export interface OpenStore extends Store {
  /** Writes for other processes. A commit without changes rejects when writing does not work. */
  readonly writer: CommitOwner;
  /**
   * Writes to the folder that its owner is ready and where it listens, and accepts changes of commands
   * from then on. What a migration kept is removed at the second start. Rejects when
   * commands cannot reach it. Does nothing on Postgres and in workers.
   */
  announce(version: string, address: string | undefined): Promise<void>;
}

/** The first process puts the batches of all workers together, and counts them. */
const inWorker = { maxInFlight: 2 };

const dayMs = 24 * 60 * 60 * 1000;

/**
 * With a committer, another process writes and this one only reads. Without one, this process locks the
 * folders of an embedded store. On Postgres there is nothing to lock.
 */
export async function openStore(
  config: Config,
  committer?: Committer,
  report?: Report,
  metrics?: Metrics,
  tasks?: Tasks,
): Promise<OpenStore> {
  const { store: url, readStore: readUrl, data: path } = config;
  const retention = { removalsMs: config.keepRemovedDays * dayMs };
  const fileQuotas = fileQuotasOf(config);
  const queries = {
    queryDeadlineMs: config.queryDeadline * 1_000,
    maxCounted: config.maxCounted,
    metrics,
  };
  if (url !== undefined) {
    const options = {
      url,
      readUrl,
      retention,
      fileQuotas,
      committer,
      ...(tasks && { tasks }),
      ...queries,
    };
    return withOwner(await openGroupedPostgres(options, report), path, []);
  }
  if (committer !== undefined) {
    const store = await openSqlite({ path, mapFile, committer, report, ...queries });
    return withOwner(withGroupCommit(store, inWorker), path, []);
  }
  refuseOtherVersion(path);
  const locks: FolderLock[] = [];
  try {
    // Two stores with the same folder of files would remove each other's files.
    for (const folder of foldersOf(config, path)) locks.push(await FolderLock.take(folder));
    const store = await openSqlite({ path, mapFile, report, retention, fileQuotas, ...queries });
    writeVersionFile(path);
    const sharesProcessor = availableParallelism() === 1;
    return withOwner(withGroupCommit(store, { metrics, sharesProcessor }), path, locks, () => {
      finishStart(path, report);
      writeVersionFile(path);
    });
  } catch (error) {
    release(locks);
    throw error;
  }
}

/** A writer that waits for one collection does not hold up the others. */
async function openGroupedPostgres(options: PostgresOptions, report?: Report): Promise<Store> {
  const onProgress = (message: string) => report?.("info", message);
  const onError = (message: string) => report?.("error", message);
  const { metrics, committer } = options;
  const store = await openPostgres({ ...options, onProgress, onError });
  return withGroupCommit(store, { isByCollection: true, ...(committer ? inWorker : { metrics }) });
}

function withOwner(
  store: Store,
  folder: string,
  locks: readonly FolderLock[],
  onStarted?: () => void,
): OpenStore {
  let listener: CommitListener | undefined;
  const writer: CommitOwner = {
    async commit(changes) {
      const reason = changes.length === 0 ? await store.ready() : undefined;
      if (reason !== undefined) throw new Outage("unavailable", reason);
      return store.commit(changes);
    },
    erase: store.erase,
    scrub: store.scrub,
  };
  return {
    ...store,
    writer,
    async announce(version, address) {
      if (locks.length === 0) return;
      onStarted?.();
      try {
        listener ??= await listenForCommits(folder, version, writer);
      } finally {
        for (const lock of locks) lock.announce(address);
      }
    },
    async close() {
      await listener?.close();
      await store.close();
      release(locks);
    },
  };
}

function release(locks: readonly FolderLock[]): void {
  for (const lock of locks) lock.release();
}
