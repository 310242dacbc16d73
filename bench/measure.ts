// Interleaved rounds: every server in turn, the bare one first and last, because machines are noisy.

import { type Ask, defaultConnections, type Load, type Loader } from "./load.ts";
import { bar } from "./progress.ts";
import { countPosts, phrase, probe, type Scenario, scenarios } from "./scenarios.ts";
import { type Absent, type Contestant, type ServerName, startBare } from "./servers.ts";

export interface Pace {
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
}

/** Loads the same thing again, for so many seconds. */
export type Run = (seconds: number) => Promise<Load>;

export interface Contest {
  readonly scenario: Scenario;
  readonly bareBefore: readonly Load[];
  readonly bareAfter: readonly Load[];
  /** A load for each round, like the two above. */
  readonly loads: Readonly<Partial<Record<ServerName, readonly Load[]>>>;
  readonly absent: readonly Absent[];
}

interface Entry {
  readonly name: ServerName;
  readonly ask: Ask;
  readonly answer: string;
  readonly run: Run;
}

/** One scenario on every server. Throws when Restante itself gives a wrong answer. */
export async function contest(
  scenario: Scenario,
  contestants: readonly Contestant[],
  loader: Loader,
  pace: Pace,
): Promise<Contest> {
  const entered = await Promise.all(contestants.map((one) => enter(scenario, one, loader)));
  const entries = entered.filter((one) => "run" in one);
  const absent = entered.filter((one) => "reason" in one);
  const ours = entries.find((entry) => entry.name === "restante");
  if (ours === undefined) throw new Error(absent.map(({ reason }) => reason).join("; "));

  const server = await startBare(ours.ask.status, ours.answer);
  const bare: Run = (seconds) => loader.load(server.origin, ours.ask, seconds);
  const runs = [bare, ...entries.map((entry) => entry.run), bare];
  const columns = await interleave(scenarios[scenario].title, runs, pace);
  await server.stop();
  const [bareBefore = [], ...rest] = columns;
  return {
    scenario,
    bareBefore,
    bareAfter: rest.pop() ?? [],
    loads: Object.fromEntries(entries.map(({ name }, index) => [name, rest[index]])),
    absent,
  };
}

async function enter(
  scenario: Scenario,
  contestant: Contestant,
  loader: Loader,
): Promise<Entry | Absent> {
  const { name, dialect, running } = contestant;
  try {
    const ask = await phrase(scenario, dialect, running.origin);
    if (typeof ask === "string") return { name, reason: ask };
    const { body } = await probe(running.origin, ask);
    const run: Run = (seconds) => loader.load(running.origin, ask, seconds);
    const checked =
      scenario === "post" ? countingRun(run, contestant) : probingRun(run, running.origin, ask);
    return { name, ask, answer: body, run: checked };
  } catch (error) {
    return { name, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** An acknowledged POST that is not there afterwards makes the figure worthless. */
const countingRun =
  (run: Run, { dialect, running }: Contestant): Run =>
  async (seconds) => {
    const before = await countPosts(running.origin, dialect);
    const load = await run(seconds);
    const kept = (await countPosts(running.origin, dialect)) - before;
    // When the time is up, each connection may have one request whose answer nobody waits for.
    const isTrue = kept >= load.completed && kept <= load.completed + defaultConnections;
    return isTrue ? load : { ...load, fault: `${load.completed} acknowledged but ${kept} kept` };
  };

/** wrk tells errors from other answers, but not a 200 from a 304: so one answer is looked at again. */
const probingRun =
  (run: Run, origin: string, ask: Ask): Run =>
  async (seconds) => {
    const load = await run(seconds);
    const fault = await probe(origin, ask).then(() => load.fault, String);
    return { ...load, fault };
  };

/** For each run its loads, one for each round, after a warm-up that does not count. */
export async function interleave(
  label: string,
  runs: readonly Run[],
  pace: Pace,
): Promise<readonly (readonly Load[])[]> {
  const show = bar(label, runs.length * pace.rounds);
  const columns: Load[][] = runs.map(() => []);
  let done = 0;
  for (const run of new Set(runs)) await run(pace.warmUpSeconds);
  for (let round = 0; round < pace.rounds; round++)
    for (const [index, run] of runs.entries()) {
      columns[index]?.push(await run(pace.seconds));
      show(++done);
    }
  return columns;
}
