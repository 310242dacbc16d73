// The memory of a process, as Linux counts it.

import { readFile } from "node:fs/promises";

/** The most that the process ever had in memory, in bytes. */
export const peakBytes = (pid: number): Promise<number> => statusOf(pid, "VmHWM");

/** What it has in memory now. */
export const residentBytes = (pid: number): Promise<number> => statusOf(pid, "VmRSS");

async function statusOf(pid: number, name: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const kibibytes = new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`there is no ${name} in the status of ${pid}`);
  return Number(kibibytes) * 1024;
}
