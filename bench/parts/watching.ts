// Watching: what metrics and traces add to a GET, on both runtimes.

import { join } from "node:path";
import { interleave, type Run } from "../load/interleave.ts";
import { load } from "../load/load.ts";
import { get, probe, restanteApi } from "../load/scenarios.ts";
import { type Observed, type Variant, variants } from "../load/variants.ts";
import { during } from "../progress.ts";
import { faultsIn, median, type Spent, spentOn } from "../report/figures.ts";
import { metered } from "../servers/meters.ts";
import { bun, node, type Running, root, run } from "../servers/processes.ts";
import type { Setting } from "./setting.ts";
import { fillPeople } from "./speed.ts";

export const runtimes = { Bun: bun, Node: node } as const;
export type Runtime = keyof typeof runtimes;

export interface WatchingFigures {
  readonly lines: readonly WatchingLine[];
}

export interface WatchingLine {
  readonly runtime: Runtime;
  /** A GET without a socket, in nanoseconds. */
  readonly plainNs: number;
  /** What each variant takes more than that, round by round. */
  readonly more: Readonly<Record<Variant, Spread>>;
  /** The function that counts a request, alone. */
  readonly countNs: number;
  /** A GET over a socket, in microseconds of processor time of the server. */
  readonly getUs: number;
  /** The same with a collector that gets the trace of each request. */
  readonly tracedUs: number;
  readonly faults: readonly string[];
}

export interface Spread {
  readonly medianNs: number;
  readonly lowerNs: number;
  readonly upperNs: number;
}

export async function measureWatching(setting: Setting): Promise<WatchingFigures> {
  const lines: WatchingLine[] = [];
  for (const runtime of Object.keys(runtimes) as readonly Runtime[])
    lines.push(await measureRuntime(runtime, setting));
  return { lines };
}

async function measureRuntime(runtime: Runtime, setting: Setting): Promise<WatchingLine> {
  const { times, countNs } = await during(
    `GETs without a socket, ${runtime}`,
    observe(runtime, setting),
  );
  const names = Object.keys(variants) as readonly Variant[];
  const more = names.map((name) => [name, spreadOf(times[name], times.plain)]);
  return {
    ...{ runtime, countNs, plainNs: median(times.plain) },
    more: Object.fromEntries(more) as WatchingLine["more"],
    ...(await compareTraced(runtime, setting)),
  };
}

const observeSeconds = 300;

async function observe(runtime: Runtime, { stores, sizes }: Setting): Promise<Observed> {
  const script = join(root, "bench", "load", "observed.ts");
  const args = [script, await stores.folder(), `${sizes.observedRounds}`];
  const output = await run({ command: runtimes[runtime], args }, observeSeconds);
  return JSON.parse(output) as Observed;
}

function spreadOf(times: readonly number[], plain: readonly number[]): Spread {
  const sorted = times.map((time, round) => time - (plain[round] ?? 0)).sort((a, b) => a - b);
  const quantile = (share: number) => sorted[Math.floor(share * sorted.length)] ?? Number.NaN;
  return { medianNs: median(sorted), lowerNs: quantile(0.25), upperNs: quantile(0.75) };
}

/** Two servers over sockets, one of which traces each request. */
async function compareTraced(
  runtime: Runtime,
  { stores, secret, sizes }: Setting,
): Promise<Pick<WatchingLine, "getUs" | "tracedUs" | "faults">> {
  const collector = Bun.serve({
    port: 0,
    fetch: async (request) => {
      await request.arrayBuffer();
      return Response.json({});
    },
  });
  const servers: Running[] = [];
  const start = async (...own: readonly string[]): Promise<Run> => {
    const command = runtimes[runtime];
    const running = await stores.start(await stores.empty("embedded"), { command, own });
    servers.push(running);
    const [id = ""] = await fillPeople(running, secret, 1);
    const { headers, one } = restanteApi(secret, [id]);
    const ask = get(headers, one(id));
    await probe(running.origin, ask);
    const loader = metered(load, { server: running.processorSeconds, database: () => 0 });
    return (seconds) => loader(running.origin, ask, seconds);
  };
  try {
    const runs = [
      await start(),
      await start("--otlp-endpoint", `http://127.0.0.1:${collector.port}`),
    ];
    const [plain = [], traced = []] = await interleave(`traces, ${runtime}`, runs, sizes.pace);
    const faults = faultsIn([...plain, ...traced]);
    return { getUs: microseconds(spentOn(plain)), tracedUs: microseconds(spentOn(traced)), faults };
  } finally {
    await Promise.all(servers.map((server) => server.stop()));
    await collector.stop(true);
  }
}

const microseconds = (spent: Spent | undefined): number => spent?.server.perRequestUs ?? Number.NaN;
