// The command `bench`: measures this machine and says what to expect of a server on it.

import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { type BenchReport, type Measured, manyClients, runBench } from "../bench/bench.ts";
import { CliError } from "../lib/cli-error.ts";
import type { Config } from "../server/config.ts";
import { formatBytes, formatCount } from "./progress.ts";
import { print, withProgress } from "./with-progress.ts";

export interface BenchFlags {
  readonly seconds: string;
  readonly json?: boolean;
}

/** Measures on the disk of the data folder, whether it exists already or not. */
export async function benchCommand({ data }: Config, flags: BenchFlags): Promise<void> {
  const seconds = Number(flags.seconds);
  if (!(seconds >= 1 && seconds <= 3_600))
    throw new CliError(2, "--seconds must be a number from 1 to 3600");
  const parent = existsSync(data) ? data : dirname(data);
  await mkdir(parent, { recursive: true });
  const signal = interrupted();
  const report = await withProgress(flags, "The measurement failed", (track, note) => {
    if (!flags.json) note(`Measuring for ${seconds} seconds in ${parent}.`);
    return runBench({ parent, seconds, track, signal });
  });
  print(flags, report, linesOf(report));
}

/** Aborted by Ctrl-C, or by the end of the terminal or the service; then the process ends. */
function interrupted(): AbortSignal {
  const controller = new AbortController();
  for (const [name, number] of Object.entries({ SIGINT: 2, SIGTERM: 15, SIGHUP: 1 }))
    process.once(name, () => {
      controller.abort();
      process.exit(128 + number);
    });
  return controller.signal;
}

function linesOf(report: BenchReport): readonly string[] {
  const { version, runtime, cores, sync, memoryBytes } = report;
  return [
    "",
    `Restante ${version} on ${runtime}, ${cores} ${cores === 1 ? "core" : "cores"}`,
    "",
    row("", "a second", "p50", "p99", "processor"),
    rowOf("sync of 4 KiB", sync),
    rowOf("POST, 1 client", report.postAlone),
    rowOf(`POST, ${manyClients} clients`, report.post),
    rowOf("GET one", report.get),
    rowOf("list of 20", report.list),
    "",
    `The server uses ${formatBytes(memoryBytes)} of memory.`,
    "",
    "What to expect:",
    ...expectations(report).map((line) => `- ${line}`),
  ];
}

const row = (name: string, ...cells: readonly string[]): string =>
  name.padEnd(18) + cells.map((cell) => cell.padStart(12)).join("");

function rowOf(name: string, measured: BenchReport["sync"] | Measured): string {
  const { perSecond, p50Ms, p99Ms } = measured;
  const cpu = "cpuMicroseconds" in measured ? `${Math.round(measured.cpuMicroseconds)} µs` : "";
  return row(name, formatCount(perSecond), ms(p50Ms), ms(p99Ms), cpu).trimEnd();
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 0)} ms`;

/** Below this, a sync cannot have reached a disk. */
const unlikelySyncMs = 0.03;
const slowSyncMs = 5;

function expectations(report: BenchReport): readonly string[] {
  const { sync, get, list, post, postAlone, bytesPerResource, bodyBytes } = report;
  const perCore = ({ cpuMicroseconds }: Measured) => formatCount(1_000_000 / cpuMicroseconds);
  const disk =
    sync.p50Ms < unlikelySyncMs
      ? [
          "A sync takes too little time for a disk. Check that this folder survives a power failure.",
        ]
      : sync.p50Ms > slowSyncMs
        ? [
            "This disk is slow to sync. Many clients share a sync; a batch or an import shares one, too.",
          ]
        : [];
  return [
    ...disk,
    `One core answers about ${perCore(get)} GETs or ${perCore(list)} lists of 20 a second. More cores help with --workers.`,
    `Many clients together store about ${formatCount(post.perSecond)} resources a second. One client that waits for each response stores ${formatCount(postAlone.perSecond)}.`,
    `A resource of ${bodyBytes} bytes takes ${formatCount(bytesPerResource)} bytes on disk: ${formatBytes(bytesPerResource * 1_000_000)} for a million.`,
    "The load came from this machine and used its processor too. docs/sizing.md says when to move to Postgres.",
  ];
}
