// Copies a store to another one, while others write to it, and publishes the copy when it is verified.

import type { Track } from "../backup/track.ts";
import { Outage } from "../model/outage.ts";
import { isSystemName } from "../model/system-collections.ts";
import type { Replica, Snapshot, TransferSource } from "../store/transfer/transfer.ts";
import { type Checked, checkReplica } from "./check.ts";
import { type BothFiles, FileCopier } from "./files.ts";
import { RowCopier } from "./rows.ts";

export interface CopyInput {
  readonly source: TransferSource;
  readonly replica: Replica;
  /** Throws when it is not known where the files are. */
  readonly files: () => BothFiles;
  readonly track: Track;
  /** Copies what changes, again and again, until the source has stopped. */
  readonly follow?: FollowOptions | undefined;
  /** Called before writes wait, and when they go on. */
  readonly onHold: (state: "begins" | "ends") => void;
}

export interface FollowOptions {
  /** Called after each round, with the number of rows that it has changed. */
  hasStopped(changes: number): Promise<boolean>;
}

export interface Copied extends Checked {
  readonly collections: number;
  readonly resources: number;
  readonly tokens: number;
  /** When the last snapshot was taken: what is written later is not in the copy. */
  readonly at: number;
  /** How long writes had to wait. */
  readonly heldMs: number;
}

/** Without all of its files, the copy is not published. */
export async function copyStore(input: CopyInput): Promise<Copied> {
  const { source, replica, track } = input;
  const files = new FileCopier(input.files);
  const rows = new RowCopier(replica, track, (keys) => input.files().to.remove(keys));
  await within(source, (snapshot) => copyFiles(files, snapshot, track));
  await within(source, (snapshot) => rows.copy(snapshot, "rows"));
  if (input.follow) await followSource(input, input.follow, files, rows);
  await within(source, (snapshot) => files.copy(snapshot, () => undefined));
  const { snapshot, at, heldMs } = await lastSnapshot(input, files);
  try {
    await rows.copy(snapshot, "changes");
    const checked = await checkReplica(snapshot, replica, { rows, files, track });
    if (checked.lost.length === 0) await replica.publish();
    const { collections, tokens } = snapshot;
    const resources = collections.reduce((sum, { head }) => sum + head.total, 0);
    const { lost, fileBytes } = checked;
    const counts = { rows: checked.rows, files: checked.files, fileBytes };
    return {
      collections: countedIn(collections),
      resources,
      tokens: tokens.length,
      ...counts,
      lost,
      at,
      heldMs,
    };
  } finally {
    await snapshot.close();
  }
}

/** Those of the server itself are none for people. */
const countedIn = (collections: Snapshot["collections"]): number =>
  collections.filter(({ name }) => !isSystemName(name)).length;

async function copyFiles(files: FileCopier, snapshot: Snapshot, track: Track): Promise<void> {
  const step = track("files", { unit: "files" });
  await files.copy(snapshot, step.add);
  step.done();
}

async function followSource(
  { source }: CopyInput,
  follow: FollowOptions,
  files: FileCopier,
  rows: RowCopier,
): Promise<void> {
  for (let isStopped = false; !isStopped; ) {
    const changes = await within(source, async (snapshot) => {
      await files.copy(snapshot, () => undefined);
      return rows.follow(snapshot);
    });
    isStopped = await follow.hasStopped(changes);
  }
}

/** Writers fail when they wait some seconds longer. */
const maxHoldMs = 1_000;
const maxHolds = 20;

interface LastSnapshot {
  readonly snapshot: Snapshot;
  readonly at: number;
  readonly heldMs: number;
}

/** Returns a snapshot whose files are copied. Few are new since the time before, so that writes wait shortly. */
async function lastSnapshot(
  { source, onHold }: CopyInput,
  files: FileCopier,
): Promise<LastSnapshot> {
  let heldMs = 0;
  for (let attempt = 0; attempt < maxHolds; attempt++) {
    onHold("begins");
    const since = performance.now();
    const hold = await source.holdWrites();
    const at = Date.now();
    let snapshot: Snapshot | undefined;
    let isComplete = false;
    try {
      snapshot = await source.snapshot();
      isComplete = await files.copy(snapshot, () => undefined, since + maxHoldMs);
    } finally {
      await hold.release();
      heldMs = Math.max(heldMs, performance.now() - since);
      onHold("ends");
      if (!isComplete) await snapshot?.close();
    }
    if (isComplete && snapshot !== undefined) return { snapshot, at, heldMs };
  }
  throw new Outage("busy", "files are uploaded faster than they can be copied");
}

async function within<T>(
  source: TransferSource,
  act: (snapshot: Snapshot) => Promise<T>,
): Promise<T> {
  const snapshot = await source.snapshot();
  try {
    return await act(snapshot);
  } finally {
    await snapshot.close();
  }
}
