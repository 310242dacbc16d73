// Fairness: how long a GET takes while one client asks for something heavy, and the memory it takes.

import { bearer, readIds } from "../data/fill.ts";
import { type Engine, engines } from "../data/stores.ts";
import { type Load, load, noResponse } from "../load/load.ts";
import { get } from "../load/scenarios.ts";
import { bar } from "../progress.ts";
import { bun, type Running, run } from "../servers/processes.ts";
import { type Heavy, heavyAsk, heavyNames, isOnLarge } from "./heavy-work.ts";
import { type BuildFigures, buildIndex, startPosts } from "./index-build.ts";
import { attempt, type Setting } from "./setting.ts";

export interface FairnessFigures {
  /** The share of its peak rate that GET has here. */
  readonly share: number;
  readonly lines: readonly (FairnessLine | FairnessFailure)[];
  /** One for each engine on which an index could be built. */
  readonly builds: readonly BuildFigures[];
}

export interface FairnessLine {
  readonly engine: Engine;
  readonly heavy: Heavy;
  readonly getsPerSecond: number;
  readonly idle: Latencies;
  readonly loaded: Latencies;
  /** How often the heavy work was done meanwhile. */
  readonly done: number;
  readonly peakMb: number;
  readonly faults: readonly string[];
}

export interface FairnessFailure {
  readonly engine: Engine;
  readonly heavy: Heavy;
  readonly error: string;
}

export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const share = 0.2;
const getConnections = 32;
/** An index is built once, and the GETs are measured three times beside it. */
const isOnce = (heavy: Heavy): boolean => heavy === "build";
const measurements = 3;

export async function measureFairness(setting: Setting): Promise<FairnessFigures> {
  const lines: (FairnessLine | FairnessFailure)[] = [];
  const builds: BuildFigures[] = [];
  for (const engine of engines) {
    const show = bar(`fairness, ${engine}`, heavyNames.length);
    const peaks = new Map<string, number>();
    for (const [index, heavy] of heavyNames.entries()) {
      const label = `fairness, ${engine}, ${heavy}`;
      const found = await attempt(label, () =>
        measureBeside(engine, heavy, peaks, builds, setting),
      );
      lines.push("error" in found ? { engine, heavy, ...found } : found);
      show(index + 1);
    }
  }
  return { share, lines, builds };
}

/** On a server that was just started, so that its peak of memory is that of this work. */
export async function measureBeside(
  engine: Engine,
  heavy: Heavy,
  peaks: Map<string, number>,
  builds: BuildFigures[],
  setting: Setting,
): Promise<FairnessLine> {
  const { stores, sizes, secret } = setting;
  const data = await (isOnLarge(heavy)
    ? stores.large(engine, sizes.large)
    : stores.members(engine, sizes.big));
  if (!peaks.has(data.folder)) peaks.set(data.folder, await peakRate(data, setting));
  const getsPerSecond = (peaks.get(data.folder) ?? 0) * share;
  const headers = bearer(secret);
  const server = await stores.start(data);
  try {
    const ask = await getOne(server, secret);
    const gets = (seconds: number) =>
      load(server.origin, ask, seconds, { connections: getConnections, perSecond: getsPerSecond });
    await gets(sizes.pace.warmUpSeconds);
    // The first POST of a server takes longer, and does not count.
    if (heavy === "build") await startPosts(server.origin, headers).stop();
    const found: Round[] = [];
    while (found.length < (isOnce(heavy) ? 1 : measurements))
      found.push(await measureRound(server, heavy, gets, setting));
    for (const { build } of found) if (build) builds.push({ engine, ...build });
    const faults = found
      .flatMap(({ idle, loaded, fault }) => [idle.fault, loaded.fault, fault])
      .filter((one) => one !== undefined);
    const peakMb = server.memory()?.peakMb ?? Number.NaN;
    const done = found.reduce((sum, round) => sum + round.done, 0);
    return { ...{ engine, heavy, getsPerSecond, done, peakMb, faults }, ...medianOf(found) };
  } finally {
    await server.stop();
  }
}

interface Round {
  readonly idle: Load;
  readonly loaded: Load;
  readonly done: number;
  readonly fault: string | undefined;
  readonly build: Omit<BuildFigures, "engine"> | undefined;
}

