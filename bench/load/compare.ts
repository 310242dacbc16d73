// One scenario on several servers, in interleaved rounds, the bare server first and last.

import { metered } from "../servers/meters.ts";
import type { Absent, Server, ServerName } from "../servers/peers.ts";
import { startBare } from "../servers/restante.ts";
import { interleave, type Pace, type Run } from "./interleave.ts";
import { type Ask, defaultConnections, type Load, type Loader } from "./load.ts";
import { askOf, countPosts, probe, type Scenario, scenarios } from "./scenarios.ts";

export interface ComparedLoads {
  readonly scenario: Scenario;
  readonly bareBefore: readonly Load[];
  readonly bareAfter: readonly Load[];
  /** A load for each round, like the two above. */
  readonly loads: Readonly<Partial<Record<ServerName, readonly Load[]>>>;
  readonly absent: readonly Absent[];
}

export interface CompareOptions {
  /** Processor time of the database that the servers share. */
  readonly database?: () => number;
  /** The core that the bare server runs on. */
  readonly core?: number;
  /** Changes the requests of Restante and of the bare server. */
  readonly change?: (ask: Ask) => Ask;
}

interface Entry {
  readonly name: ServerName;
  readonly ask: Ask;
  readonly body: string;
  readonly run: Run;
}

/** Throws when Restante itself gives a wrong response. */
export async function compare(
  scenario: Scenario,
  servers: readonly Server[],
  plainLoader: Loader,
  pace: Pace,
  { core, database = () => 0, change = (ask) => ask }: CompareOptions = {},
): Promise<ComparedLoads> {
  const meters = new Map(servers.map(({ running }) => [running.origin, running.processorSeconds]));
  const loader = metered(plainLoader, {
    server: (origin) => meters.get(origin)?.() ?? Number.NaN,
    database,
  });
  const entered = await Promise.all(servers.map((one) => enter(scenario, one, loader, change)));
  const entries = entered.filter((one) => "run" in one);
  const absent = entered.filter((one) => "reason" in one);
  const ours = entries.find((entry) => entry.name === "restante");
  if (ours === undefined) throw new Error(absent.map(({ reason }) => reason).join("; "));

  const server = await startBare(ours.ask.status, ours.body, core);
  meters.set(server.origin, server.processorSeconds);
  try {
    const bare: Run = (seconds) => loader(server.origin, ours.ask, seconds);
    const runs = [bare, ...entries.map((entry) => entry.run), bare];
    const columns = await interleave(scenarios[scenario].title, runs, pace);
    const [bareBefore = [], ...rest] = columns;
    return {
      scenario,
      bareBefore,
      bareAfter: rest.pop() ?? [],
      loads: Object.fromEntries(entries.map(({ name }, index) => [name, rest[index]])),
      absent,
    };
  } finally {
    await server.stop();
  }
}

async function enter(
  scenario: Scenario,
  server: Server,
  loader: Loader,
  change: (ask: Ask) => Ask,
): Promise<Entry | Absent> {
  const { name, api, running } = server;
  try {
    const found = await askOf(scenario, api, running.origin);
    if (typeof found === "string") return { name, reason: found };
    const ask = change(found);
    const { body } = await probe(running.origin, ask);
    const run: Run = (seconds) => loader(running.origin, ask, seconds);
    const checked =
      scenario === "post" ? countingRun(run, server) : probingRun(run, running.origin, ask);
    return { name, ask, body, run: checked };
  } catch (error) {
    return { name, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** An acknowledged POST that is not there afterwards makes the figure worthless. */
const countingRun =
  (run: Run, { api, running }: Server): Run =>
  async (seconds) => {
    const before = await countPosts(running.origin, api);
    const load = await run(seconds);
    const stored = (await countPosts(running.origin, api)) - before;
    // When the time is up, each connection may have one request whose response nobody waits for.
    const isTrue = stored >= load.completed && stored <= load.completed + defaultConnections;
    if (isTrue) return load;
    return { ...load, fault: `${load.completed} acknowledged but ${stored} stored` };
  };

/** One response is looked at again: a server must not have changed its mind under load. */
const probingRun =
  (run: Run, origin: string, ask: Ask): Run =>
  async (seconds) => {
    const load = await run(seconds);
    const fault = await probe(origin, ask).then(() => load.fault, String);
    return { ...load, fault };
  };
