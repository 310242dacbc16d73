// What the figures were measured on.

import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { peerNames, titleOf } from "./install.ts";
import { node, root, run } from "./processes.ts";

export interface Machine {
  readonly processor: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly kernel: string;
  readonly fsync: Fsync;
  /** Of the last minute before the run: over 0.5 somebody else was working too. */
  readonly loadAverage: number;
  readonly versions: Readonly<Record<string, string>>;
}

export interface Fsync {
  readonly medianMs: number;
  readonly p99Ms: number;
}

export async function describeMachine(folder: string): Promise<Machine> {
  const loadAverage = loadavg()[0] ?? 0;
  return {
    processor: await processorName(),
    cores: availableParallelism(),
    memoryGb: totalmem() / 1e9,
    kernel: `${type()} ${release()} ${process.arch}`,
    fsync: fsyncLatency(folder),
    loadAverage,
    versions: await versions(),
  };
}

/** Appends a page and waits for the disk, as a commit does. */
export function fsyncLatency(folder: string): Fsync {
  const path = join(folder, "fsync");
  const file = openSync(path, "w");
  const page = Buffer.alloc(4096, 1);
  const timesMs = Array.from({ length: 300 }, () => {
    const startedAt = performance.now();
    writeSync(file, page);
    fdatasyncSync(file);
    return performance.now() - startedAt;
  }).sort((a, b) => a - b);
  closeSync(file);
  rmSync(path);
  return { medianMs: timesMs[150] ?? Number.NaN, p99Ms: timesMs[297] ?? Number.NaN };
}

/** Node knows no name for ARM processors; lscpu does. */
async function processorName(): Promise<string> {
  const known = cpus()[0]?.model.trim();
  if (known && known !== "unknown") return known;
  const said = await run({ command: "lscpu", args: [] }, 5).catch(() => "");
  return said.match(/Model name:\s*(.+)/)?.[1] ?? "unknown";
}

async function versions(): Promise<Record<string, string>> {
  return {
    Bun: Bun.version,
    "Node (for the peers)": (await run({ command: node, args: ["--version"] }, 5)).trim().slice(1),
    SQLite: sqliteVersion(),
    peers: peerNames.map(titleOf).join(", "),
  };
}

/** What is measured, as in `0.1.0 1a2b3c4`; a star stands for changes that are not committed. */
export async function restanteVersion(): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    version: string;
  };
  const git = (...args: readonly string[]) => run({ command: "git", args }, 10).catch(() => "");
  const commit = (await git("rev-parse", "--short", "HEAD")).trim();
  const changes = await git("status", "--porcelain", "--", "src", "bench/*.ts", "package.json");
  return `${version} ${commit}${changes.trim() === "" ? "" : "*"}`.trim();
}

function sqliteVersion(): string {
  const database = new DatabaseSync(":memory:");
  const row = database.prepare("SELECT sqlite_version() AS version").get();
  database.close();
  return String(row?.version);
}
