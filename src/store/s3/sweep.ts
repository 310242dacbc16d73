// Removes what a crashed process has left in the bucket: uploads in parts, and files that no resource references.

import { isKey } from "../file-key.ts";
import type { FindReferenced } from "../files.ts";
import type { S3Client } from "./client.ts";
import {
  abortUpload,
  ifNone,
  listObjects,
  listUploads,
  putObject,
  removeObject,
  stateOf,
} from "./objects.ts";

const files = "files/";
/** Holds an object for each file that was set aside. */
const aside = "aside/";
/** Holds an object for each file that a sweep is about to remove. */
const claims = "claims/";

export const nameOf = (key: string): string => `${files}${key}`;
export const claimOf = (key: string): string => `${claims}${key}`;
const asideOf = (key: string): string => `${aside}${key}`;

const minuteMs = 60_000;
/** A file that was touched is younger for long enough to be committed. */
const leastAgeMs = 30 * minuteMs;
/** An upload may take hours. */
const leastUploadAgeMs = 24 * 60 * minuteMs;
/** After this time a sweep has ended, or given up what it claimed. */
const staleClaimMs = 60 * minuteMs;
const claimMs = 10 * minuteMs;

/**
 * Returns how many files were removed. All ages are by the clock of S3. A file is claimed first, and
 * removed only when it is still old and unreferenced after that (see docs/decisions).
 */
export async function sweep(
  client: S3Client,
  findReferenced: FindReferenced,
  olderThanMs: number,
): Promise<number> {
  let count = await abortUploads(client, olderThanMs);
  count += await settle(client, findReferenced, aside, 0);
  count += await settle(client, findReferenced, claims, staleClaimMs);
  for await (const keys of orphansIn(client, findReferenced, olderThanMs))
    for (const key of keys)
      if (await claimAndRemove(client, key, findReferenced, leastOf(olderThanMs))) count++;
  return count;
}

async function abortUploads(client: S3Client, olderThanMs: number): Promise<number> {
  let count = 0;
  for await (const uploads of listUploads(client))
    for (const { name, uploadId, ageMs } of uploads)
      if (ageMs >= Math.max(olderThanMs, leastUploadAgeMs)) {
        await abortUpload(client, name, uploadId);
        count++;
      }
  return count;
}

/** Yields the keys of files that no resource references and that are older than this. */
export async function* orphansIn(
  client: S3Client,
  findReferenced: FindReferenced,
  olderThanMs: number,
): AsyncGenerator<readonly string[]> {
  const least = leastOf(olderThanMs);
  for await (const objects of listObjects(client, files)) {
    const old = objects.filter(({ ageMs }) => ageMs >= least).map(({ name }) => keyIn(name));
    const keys = objects.map(({ name }) => keyIn(name)).filter(isKey);
    if (keys.length === 0) continue;
    const referenced = await findReferenced(keys);
    const orphans = old.filter((key) => isKey(key) && !referenced.has(key));
    if (orphans.length > 0) yield orphans;
  }
}

const leastOf = (olderThanMs: number): number => Math.max(olderThanMs, leastAgeMs);

const keyIn = (name: string): string => name.slice(name.indexOf("/") + 1);

/** A claim of another process is left to it. */
async function claimAndRemove(
  client: S3Client,
  key: string,
  findReferenced: FindReferenced,
  leastMs: number,
): Promise<boolean> {
  const startedAt = performance.now();
  if (!(await putObject(client, claimOf(key), new Uint8Array(), ifNone))) return false;
  const state = await stateOf(client, nameOf(key));
  const isOld = state !== undefined && state.ageMs >= leastMs;
  const isOrphan = isOld && !(await findReferenced([key])).has(key);
  // After a long pause, another process may have removed the claim.
  const isClaimed = performance.now() - startedAt < claimMs;
  if (isOrphan && isClaimed) await removeObject(client, nameOf(key));
  await removeObject(client, claimOf(key));
  return isOrphan && isClaimed;
}

/** Notes the files that are there, before they are unreferenced. */
export async function setAside(client: S3Client, keys: readonly string[]): Promise<void> {
  for (const key of keys)
    if ((await stateOf(client, nameOf(key))) !== undefined)
      await putObject(client, asideOf(key), new Uint8Array());
}

export const settleAside = (client: S3Client, findReferenced: FindReferenced): Promise<number> =>
  settle(client, findReferenced, aside, 0);

/** Removes the noted files that nothing references, and then the notes. Returns how many files. */
async function settle(
  client: S3Client,
  findReferenced: FindReferenced,
  notes: string,
  olderThanMs: number,
): Promise<number> {
  let count = 0;
  for await (const objects of listObjects(client, notes)) {
    const names = objects.filter(({ ageMs }) => ageMs >= olderThanMs).map(({ name }) => name);
    const keys = names.map(keyIn).filter(isKey);
    const referenced = keys.length > 0 ? await findReferenced(keys) : new Set<string>();
    for (const key of keys) {
      if (!referenced.has(key)) await removeObject(client, nameOf(key));
      if (!referenced.has(key)) count++;
      await removeObject(client, `${notes}${key}`);
    }
  }
  return count;
}
