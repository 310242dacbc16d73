// Backs up the store of a config to a folder, a bucket or an archive, and restores it.

import { existsSync, statSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ArchiveWriter, isArchivePath } from "../backup/archive.ts";
import { type MadeBackup, makeBackup } from "../backup/backup.ts";
import { type CheckedBackup, checkBackup, knownFiles } from "../backup/check.ts";
import { openBackupFolder } from "../backup/folder.ts";
import { InvalidBackup } from "../backup/manifest.ts";
import type { ObjectWriter } from "../backup/objects.ts";
import { type Pruned, prune } from "../backup/prune.ts";
import { type Restored, restoreBackup } from "../backup/restore.ts";
import type { Track } from "../backup/track.ts";
import { unpack } from "../backup/unpack.ts";
import { version } from "../lib/program.ts";
import { isS3Url } from "../store/s3/location.ts";
import type { Replaced } from "../store/transfer/transfer.ts";
import type { Config } from "./config.ts";
import { openBackupPlace } from "./open-backups.ts";
import { filesFolder, isWithin } from "./open-files.ts";
import {
  openSource,
  openTarget,
  requireRoom,
  storeIdOf,
  warningAfterSwap,
} from "./open-transfer.ts";

export interface BackupRequest {
  /** The absolute path of a folder or an archive, or the s3:// URL of a bucket. */
  readonly to: string;
  /** How long backups in the folder are kept; undefined for ever. */
  readonly keepMs?: number | undefined;
  /** Whether objects of earlier backups are read before they are used again. */
  readonly isVerifying?: boolean;
  readonly track: Track;
}

export interface BackupResult extends MadeBackup {
  readonly pruned: Pruned;
}

export async function backUp(config: Config, request: BackupRequest): Promise<BackupResult> {
  const { to } = request;
  const opened = openSource(config);
  for (const folder of [config.data, config.files])
    if (folder !== undefined && isWithin(to, folder))
      throw new InvalidBackup(`${to} is within ${folder}: a backup must be somewhere else`);
  const first = await opened.source.snapshot();
  await first.close();
  const input = { ...opened, version, track: request.track };
  if (!isS3Url(to) && isArchivePath(to)) return backUpToArchive(input, to, first.store.id);
  const place = openBackupPlace(to);
  const lock = await place.lock();
  if (lock === undefined) throw new InvalidBackup(busyMessage(to));
  try {
    const writer = await place.create(first.store.id, request.isVerifying);
    const reader = await place.open();
    const known = await knownFiles(reader);
    const number = ((await reader.records()).at(-1)?.number ?? 0) + 1;
    const made = await withWriter(writer, () => makeBackup({ ...input, writer, known, number }));
    const before = request.keepMs === undefined ? 0 : Date.now() - request.keepMs;
    return { ...made, pruned: await prune(place, before) };
  } finally {
    await lock.release();
  }
}

function busyMessage(to: string): string {
  const hint = isS3Url(to) ? ", or was killed there in the last 5 minutes" : "";
  return `another process is writing a backup to ${to}${hint}`;
}

type ArchiveInput = Omit<Parameters<typeof makeBackup>[0], "writer" | "known" | "number">;

async function backUpToArchive(
  input: ArchiveInput,
  to: string,
  store: string,
): Promise<BackupResult> {
  if (existsSync(to)) throw new InvalidBackup(`${to} exists: choose another name`);
  await mkdir(dirname(to), { recursive: true });
  const writer = await ArchiveWriter.create(to, store);
  const first = { ...input, writer, known: new Map(), number: 1 };
  const made = await withWriter(writer, () => makeBackup(first));
  return { ...made, pruned: { backups: 0, bytes: 0 } };
}

async function withWriter<T>(writer: ObjectWriter, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } finally {
    await writer.close();
  }
}

export interface RestoreRequest {
  /** The absolute path of a folder of backups or an archive, or the s3:// URL of a bucket. */
  readonly from: string;
  readonly at?: number | undefined;
  readonly collections?: readonly string[] | undefined;
  readonly isOverwriting: boolean;
  /** Replaces the database also when another program has it open. */
  readonly isForced?: boolean | undefined;
  readonly track: Track;
}

export interface RestoreResult extends Restored {
  readonly backup: CheckedBackup;
  /** What to do now. */
  readonly warning: string | undefined;
}

const temporary = (): string => join(tmpdir(), `restante-check-${process.pid}`);

/** Checks the whole backup, and restores nothing. */
export const checkOnly = (request: RestoreRequest): Promise<CheckedBackup> =>
  withBackup(request, temporary(), async (backup) => backup);

export async function restore(config: Config, request: RestoreRequest): Promise<RestoreResult> {
  const { isOverwriting, isForced, track } = request;
  await requireRoom(config, { isWhole: request.collections === undefined, isOverwriting });
  const beside = (config.store === undefined ? config.data : filesFolder(config)) ?? temporary();
  return withBackup(request, `${beside}.unpacked`, async (backup) => {
    const { isWhole } = backup;
    const findStore = async () => (isWhole ? backup.manifest.store.id : storeIdOf(config));
    const target = await openTarget(config, { isWhole, isOverwriting, isForced, findStore });
    const replaces = replacedIn(isOverwriting, isWhole);
    try {
      await target.files.claim?.();
      const restored = await restoreBackup(backup, { ...target, replaces, track });
      await target.finish();
      const warning = isWhole ? warningAfterSwap(config) : undefined;
      return { ...restored, backup, warning };
    } catch (error) {
      await target.abandon();
      throw error;
    }
  });
}

function replacedIn(isOverwriting: boolean, isWhole: boolean): Replaced {
  if (!isOverwriting) return "nothing";
  return isWhole ? "everything" : "same-names";
}

/** Gives a checked backup to the function. An archive is unpacked first. */
async function withBackup<T>(
  { from, at, collections, track }: RestoreRequest,
  unpacked: string,
  act: (backup: CheckedBackup) => Promise<T>,
): Promise<T> {
  const choice = { at, collections };
  const isBucket = isS3Url(from);
  const stats = isBucket ? undefined : statSync(from, { throwIfNoEntry: false });
  if (isBucket || stats?.isDirectory())
    return act(await checkBackup(await openBackupPlace(from).open(), choice, track));
  if (stats === undefined) throw new InvalidBackup(`there is no backup at ${from}`);
  try {
    await unpack(from, unpacked, track);
    return await act(await checkBackup(await openBackupFolder(unpacked), choice, track));
  } finally {
    await rm(unpacked, { recursive: true, force: true });
  }
}
