// The mark beside the database that says its disk has failed: it outlives the process.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import type { DatabaseFile } from "./file.ts";

/** What was seen, and how far the database had been acknowledged. */
export interface Suspicion {
  readonly reason: string;
  /** When, as ISO 8601; only for people. */
  readonly since: string;
  /** The last batch that was acknowledged, if the process had committed any. */
  readonly batch: number;
}

/**
 * Leaves the mark. It need not survive a crash of the machine: what a failed write leaves behind is
 * a page cache that differs from the disk, and a crash ends that. Says whether it could be left.
 */
export function markSuspect({ mark }: DatabaseFile, suspicion: Suspicion): boolean {
  try {
    writeFileSync(mark, `${JSON.stringify(suspicion)}\n`, { mode: 0o600, flush: true });
    return true;
  } catch {
    return false;
  }
}

/** The mark that was left, if there is one. One that was half written still counts. */
export function readSuspicion({ mark }: DatabaseFile): Suspicion | undefined {
  const text = readIfThere(mark);
  if (text === undefined) return undefined;
  const unread = { reason: "the disk failed", since: "", batch: 0 };
  try {
    return { ...unread, ...(JSON.parse(text) as Partial<Suspicion>) };
  } catch {
    return unread;
  }
}

export const removeMark = ({ mark }: DatabaseFile): void => rmSync(mark, { force: true });

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    // A mark that cannot be read is there all the same.
    return "";
  }
}
