// Loads one server with one kind of request, keep-alive, and says what came of it.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { install, titleOf } from "./install.ts";
import { type Command, node, root, run } from "./processes.ts";
import type { Usage } from "./processors.ts";

export const defaultConnections = 64;
/** Slow peers must be able to finish: a cut request would be a fault, not a figure. */
const timeoutSeconds = 30;

/** A request, or many of which each is taken at random. */
export interface Ask {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly paths: readonly string[];
  /** What a right answer has; any other makes the figure invalid. */
  readonly status: number;
}

export interface Load {
  readonly completed: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Why the figure does not count. */
  readonly fault: string | undefined;
  /** Only where it was asked for. */
  readonly usage?: Usage;
}

export interface Loader {
  /** With its version. */
  readonly name: string;
  load(origin: string, ask: Ask, seconds: number, connections?: number): Promise<Load>;
}

export async function chooseLoader(wished: string | undefined): Promise<Loader> {
  const wrk = Bun.which("wrk");
  if (wrk !== null && wished !== "autocannon") {
    return { name: wrkVersion(wrk), load: (...job) => loadWithWrk(wrk, ...job) };
  }
  const home = await install("autocannon");
  return { name: titleOf("autocannon"), load: (...job) => loadWithAutocannon(home, ...job) };
}

/** One thread for the loader, so that a server on two cores has one to itself. */
function loadWithWrk(
  wrk: string,
  origin: string,
  ask: Ask,
  seconds: number,
  connections = defaultConnections,
): Promise<Load> {
  return withFile(`${ask.paths.join("\n")}\n`, (paths) => {
    const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", `${timeoutSeconds}s`];
    for (const [name, value] of Object.entries(ask.headers)) args.push("-H", `${name}: ${value}`);
    args.push("-s", join(root, "bench", "wrk.lua"), origin, "--", ask.method, ask.body, paths);
    return tallied({ command: wrk, args }, seconds);
  });
}

function loadWithAutocannon(
  home: string,
  origin: string,
  ask: Ask,
  seconds: number,
  connections = defaultConnections,
): Promise<Load> {
  const job = { origin, connections, seconds, timeoutSeconds, ...ask };
  return withFile(JSON.stringify(job), (file) => {
    const args = [join(root, "bench", "autocannon.js"), home, file];
    return tallied({ command: node, args }, seconds);
  });
}

/** Ten thousand paths are too long for a command line. */
async function withFile<T>(content: string, work: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "restante-bench-"));
  try {
    const path = join(folder, "job");
    await writeFile(path, content);
    return await work(path);
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Tally {
  readonly completed: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly wrongStatus: number;
  readonly brokenConnections: number;
  readonly timeouts: number;
}

/** Both loaders end with one line of JSON. */
async function tallied(command: Command, seconds: number): Promise<Load> {
  const output = await run(command, seconds + timeoutSeconds + 10);
  const tally = JSON.parse(output.trim().split("\n").at(-1) ?? "") as Tally;
  const { completed, p50Ms, p99Ms } = tally;
  const requestsPerSecond = completed / tally.seconds;
  return { completed, requestsPerSecond, p50Ms, p99Ms, fault: faultOf(tally) };
}

function faultOf(tally: Tally): string | undefined {
  const faults = [
    tally.completed === 0 ? "no answer at all" : "",
    tally.wrongStatus > 0 ? `${tally.wrongStatus} answers with the wrong status` : "",
    tally.brokenConnections > 0 ? `${tally.brokenConnections} broken connections` : "",
    tally.timeouts > 0 ? `${tally.timeouts} requests timed out` : "",
  ].filter((fault) => fault !== "");
  return faults.length > 0 ? faults.join(", ") : undefined;
}

function wrkVersion(wrk: string): string {
  const said = Bun.spawnSync([wrk, "-v"]).stdout.toString();
  return `wrk ${said.match(/wrk (?:debian\/)?([\d.]+\S*)/)?.[1] ?? "of unknown version"}`;
}
