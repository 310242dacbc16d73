// The settings of scheduled backups.

import { readDuration } from "../lib/duration.ts";
import { allowedLocation } from "../store/s3/location.ts";
import { folderOrBucket, type Setting } from "./setting-values.ts";

export interface BackupConfig {
  /** Absolute path of a folder of backups. Undefined means that none are made. */
  readonly backupTo: string | undefined;
  /** Milliseconds between two backups. */
  readonly backupEvery: number;
  /** How many milliseconds backups are kept. Undefined means for ever. */
  readonly backupKeep: number | undefined;
}

const dayMs = 86_400_000;

function durationFrom(text: string, least: number): number | undefined {
  const ms = readDuration(text);
  return ms !== undefined && ms >= least && ms <= 3_650 * dayMs ? ms : undefined;
}

export const backupSettings = {
  backupTo: {
    flag: "--backup-to",
    variable: "RESTANTE_BACKUP_TO",
    type: "string",
    placeholder: "place",
    about:
      "A folder for backups, or a bucket, as s3://bucket/prefix?endpoint=…&region=…. They are made while the server runs. It must not be within the data folder or the place of files. Default: no backups.",
    allowed: `the path of a folder, or ${allowedLocation}`,
    fallback: undefined,
    read: (text, folder) =>
      /\.(?:tar|tgz|gz|zst)$/.test(text) ? undefined : folderOrBucket(text, folder),
  },
  backupEvery: {
    flag: "--backup-every",
    variable: "RESTANTE_BACKUP_EVERY",
    type: "string",
    placeholder: "time",
    about: "The time between two backups.",
    allowed: "a time from 1m to 3650d, such as 6h",
    fallback: "24h",
    read: (text) => durationFrom(text, 60_000),
  },
  backupKeep: {
    flag: "--backup-keep",
    variable: "RESTANTE_BACKUP_KEEP",
    type: "string",
    placeholder: "time",
    about: "How long backups are kept; the newest always stays. Default: for ever.",
    allowed: "a time from 1m to 3650d, such as 7d",
    fallback: undefined,
    read: (text) => durationFrom(text, 60_000),
  },
} satisfies { readonly [Name in keyof BackupConfig]: Setting<BackupConfig[Name]> };
