// The benchmark: Restante, the limit and the peers under the same load in one run.

import { rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { newSecret } from "../src/model/token.ts";
import { depth } from "./deep.ts";
import { chooseLoader, type Loader } from "./load.ts";
import { describeMachine } from "./machine.ts";
import { contest, type Pace } from "./measure.ts";
import { plot } from "./plot.ts";
import { dataFolder, fillRestante } from "./prepare.ts";
import { type Memory, root } from "./processes.ts";
import { profile } from "./profile.ts";
import { say } from "./progress.ts";
import { report, summary } from "./report.ts";
import {
  type ContestFigures,
  contestFigures,
  type DepthFigures,
  depthFigures,
  judge,
  type Results,
} from "./results.ts";
import { peopleCount, restanteDialect, type Scenario, scenarioNames } from "./scenarios.ts";
import { type Contestant, peerNames, startPeer, startRestante } from "./servers.ts";

const parts = [...scenarioNames, "deep"] as const;
type Part = (typeof parts)[number];

const usage = `npm run bench -- [options]

  (none)             everything; writes bench/RESULTS.md, results.svg and results.json
  --quick            about 40 seconds, without the peers, a tenth of the data; writes nothing
  --only get,post    some of ${parts.join(", ")}; writes nothing
  --peers            the peers also with --quick
  --loader name      wrk or autocannon; default: wrk where it is installed
  --profile name     one of ${scenarioNames.join(", ")}: where the server's time goes
`;

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    peers: { type: "boolean", default: false },
    loader: { type: "string" },
    profile: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

const pace: Pace = options.quick
  ? { rounds: 1, seconds: 1, warmUpSeconds: 1 }
  : { rounds: 5, seconds: 3, warmUpSeconds: 2 };
const bigCount = options.quick ? 100_000 : 1_000_000;
const withPeers = !options.quick || options.peers;

/** On the repository's disk, gone with the process however it ends. */
const workFolder = join(dataFolder, `run-${process.pid}`);
process.on("exit", () => rmSync(workFolder, { recursive: true, force: true }));

function wishedParts(text: string | undefined): readonly Part[] {
  if (text === undefined) return parts;
  const names = text.split(",");
  const wrong = names.filter((name) => !parts.some((part) => part === name));
  if (wrong.length === 0) return parts.filter((part) => names.includes(part));
  say(`There is no part ${wrong.join(", ")}.\n\n${usage}`);
  process.exit(2);
}

async function measureScenarios(
  names: readonly Scenario[],
  secret: string,
  loader: Loader,
): Promise<{ contests: readonly ContestFigures[]; memory: Memory | undefined }> {
  const contestants = await startAll(secret);
  const present = contestants.filter((one) => "running" in one);
  const absent = contestants.filter((one) => "reason" in one);
  const contests: ContestFigures[] = [];
  for (const name of names) {
    const found = await contest(name, present, loader, pace);
    contests.push(contestFigures({ ...found, absent: [...found.absent, ...absent] }));
  }
  const memory = present.find(({ name }) => name === "restante")?.running.memory();
  await Promise.all(present.map(({ running }) => running.stop()));
  return { contests, memory };
}

async function startAll(secret: string) {
  const data = join(workFolder, "restante");
  const dialect = restanteDialect(secret, await fillRestante(data, peopleCount));
  const ours: Contestant = {
    name: "restante",
    dialect,
    running: await startRestante(data, secret),
  };
  const peers = [];
  for (const name of withPeers ? peerNames : []) {
    const folder = join(workFolder, name);
    await mkdir(folder);
    peers.push(await startPeer(name, folder, peopleCount));
  }
  return [ours, ...peers];
}

async function measure(wished: readonly Part[], loader: Loader): Promise<Results> {
  const machine = await describeMachine(workFolder, loader.name);
  const secret = newSecret();
  const names = scenarioNames.filter((name) => wished.includes(name));
  const { contests, memory } = await measureScenarios(names, secret, loader);
  let deep: DepthFigures | undefined;
  if (wished.includes("deep"))
    deep = depthFigures(await depth(bigCount, secret, workFolder, withPeers, loader, pace));
  return { machine, pace, contests, depth: deep, memory, verdicts: judge(contests, deep, memory) };
}

async function write(results: Results): Promise<void> {
  const folder = join(root, "bench");
  await writeFile(join(folder, "RESULTS.md"), report(results));
  await writeFile(join(folder, "results.svg"), plot(results));
  await writeFile(join(folder, "results.json"), `${JSON.stringify(results, null, 2)}\n`);
  say("written: bench/RESULTS.md, bench/results.svg, bench/results.json");
}

async function main(): Promise<void> {
  if (options.help) return void process.stdout.write(usage);
  const wished = wishedParts(options.only);
  await mkdir(workFolder, { recursive: true });
  const loader = await chooseLoader(options.loader);
  const profiled = scenarioNames.find((name) => name === options.profile);
  if (profiled !== undefined) return profile(profiled, workFolder, loader, 8);
  const results = await measure(wished, loader);
  process.stdout.write(`${summary(results)}\n`);
  if (!options.quick && options.only === undefined) await write(results);
}

try {
  await main();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
