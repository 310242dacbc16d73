// The commands `backup` and `restore`.

import type { LostFile } from "../backup/manifest.ts";
import { CliError, usageError } from "../lib/cli-error.ts";
import { readDuration, readTime } from "../lib/duration.ts";
import { describeStore } from "../server/app.ts";
import { backUp, checkOnly, type RestoreRequest, restore } from "../server/backups.ts";
import type { Config } from "../server/config.ts";
import { readPlace } from "./place.ts";
import { countOf, formatBytes } from "./progress.ts";
import { print, withProgress } from "./with-progress.ts";

export interface BackupOptions {
  readonly to: string;
  readonly keep?: string;
  readonly verify?: boolean;
  readonly json?: boolean;
}

export async function runBackup(config: Config, options: BackupOptions): Promise<void> {
  const to = readPlace("--to", options.to);
  const keepMs = options.keep === undefined ? undefined : readDuration(options.keep);
  if (options.keep !== undefined && keepMs === undefined)
    throw usageError([
      {
        where: `--keep ${JSON.stringify(options.keep)}`,
        detail: "must be a time such as 7d or 12h",
      },
    ]);
  const made = await withProgress(options, "The backup failed", (track) =>
    backUp(config, { to, keepMs, isVerifying: options.verify === true, track }),
  );
  const { record, lost, heldMs, pruned } = made;
  const { createdAt, resources, files, bytes, writtenBytes, seconds } = record;
  const report = { ...record, to, heldMs, pruned, lost };
  const amount = `${countOf(resources, "resources")} and ${countOf(files, "files")}`;
  print(options, report, [
    `The backup of ${createdAt} in ${to} has ${amount}, ${formatBytes(bytes)}; ${formatBytes(writtenBytes)} are new. It took ${seconds.toFixed(1)} s.`,
    ...(heldMs === undefined ? [] : [`Writes waited ${Math.ceil(heldMs)} ms for it.`]),
    ...(pruned.backups === 0
      ? []
      : [`Deleted ${countOf(pruned.backups, "old backups")}, ${formatBytes(pruned.bytes)}.`]),
  ]);
  if (lost.length > 0) throw new CliError(1, lostMessage(lost));
}

function lostMessage(lost: readonly LostFile[]): string {
  return `The backup is complete except for files that are missing or damaged in the store: ${namesOf(lost)}. Take them from an older backup, or upload them again.`;
}

/** How many are named in a message. */
const maxNamed = 10;

export function namesOf(lost: readonly LostFile[]): string {
  const names = lost
    .slice(0, maxNamed)
    .map(({ collection, id, name }) => `/${collection}/${id}/${name}`);
  const more = lost.length > maxNamed ? ` and ${lost.length - maxNamed} more` : "";
  return `${names.join(", ")}${more}`;
}

export interface RestoreOptions {
  readonly from: string;
  readonly at?: string;
  readonly collection?: readonly string[];
  readonly overwrite?: boolean;
  readonly force?: boolean;
  readonly check?: boolean;
  readonly json?: boolean;
}

export async function runRestore(config: Config, options: RestoreOptions): Promise<void> {
  const at = options.at === undefined ? undefined : readTime(options.at);
  if (options.at !== undefined && at === undefined)
    throw usageError([
      {
        where: `--at ${JSON.stringify(options.at)}`,
        detail: "must be a time such as 2030-01-31T12:00:00Z",
      },
    ]);
  const from = readPlace("--from", options.from);
  const request = (track: RestoreRequest["track"]): RestoreRequest => ({
    from,
    at,
    collections: options.collection,
    isOverwriting: options.overwrite === true,
    isForced: options.force,
    track,
  });
  if (options.check) {
    const { record } = await withProgress(options, "The backup cannot be used", (track) =>
      checkOnly(request(track)),
    );
    const { createdAt, resources, files } = record;
    print(options, { ...record }, [
      `The backup of ${createdAt} is complete: ${countOf(resources, "resources")} and ${countOf(files, "files")}.`,
    ]);
    return;
  }
  const target = describeStore(config);
  const { backup, warning, ...counts } = await withProgress(
    options,
    "Nothing was restored",
    (track) => restore(config, request(track)),
  );
  if (warning !== undefined) process.stderr.write(`Warning: ${warning}.\n`);
  const { createdAt } = backup.record;
  const lost = backup.manifest.lost.length;
  print(options, { ...counts, createdAt, to: target, lost }, [
    `Restored ${countOf(counts.resources, "resources")} and ${countOf(counts.files, "files")} of ${createdAt} to ${target}.`,
    ...(lost === 0 ? [] : [`The backup does not have ${countOf(lost, "files")}, see its output.`]),
  ]);
}
