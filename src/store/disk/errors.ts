// Names what goes wrong with the files on disk.

import { Outage } from "../store.ts";

const reasons: Readonly<Record<string, readonly [Outage["reason"], string]>> = {
  ENOSPC: ["full", "no room is left on the disk"],
  EDQUOT: ["full", "no room is left for this user on the disk"],
  EFBIG: ["full", "the file is larger than the file system takes"],
  EMFILE: ["busy", "too many files are open"],
  ENFILE: ["busy", "too many files are open"],
  EIO: ["unavailable", "the disk reports an error"],
  EROFS: ["unavailable", "the file system is read-only"],
  EACCES: ["unavailable", "permission denied"],
  EPERM: ["unavailable", "permission denied"],
  ENOENT: ["unavailable", "the folder of the files was moved away"],
  ENOTDIR: ["unavailable", "a part of the path is a file, not a folder"],
  EEXIST: ["unavailable", "a file stands where a folder should be"],
};

/** What the disk does, with an Outage for what goes wrong with it. */
export async function orOutage<T>(deed: Promise<T>): Promise<T> {
  try {
    return await deed;
  } catch (error) {
    const [reason, words] = reasons[codeOf(error)] ?? [];
    if (reason === undefined) throw error;
    throw new Outage(reason, `${words} (${String(error)})`, { cause: error });
  }
}

/** What the disk does; nothing when what it is done to is not there. */
export async function ifThere<T>(deed: Promise<T>): Promise<T | undefined> {
  try {
    return await deed;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";