/** Idle first, then beside the work. Beside a build there are POSTs as well, which may have to wait for it. */
async function measureRound(
  server: Running,
  heavy: Heavy,
  gets: (seconds: number) => Promise<Load>,
  setting: Setting,
): Promise<Round> {
  const seconds = setting.sizes.fairnessSeconds;
  const startBeside = () =>
    heavy === "build" ? startPosts(server.origin, bearer(setting.secret)) : undefined;
  const idlePosts = startBeside();
  const idle = await gets(seconds / 2);
  const idleWaits = await idlePosts?.stop();
  const posts = startBeside();
  const work = workBeside(server, heavy, setting);
  await Bun.sleep(seconds * 50);
  const loaded = isOnce(heavy) ? await medianLoad(() => gets(seconds)) : await gets(seconds);
  const { done, fault, build } = await work;
  const waits = await posts?.stop();
  const built = build &&
    waits &&
    idleWaits && { ...build, ...waits, idleLongestMs: idleWaits.longestMs };
  return { idle, loaded, done, fault, build: built };
}

/** The load with the median p99, with the fault of any, and the longest GET of all. */
async function medianLoad(measure: () => Promise<Load>): Promise<Load> {
  const loads: Load[] = [];
  while (loads.length < measurements) loads.push(await measure());
  const fault = loads.find((one) => one.fault !== undefined)?.fault;
  const maxMs = Math.max(...loads.map((one) => one.maxMs));
  return { ...middleOf(loads, ({ p99Ms }) => p99Ms), fault, maxMs };
}

/** The latencies of the round whose ratio is the median. */
function medianOf(rounds: readonly Round[]): Pick<FairnessLine, "idle" | "loaded"> {
  const ratioOf = ({ idle, loaded }: Round) => loaded.p99Ms / idle.p99Ms;
  const median = middleOf(rounds, ratioOf);
  return { idle: latencies(median.idle), loaded: latencies(median.loaded) };
}

function middleOf<T>(all: readonly T[], figureOf: (one: T) => number): T {
  const sorted = all.toSorted((a, b) => figureOf(a) - figureOf(b));
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error("there must be a measurement");
  return middle;
}

const latencies = ({ p50Ms, p99Ms, maxMs }: Load): Latencies => ({ p50Ms, p99Ms, maxMs });

async function getOne({ origin }: Running, secret: string) {
  const headers = bearer(secret);
  const ids = await readIds(origin, headers, "members", 1_000);
  return get(headers, ...ids.map((id) => `/members/${id}`));
}

/** Of a server of its own, whose memory does not count. */
async function peakRate(
  data: Parameters<Setting["stores"]["start"]>[0],
  { stores, sizes, secret }: Setting,
): Promise<number> {
  const server = await stores.start(data);
  try {
    const ask = await getOne(server, secret);
    await load(server.origin, ask, sizes.pace.warmUpSeconds);
    const { requestsPerSecond, fault } = await load(server.origin, ask, sizes.pace.seconds);
    if (fault !== undefined) throw new Error(fault);
    return requestsPerSecond;
  } finally {
    await server.stop();
  }
}

interface Done {
  readonly done: number;
  readonly fault: string | undefined;
  readonly build?: Pick<BuildFigures, "seconds" | "percent">;
}

/** One client for as long as the GETs run, with the lowest priority, as if it had its own machine. */
async function workBeside(server: Running, heavy: Heavy, setting: Setting): Promise<Done> {
  const { sizes, secret } = setting;
  const seconds = sizes.fairnessSeconds * 1.1;
  if (heavy === "core") {
    await useCore(seconds);
    return { done: 1, fault: undefined };
  }
  const ask = await heavyAsk(heavy, server.origin, secret, sizes);
  if (ask === undefined) {
    const build = await buildIndex(server.origin, bearer(secret), sizes.buildSeconds);
    return { done: build.percent === 100 ? 1 : 0, fault: undefined, build };
  }
  const found = await load(server.origin, ask, seconds, { connections: 1, priority: 19 });
  // An export may take longer than it is watched.
  const fault = found.fault === noResponse ? undefined : found.fault;
  return { done: found.completed, fault };
}

/** As a connection of the database does that computes, with the same priority. */
const useCore = (seconds: number): Promise<string> =>
  run(
    {
      command: bun,
      args: ["-e", `for (const end = Date.now() + ${seconds * 1000}; Date.now() < end; );`],
    },
    seconds + 60,
  );
