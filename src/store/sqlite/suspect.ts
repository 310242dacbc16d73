// Writes and reads a file next to the database which records that its disk has failed.

import { readFileSync, writeFileSync } from "node:fs";
import { codeOf } from "../../lib/system-error.ts";
import type { DatabaseFile } from "./file.ts";

/** The failure, and the last batch that was acknowledged. */
export interface SuspectRecord {
  readonly reason: string;
  /** ISO 8601; only for people. */
  readonly since: string;
  /** The last acknowledged batch, or 0 when the process had committed none. */
  readonly batch: number;
}

/**
 * Writes the mark, and returns whether that worked. It need not survive a crash of the machine: after a
 * failed write the page cache differs from the disk, and a crash ends that.
 */
export function markSuspect({ mark }: DatabaseFile, suspectRecord: SuspectRecord): boolean {
  try {
    writeFileSync(mark, `${JSON.stringify(suspectRecord)}\n`, { mode: 0o600, flush: true });
    return true;
  } catch {
    return false;
  }
}

/** Reads the mark, if it exists. An incomplete mark counts too. */
export function readSuspectMark({ mark }: Pick<DatabaseFile, "mark">): SuspectRecord | undefined {
  const text = readIfThere(mark);
  if (text === undefined) return undefined;
  const unread = { reason: "the disk failed", since: "", batch: 0 };
  try {
    return { ...unread, ...(JSON.parse(text) as Partial<SuspectRecord>) };
  } catch {
    return unread;
  }
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    // A mark that cannot be read still exists.
    return "";
  }
}
