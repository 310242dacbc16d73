// Copies one store to another: opens both, and gives the copy its name when it is complete.

import { setTimeout as sleep } from "node:timers/promises";
import type { Track } from "../backup/track.ts";
import { type Copied, copyStore, type FollowOptions } from "../copy/copy.ts";
import { Outage } from "../model/outage.ts";
import { CannotLoad, type Snapshot } from "../store/transfer/transfer.ts";
import { isWithin } from "./open-files.ts";
import { openBothFiles, openReplica, outageIn, requireFolders } from "./open-replica.ts";
import { openSource, type StorePlace, tryLockFolder } from "./open-transfer.ts";

export interface CopyRequest {
  readonly from: StorePlace;
  readonly to: StorePlace;
  readonly track: Track;
  readonly onHold: (state: "begins" | "ends") => void;
  /** Copies what changes until the source has stopped. */
  readonly follow?: FollowRequest | undefined;
}

export interface FollowRequest {
  /** Called after each round, with the number of rows that it has changed. */
  onRound(changes: number): void;
  /** For a source on Postgres: whether it has stopped. Of a folder, the owner has. */
  hasStopped(): boolean;
}

export async function copy(request: CopyRequest): Promise<Copied> {
  const { from, to, track, onHold } = request;
  requireApart(from, to);
  const follow = request.follow && new SourceFollower(from, request.follow);
  try {
    const { source } = openSource(from);
    const first = await source.snapshot();
    const needsFiles = await hasFiles(first).finally(() => first.close());
    if (needsFiles) requireFolders(from, to);
    const target = await openReplica(to, first.store.id);
    try {
      const files = () => openBothFiles(from, to, target.folder, first.store.id);
      const copied = await copyStore({
        source,
        replica: target.replica,
        files,
        track,
        onHold,
        follow,
      });
      if (copied.lost.length === 0) await target.finish();
      return copied;
    } catch (error) {
      throw withHint(outageIn(error));
    } finally {
      await target.close().catch(() => undefined);
      follow?.release();
    }
  } catch (error) {
    throw outageIn(error);
  }
}

const pauseMs = 100;
const roundMs = 2_000;

/** Waits until the source has stopped. Then no process can open its folder before the copy is complete. */
class SourceFollower implements FollowOptions {
  readonly #from: StorePlace;
  readonly #request: FollowRequest;
  #lock: { release(): void } | undefined;

  constructor(from: StorePlace, request: FollowRequest) {
    this.#from = from;
    this.#request = request;
  }

  async hasStopped(changes: number): Promise<boolean> {
    this.#request.onRound(changes);
    const until = performance.now() + roundMs;
    do {
      if (await this.#isStopped()) return true;
      await sleep(pauseMs);
    } while (performance.now() < until);
    return false;
  }

  release(): void {
    this.#lock?.release();
  }

  async #isStopped(): Promise<boolean> {
    if (this.#from.store !== undefined) return this.#request.hasStopped();
    this.#lock = await tryLockFolder(this.#from.data);
    return this.#lock !== undefined;
  }
}

const withHint = (error: unknown): unknown =>
  error instanceof Outage
    ? new Outage(error.reason, `${error.message}: run the same command again to continue`, {
        cause: error,
      })
    : error;

async function hasFiles(snapshot: Snapshot): Promise<boolean> {
  for await (const keys of snapshot.fileKeys()) if (keys.length > 0) return true;
  return false;
}

/** Stores that share a folder of files remove each other's files. */
function requireApart(from: StorePlace, to: StorePlace): void {
  if (from.store !== undefined && from.store === to.store)
    throw new CannotLoad("--from and --to are the same database");
  for (const folder of foldersOf(to))
    for (const other of foldersOf(from))
      if (isWithin(folder, other) || isWithin(other, folder))
        throw new CannotLoad(`${folder} and ${other} overlap: choose another folder`);
}

const foldersOf = ({ store, data, files }: StorePlace): readonly string[] => [
  ...(store === undefined ? [data] : []),
  ...(files === undefined ? [] : [files]),
];
