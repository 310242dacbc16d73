// The benchmark: Restante, the limit and the peers under the same load in one run.

import { rmSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { newSecret } from "../src/model/token.ts";
import { measureBodies } from "./bodies.ts";
import { startDatabase } from "./database.ts";
import { depth, openReaders, peerReader } from "./deep.ts";
import { chooseLoader, type Loader } from "./load.ts";
import { describeMachine } from "./machine.ts";
import { contest, type Pace } from "./measure.ts";
import { plot } from "./plot.ts";
import { onPostgres } from "./postgres.ts";
import { type BigSets, bigSets, dataFolder, fillFolder } from "./prepare.ts";
import { root } from "./processes.ts";
import { profile } from "./profile.ts";
import { say } from "./progress.ts";
import { report, summary } from "./report.ts";
import {
  bodyFigures,
  type ContestFigures,
  contestFigures,
  type DepthFigures,
  depthFigures,
  type Results,
  ruleFigures,
  type Suite,
} from "./results.ts";
import { measureRules } from "./rules.ts";
import { peopleCount, restanteDialect, type Scenario, scenarioNames } from "./scenarios.ts";
import { type Absent, type Contestant, peerNames, startPeer, startRestante } from "./servers.ts";
import { judge } from "./verdicts.ts";

const parts = [...scenarioNames, "deep", "rules", "bodies", "postgres"] as const;
type Part = (typeof parts)[number];

const usage = `npm run bench -- [options]

  (none)             everything; writes bench/RESULTS.md, results.svg and results.json
  --quick            about 90 seconds, without the peers, a tenth of the data; writes nothing
  --only get,post    some of ${parts.join(", ")}; writes nothing
  --peers            the peers also with --quick
  --loader name      wrk or autocannon; default: wrk where it is installed
  --profile name     one of ${scenarioNames.join(", ")}: where the server's time goes
`;

function refuse(reason: string): never {
  say(`${reason}\n\n${usage}`);
  process.exit(2);
}

function readOptions() {
  try {
    return parseArgs({
      options: {
        quick: { type: "boolean", default: false },
        only: { type: "string", default: parts.join(",") },
        peers: { type: "boolean", default: false },
        loader: { type: "string" },
        profile: { type: "string" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
}

function choose<Name extends string>(names: readonly Name[], wish: string): readonly Name[] {
  const wishes = wish.split(",");
  const unknown = wishes.filter((one) => !names.some((name) => name === one));
  if (unknown.length > 0) refuse(`There is no ${unknown.join(", ")}.`);
  return names.filter((name) => wishes.includes(name));
}

const options = readOptions();
const wished = choose<Part>(parts, options.only);
const profiled = options.profile === undefined ? [] : choose(scenarioNames, options.profile);
if (options.loader !== undefined) choose(["wrk", "autocannon"], options.loader);
const isWhole = !options.quick && wished.length === parts.length;

const pace: Pace = options.quick
  ? { rounds: 1, seconds: 1, warmUpSeconds: 1 }
  : { rounds: 5, seconds: 3, warmUpSeconds: 2 };
const bigCount = options.quick ? 100_000 : 1_000_000;
const uploadBytes = 1_000_000_000;
const withPeers = !options.quick || options.peers;

/** On the repository's disk, gone with the process however it ends. */
const workFolder = join(dataFolder, `run-${process.pid}`);
process.on("exit", () => rmSync(workFolder, { recursive: true, force: true }));

async function measureScenarios(
  names: readonly Scenario[],
  secret: string,
  loader: Loader,
): Promise<Pick<Suite, "contests" | "memory">> {
  const contestants = names.length > 0 ? await startAll(secret) : [];
  const present = contestants.filter((one) => "running" in one);
  const absent = contestants.filter((one) => "reason" in one);
  const contests: ContestFigures[] = [];
  for (const name of names) {
    const entered = present.filter((one) => one.name !== "workers" || shared.includes(name));
    const found = await contest(name, entered, loader, pace);
    contests.push(contestFigures({ ...found, absent: [...found.absent, ...absent] }));
  }
  const memory = present.find(({ name }) => name === "restante")?.running.memory();
  await Promise.all(present.map(({ running }) => running.stop()));
  return { contests, memory };
}

/** What is also measured with two processes behind the port. */
const shared: readonly Scenario[] = ["get", "post"];

async function startAll(secret: string): Promise<readonly (Contestant | Absent)[]> {
  const ours = [await startOurs("restante", secret), await startOurs("workers", secret)];
  const peers = [];
  for (const name of withPeers ? peerNames : []) {
    const folder = join(workFolder, name);
    await mkdir(folder);
    peers.push(await startPeer(name, folder, peopleCount));
  }
  return [...ours, ...peers];
}

async function startOurs(name: "restante" | "workers", secret: string): Promise<Contestant> {
  const folder = join(workFolder, name);
  const dialect = restanteDialect(secret, await fillFolder(folder, peopleCount));
  const own = name === "workers" ? ["--workers", "2"] : [];
  return { name, dialect, running: await startRestante(folder, secret, { own }) };
}

async function measureDepth(sets: BigSets, secret: string, loader: Loader): Promise<DepthFigures> {
  const ours = await openReaders((set) => startRestante(sets[set], secret), secret);
  const folder = join(workFolder, "deep-peer");
  await mkdir(folder);
  const peer = withPeers
    ? peerReader(await startPeer("platformatic", folder, sets.count), sets.count)
    : undefined;
  return depthFigures(await depth(sets.count, ours, peer, loader, pace));
}

async function measure(loader: Loader): Promise<Results> {
  const machine = await describeMachine(workFolder, loader.name);
  const secret = newSecret();
  // What takes long and may fail comes before what takes longer.
  const sets = wished.includes("deep") ? await bigSets(bigCount, workFolder) : undefined;
  const database = wished.includes("postgres") ? await startDatabase(bigCount) : undefined;
  const names = scenarioNames.filter((name) => wished.includes(name));
  const { contests, memory } = await measureScenarios(names, secret, loader);
  const deep = sets && (await measureDepth(sets, secret, loader));
  const rules = wished.includes("rules")
    ? ruleFigures(await measureRules(bigCount, workFolder, secret, loader, pace))
    : [];
  const bodies = wished.includes("bodies")
    ? bodyFigures(await measureBodies(workFolder, secret, loader, pace, uploadBytes))
    : undefined;
  const postgres =
    database && (await onPostgres(database, bigCount, workFolder, withPeers, loader, pace));
  const suites = { embedded: { contests, depth: deep, memory }, rules, bodies, postgres };
  return { machine, pace, ...suites, verdicts: judge(suites) };
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
  await mkdir(workFolder, { recursive: true });
  const loader = await chooseLoader(options.loader);
  for (const name of profiled) await profile(name, join(workFolder, name), loader);
  if (profiled.length > 0) return;
  const results = await measure(loader);
  process.stdout.write(`${summary(results)}\n`);
  if (isWhole) await write(results);
}

try {
  await main();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exit(1);
}
