// Loads one server with one kind of request, keep-alive, and says what came of it.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { install, titleOf } from "./install.ts";
import { node, root, run } from "./processes.ts";

export const connections = 64;
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
}

export interface Loader {
  readonly name: string;
  load(origin: string, ask: Ask, seconds: number): Promise<Load>;
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
async function loadWithWrk(wrk: string, origin: string, ask: Ask, seconds: number): Promise<Load> {
  const folder = await mkdtemp(join(tmpdir(), "restante-bench-"));
  const paths = join(folder, "paths");
  await writeFile(paths, `${ask.paths.join("\n")}\n`);
  const args = ["-t1", `-c${connections}`, `-d${seconds}s`, "--timeout", `${timeoutSeconds}s`];
  for (const [name, value] of Object.entries(ask.headers)) args.push("-H", `${name}: ${value}`);
  args.push("-s", join(root, "bench", "wrk.lua"), origin, "--", ask.method, ask.body, paths);
  try {
    return readTally(await run({ command: wrk, args }, seconds + timeoutSeconds + 10));
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function loadWithAutocannon(
  home: string,
  origin: string,
  ask: Ask,
  seconds: number,
): Promise<Load> {
  const job = JSON.stringify({ origin, connections, seconds, timeoutSeconds, ...ask });
  const args = [join(root, "bench", "autocannon.js"), home, job];
  return readTally(await run({ command: node, args }, seconds + timeoutSeconds + 10));
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
function readTally(output: string): Load {
  const tally = JSON.parse(output.trim().split("\n").at(-1) ?? "") as Tally;
  const { completed, seconds, p50Ms, p99Ms } = tally;
  return { completed, requestsPerSecond: completed / seconds, p50Ms, p99Ms, fault: faultOf(tally) };
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
