// Opens the store that a config names: an embedded one as its folder's owner, or through the owner.

import { join } from "node:path";
import { mapFile } from "#runtime";
import { type CommitListener, listenForCommits } from "../store/commit-socket.ts";
import { withGroupCommit } from "../store/group-commit.ts";
import { openPostgres } from "../store/postgres/postgres.ts";
import type { Committer } from "../store/remote-committer.ts";
import { FolderLock } from "../store/sqlite/lock.ts";
import { openSqlite } from "../store/sqlite/sqlite.ts";
import type { Report } from "../store/sqlite/writer-client.ts";
import { Outage, type Store } from "../store/store.ts";
import type { Config } from "./config.ts";

export { connectToOwner, OtherVersion } from "../store/commit-socket.ts";
export { FolderInUse } from "../store/sqlite/lock.ts";

/** A store whose `close` also gives up the folder. */
export interface OpenStore extends Store {
  /** As `commit`; with no changes it rejects when writing does not work. */
  tryCommit: Committer["commit"];
  /**
   * Says in the folder that its owner is ready and where it listens, and takes the changes of commands
   * from then on. Rejects when those cannot reach it. Does nothing where there is no folder to own.
   */
  announce(version: string, address: string | undefined): Promise<void>;
}

/** Where the uploaded files are. */
export const filesFolder = ({ files, data }: Config): string => files ?? join(data, "files");

/**
 * With a committer, writes go to the process behind it, and this one only reads. Otherwise an embedded
 * store is opened by the owner of its folders alone. Nodes on Postgres own nothing.
 */
export async function openStore(
  config: Config,
  committer?: Committer,
  report?: Report,
): Promise<OpenStore> {
  const { store: url, readStore: readUrl, data: path } = config;
  if (url !== undefined)
    return withOwner(withGroupCommit(await openPostgres({ url, readUrl })), path, []);
  if (committer !== undefined)
    return withOwner(
      withGroupCommit(await openSqlite({ path, mapFile, committer, report })),
      path,
      [],
    );
  const locks: FolderLock[] = [];
  try {
    // Two stores that share a folder of files would remove each other's.
    const folders = config.files === undefined ? [path] : [path, config.files];
    for (const folder of folders) locks.push(await FolderLock.take(folder));
    return withOwner(withGroupCommit(await openSqlite({ path, mapFile, report })), path, locks);
  } catch (error) {
    release(locks);
    throw error;
  }
}

function withOwner(store: Store, folder: string, locks: readonly FolderLock[]): OpenStore {
  let listener: CommitListener | undefined;
  const tryCommit: Committer["commit"] = async (changes) => {
    const reason = changes.length === 0 ? await store.ready() : undefined;
    if (reason !== undefined) throw new Outage("unavailable", reason);
    return store.commit(changes);
  };
  return {
    ...store,
    tryCommit,
    async announce(version, address) {
      if (locks.length === 0) return;
      try {
        listener ??= await listenForCommits(folder, version, tryCommit);
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
