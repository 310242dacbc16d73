// Fairness: how long a GET takes while one client asks for something heavy, and the memory it takes.

import { bearer, readIds } from "../data/fill.ts";
import { type Engine, engines } from "../data/stores.ts";
import { type Load, load, noResponse } from "../load/load.ts";
import { get } from "../load/scenarios.ts";
import { bar } from "../progress.ts";
import type { Running } from "../servers/processes.ts";
import { type Heavy, heavyAsk, heavyNames, isOnLarge } from "./heavy-work.ts";
import { buildFields, finishBuild, startBuild } from "./index-build.ts";
import { attempt, type Setting } from "./setting.ts";

export interface FairnessFigures {
  /** The share of its peak rate that GET has here. */
  readonly share: number;
  readonly lines: readonly (FairnessLine | FairnessFailure)[];
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

export async function measureFairness(setting: Setting): Promise<FairnessFigures> {
  const lines: (FairnessLine | FairnessFailure)[] = [];
  for (const engine of engines) {
    const show = bar(`fairness, ${engine}`, heavyNames.length);
    const peaks = new Map<string, number>();
    for (const [index, heavy] of heavyNames.entries()) {
      const label = `fairness, ${engine}, ${heavy}`;
      const found = await attempt(label, () => measureOne(engine, heavy, peaks, setting));
      lines.push("error" in found ? { engine, heavy, ...found } : found);
      show(index + 1);
    }
  }
  return { share, lines };
}

/** On a server that was just started, so that its peak of memory is that of this work. */
async function measureOne(
  engine: Engine,
  heavy: Heavy,
  peaks: Map<string, number>,
  setting: Setting,
): Promise<FairnessLine> {
  const { stores, sizes, secret } = setting;
  const data = await (isOnLarge(heavy)
    ? stores.large(engine, sizes.large)
    : stores.members(engine, sizes.big));
  if (!peaks.has(data.folder)) peaks.set(data.folder, await peakRate(data, setting));
  const getsPerSecond = (peaks.get(data.folder) ?? 0) * share;
  const server = await stores.start(data);
  try {
    const ask = await getOne(server, secret);
    const gets = (seconds: number) =>
      load(server.origin, ask, seconds, { connections: getConnections, perSecond: getsPerSecond });
    await gets(sizes.pace.warmUpSeconds);
    const idle = await gets(sizes.fairnessSeconds / 2);
    const work = workBeside(server, heavy, setting);
    await Bun.sleep(sizes.fairnessSeconds * 50);
    const loaded = await gets(sizes.fairnessSeconds);
    const { done, fault } = await work;
    if (heavy === "build") await finishBuild(server.origin, bearer(secret));
    const faults = [idle.fault, loaded.fault, fault].filter((one) => one !== undefined);
    const peakMb = server.memory()?.peakMb ?? Number.NaN;
    return { ...{ engine, heavy, getsPerSecond, done, peakMb, faults }, ...both(idle, loaded) };
  } finally {
    await server.stop();
  }
}

const both = (idle: Load, loaded: Load) => ({ idle: latencies(idle), loaded: latencies(loaded) });
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
}

/** One client for as long as the GETs run, with the lowest priority, as if it had its own machine. */
async function workBeside(server: Running, heavy: Heavy, setting: Setting): Promise<Done> {
  const { sizes, secret } = setting;
  const seconds = sizes.fairnessSeconds * 1.1;
  const ask = await heavyAsk(heavy, server.origin, secret, sizes);
  if (ask === undefined) return buildIndexes(server, secret, seconds);
  const found = await load(server.origin, ask, seconds, { connections: 1, priority: 19 });
  // An export may take longer than it is watched.
  const fault = found.fault === noResponse ? undefined : found.fault;
  return { done: found.completed, fault };
}

async function buildIndexes(server: Running, secret: string, seconds: number): Promise<Done> {
  const until = performance.now() + seconds * 1000;
  let done = 0;
  for (; performance.now() < until; done++) {
    const isStarted = await startBuild(server.origin, bearer(secret), buildFields.fairness);
    if (!isStarted) break;
    const isFinished = await finishBuild(server.origin, bearer(secret), until);
    if (!isFinished) break;
  }
  return { done, fault: undefined };
}
