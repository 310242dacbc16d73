// Turns file system errors into an Outage with a reason and a message.

import { codeOf } from "../../lib/system-error.ts";
import { FileOutage, type Outage } from "../../model/outage.ts";

const reasons: Readonly<Record<string, readonly [Outage["reason"], string]>> = {
  ENOSPC: ["full", "the disk is full"],
  EDQUOT: ["full", "the disk quota of this user is used up"],
  EFBIG: ["full", "the file is larger than the file system allows"],
  EMFILE: ["busy", "too many files are open"],
  ENFILE: ["busy", "too many files are open"],
  EIO: ["unavailable", "the disk reports an error"],
  EROFS: ["unavailable", "the file system is read-only"],
  EACCES: ["unavailable", "permission denied"],
  EPERM: ["unavailable", "permission denied"],
  ENOENT: ["unavailable", "the folder with the files is missing"],
  ENOTDIR: ["unavailable", "a part of the path is a file, not a folder"],
  EEXIST: ["unavailable", "a file exists where a folder is expected"],
};

/** Returns the result of the operation, or throws an Outage when the disk caused the error. */
export async function mapDiskError<T>(operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    const isKnown = reasons[codeOf(error)] !== undefined;
    throw isKnown ? diskOutage(codeOf(error), String(error), error) : error;
  }
}

/** The outage that an error of the system means. */
export function diskOutage(code: string, what: string, cause?: unknown): Outage {
  const [reason, description] = reasons[code] ?? ["unavailable", `the disk reports ${code}`];
  return new FileOutage(reason, `${description} (${what})`, { cause });
}

/** Returns the result of the operation, or undefined when the file does not exist. */
export async function ignoreMissing<T>(operation: Promise<T>): Promise<T | undefined> {
  try {
    return await operation;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
