// The benchmark: runs its parts one after another, and writes their figures.

import { rmSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { newSecret } from "../src/model/secret.ts";
import { Stores } from "./data/stores.ts";
import { measureHere } from "./here.ts";
import { scenarioNames } from "./load/scenarios.ts";
import { partNames, parts } from "./parts/parts.ts";
import { fullSizes, messageOf, quickSizes, type Setting } from "./parts/setting.ts";
import { profile } from "./profile.ts";
import { say } from "./progress.ts";
import { growthPlot } from "./report/growth-plot.ts";
import { plot } from "./report/plot.ts";
import { report, summary } from "./report/report.ts";
import { merge, type PartName, type Results, readResults, writeResults } from "./report/results.ts";
import { describeMachine, restanteVersion } from "./servers/machine.ts";
import { endAll, endAllAtExit, root } from "./servers/processes.ts";
import { stolenSeconds } from "./servers/processors.ts";

const usage = `npm run bench -- [options]

  (none)               everything, in about an hour; writes bench/RESULTS.md, its pictures and results.json
  --only speed,growth  some of ${partNames.join(", ")};
                       the other parts in RESULTS.md stay as they are
  --quick              everything with very little data, in about 3 minutes, without the peers; writes nothing
  --peers              the peers also with --quick
  --here folder        the disk of this folder and a server on it, in half a minute; writes nothing
  --profile name       one of ${scenarioNames.join(", ")}: where the server's time goes
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
        only: { type: "string", default: partNames.join(",") },
        peers: { type: "boolean", default: false },
        here: { type: "string" },
        profile: { type: "string" },
        help: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    return refuse(messageOf(error));
  }
}

function choose<Name extends string>(names: readonly Name[], wish: string): readonly Name[] {
  const wishes = wish.split(",");
  const unknown = wishes.filter((one) => !names.some((name) => name === one));
  if (unknown.length > 0) refuse(`There is no ${unknown.join(", ")}.`);
  return names.filter((name) => wishes.includes(name));
}

const options = readOptions();
const wished = choose(partNames, options.only);
const profiled = options.profile === undefined ? [] : choose(scenarioNames, options.profile);

/** Beside the repository and not in /tmp, which may be memory: durable must mean a real disk. */
const workFolder = join(root, "bench", ".data", `run-${process.pid}`);
endAllAtExit();
process.on("exit", () => rmSync(workFolder, { recursive: true, force: true }));

/** A part that takes longer is given up. */
const longestPartSeconds = 1_200;

async function runPart<Name extends PartName>(
  name: Name,
  setting: Setting,
): Promise<Pick<Results, Name>> {
  const machine = await describeMachine(workFolder);
  const date = new Date().toISOString().slice(0, 10);
  const version = await restanteVersion();
  const startedAt = performance.now();
  const elapsed = () => Math.round((performance.now() - startedAt) / 1000);
  const stolenBefore = stolenSeconds();
  const run = () => {
    const stolen = (stolenSeconds() - stolenBefore) / (elapsed() * machine.cores);
    return { date, version, seconds: elapsed(), stolen, machine };
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tooLong = new Promise<never>((_, reject) => {
    const error = new Error(`it took longer than ${longestPartSeconds} s`);
    timer = setTimeout(reject, longestPartSeconds * 1000, error);
  });
  try {
    const figures = await Promise.race([parts[name].measure(setting), tooLong]);
    return { [name]: { ...run(), figures } } as unknown as Pick<Results, Name>;
  } catch (error) {
    say(`${name} failed: ${messageOf(error)}`);
    return { [name]: { ...run(), error: messageOf(error) } } as unknown as Pick<Results, Name>;
  } finally {
    clearTimeout(timer);
    // A part that failed may have left servers behind.
    endAll();
  }
}

const folder = join(root, "bench");

async function write(results: Results): Promise<void> {
  await writeFile(join(folder, "RESULTS.md"), report(results));
  await writeFile(join(folder, "results.svg"), plot(results));
  await writeFile(join(folder, "growth.svg"), growthPlot(results));
  await writeFile(join(folder, "results.json"), writeResults(results));
}

async function main(): Promise<void> {
  if (options.help) return void process.stdout.write(usage);
  if (options.here !== undefined) return measureHere(resolve(options.here), options.quick ? 5 : 30);
  await mkdir(workFolder, { recursive: true });
  const secret = newSecret();
  const stores = new Stores(workFolder, secret);
  try {
    for (const name of profiled) await profile(name, stores, secret);
    if (profiled.length > 0) return;
    const sizes = options.quick ? quickSizes : fullSizes;
    await measureAll({ stores, secret, sizes, withPeers: !options.quick || options.peers });
  } finally {
    await stores.close();
  }
}

/** What is measured already is written after each part, so that nothing is lost. */
async function measureAll(setting: Setting): Promise<void> {
  const startedAt = performance.now();
  const earlier = await readFile(join(folder, "results.json"), "utf8").then(
    readResults,
    () => ({}),
  );
  let found: Results = {};
  for (const [index, name] of wished.entries()) {
    const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
    const about = options.quick ? "" : `, about ${parts[name].minutes} minutes`;
    say(`[${index + 1}/${wished.length}] ${parts[name].title}${about} (${minutes} minutes so far)`);
    found = merge(found, await runPart(name, setting));
    if (!options.quick) await write(merge(earlier, found));
  }
  process.stdout.write(`${summary(found)}\n`);
  if (!options.quick)
    say("written: RESULTS.md, results.svg, growth.svg and results.json in bench/");
  if (wished.some((name) => found[name] !== undefined && "error" in found[name]))
    process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  say(messageOf(error));
  process.exitCode = 1;
}
process.exit();
