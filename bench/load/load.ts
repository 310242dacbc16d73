// Loads one server with one kind of request, and says what came of it.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bun, type Command, onCore, root, run } from "../servers/processes.ts";
import type { Usage } from "../servers/processors.ts";

export const defaultConnections = 64;

/** A request, or many of which each is taken at random. */
export interface Ask {
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly paths: readonly string[];
  /** Each request carries one of these tokens, taken at random. */
  readonly secrets?: readonly string[];
  /** What a right response has; any other makes the figure invalid. */
  readonly status: number;
}

export interface LoadOptions {
  readonly connections?: number;
  /** Requests per second; without it each connection sends its next request after each response. */
  readonly perSecond?: number;
  /** The core that the loader runs on. */
  readonly core?: number;
  /** As of `nice`; the loader asks for more than the server has, so that it does not wait for it. */
  readonly priority?: number;
}

/** What the loader reads. */
export interface Job extends Ask {
  readonly origin: string;
  readonly seconds: number;
  readonly connections: number;
  readonly perSecond?: number;
  readonly priority: number;
}

/** What the loader prints. */
export interface Tally {
  readonly completed: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly wrongStatus: number;
  readonly firstWrong: string;
  readonly brokenConnections: number;
}

export interface Load {
  readonly completed: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Why the figure does not count. */
  readonly fault: string | undefined;
  /** Only where it was asked for. */
  readonly usage?: Usage;
}

export type Loader = (
  origin: string,
  ask: Ask,
  seconds: number,
  options?: LoadOptions,
) => Promise<Load>;

/** One process with one thread, so that a server on two cores has one to itself. */
export const load: Loader = (origin, ask, seconds, options = {}) => {
  const { core, connections = defaultConnections, perSecond, priority = -10 } = options;
  const job: Job = {
    ...ask,
    ...{ origin, seconds, connections, priority },
    ...(perSecond === undefined ? {} : { perSecond }),
  };
  return withFile(JSON.stringify(job), async (file) => {
    const command = { command: bun, args: [join(root, "bench", "load", "loader.ts"), file] };
    return tallied(core === undefined ? command : onCore(command, core), seconds);
  });
};

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

async function tallied(command: Command, seconds: number): Promise<Load> {
  const output = await run(command, seconds + 60);
  const tally = JSON.parse(output.trim().split("\n").at(-1) ?? "") as Tally;
  const { completed, p50Ms, p99Ms, maxMs } = tally;
  const requestsPerSecond = completed / tally.seconds;
  return { completed, requestsPerSecond, p50Ms, p99Ms, maxMs, fault: faultOf(tally) };
}

/** The fault of a load that ended before the first response. */
export const noResponse = "no response at all";

function faultOf(tally: Tally): string | undefined {
  const faults = [
    tally.completed === 0 ? noResponse : "",
    tally.wrongStatus > 0
      ? `${tally.wrongStatus} responses with the wrong status, such as ${tally.firstWrong}`
      : "",
    tally.brokenConnections > 0 ? `${tally.brokenConnections} broken connections` : "",
  ].filter((fault) => fault !== "");
  return faults.length > 0 ? faults.join(", ") : undefined;
}
