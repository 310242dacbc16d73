// Opens the place of backups: a folder or a bucket.

import { BackupBucket } from "../backup/bucket.ts";
import { folderPlace } from "../backup/folder.ts";
import type { BackupPlace } from "../backup/objects.ts";
import { S3Client } from "../store/s3/client.ts";
import { parseLocation } from "../store/s3/location.ts";
import { processEnvironment } from "./config.ts";
import { tryLockFolder } from "./open-transfer.ts";

/** Throws when there are no credentials for a bucket. */
export function openBackupPlace(to: string): BackupPlace {
  const location = parseLocation(to);
  if (location === undefined) return folderPlace(to, () => tryLockFolder(to));
  return new BackupBucket(new S3Client(location, processEnvironment()));
}
