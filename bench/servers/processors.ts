// How much processor time processes have used, as Linux tells it in /proc.

import { readdirSync, readFileSync } from "node:fs";

/** Processor time in seconds; `elapsed` is the time on the wall. */
export interface Usage {
  readonly server: number;
  readonly database: number;
  readonly loader: number;
  readonly elapsed: number;
}

/** Linux counts in hundredths, whatever the kernel's own clock does. */
const ticksPerSecond = 100;

interface Process {
  readonly id: number;
  readonly parent: number;
  readonly seconds: number;
  /** Of its children that have ended. */
  readonly endedSeconds: number;
}

/** Of our children that have ended: a loader is one, and ends with each load. */
export const endedSeconds = (): number => readProcess(process.pid)?.endedSeconds ?? Number.NaN;

/** Of a process and all that descend from it. Not a number where there is no /proc. */
export function treeSeconds(root: number | undefined): number {
  const all = readProcesses();
  const sum = (one: Process): number =>
    one.seconds +
    one.endedSeconds +
    all.filter(({ parent }) => parent === one.id).reduce((total, child) => total + sum(child), 0);
  const top = all.find(({ id }) => id === root);
  return top === undefined ? Number.NaN : sum(top);
}

/** The time that the host of a virtual machine gave to others while this one had work (`steal`). */
export function stolenSeconds(): number {
  try {
    const [, ...ticks] = readFileSync("/proc/stat", "utf8").split("\n", 1)[0]?.split(/ +/) ?? [];
    return Number(ticks[7]) / ticksPerSecond;
  } catch {
    return Number.NaN;
  }
}

function readProcesses(): readonly Process[] {
  try {
    const ids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    return ids.map((id) => readProcess(Number(id))).filter((one) => one !== undefined);
  } catch {
    return [];
  }
}

/** See proc_pid_stat(5). The name is in brackets and may itself hold brackets and blanks. */
function readProcess(id: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${id}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const seconds = (first: number) =>
      (Number(fields[first]) + Number(fields[first + 1])) / ticksPerSecond;
    return { id, parent: Number(fields[1]), seconds: seconds(11), endedSeconds: seconds(13) };
  } catch {
    return undefined;
  }
}
