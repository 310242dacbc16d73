// Runs biome, tsc, and every test file under Node and under Bun, as many at once as there are cores.
// npm test [-- part-of-a-file-name…] [--runtime node|bun]
// npm run test:long does the same with full counts, and adds the files named *.long.test.ts.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bringChromium } from "./chromium.js";
import { makeTestFolder } from "./test-folder.js";
import { groupFiles, placeOf } from "./test-groups.js";
import { cpuOfEnded, cpuOfOthers, runJobs, timesOf, withoutPassed } from "./test-jobs.js";
import { leftOut, runtimesOf } from "./test-runtimes.js";
import { buildServer } from "./test-server.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(root, "node_modules/.cache");
/** With what the last run has checked, tsc takes a third of the time. */
const typesCache = join(cache, "tsc.tsbuildinfo");
/** Several checkers find the same types again, each for itself. */
const typeFlags = ["--singleThreaded", "--incremental", "--tsBuildInfoFile"];
/** Bun's optimizing compilers take more time than they save in a test, so the last one is off, and the other one starts late. */
const lessCompilation = {
  BUN_JSC_useFTLJIT: "0",
  BUN_JSC_thresholdForOptimizeAfterWarmUp: "10000",
  BUN_JSC_thresholdForOptimizeSoon: "10000",
};
/** In bytes. A larger heap saves a twentieth of the processor time, which was spent on collecting garbage. */
const largerHeap = { BUN_JSC_largeHeapSize: `${128 * 1024 * 1024}` };
/** The TypeScript compiler is written in Go. Without collecting garbage it saves a quarter of its time, and needs 1.4 GB. */
const noCollections = { GOGC: "off", GOMEMLIMIT: "2GiB" };
/** Bun keeps what it has freed, which saves a fifth of the time in the kernel. Files that measure memory run alone, without it. */
const keptMemory = { MIMALLOC_PURGE_DELAY: "-1" };
/** Loaded before the tests of a short run. */
const preload = "./scripts/test-threads.js";
const runtimes = ["node", "bun"];
const slowestShown = 10;
const width = 64;
/** The lines of a failed job that are repeated at the end, where a long log is read first. */
const failureLines = 60;

const { filters, chosen, isLong } = readArguments();
/** A test that takes longer hangs. A test file may have many tests. */
const testTimeoutMs = isLong ? 3_600_000 : 120_000;
const fileTimeoutMs = isLong ? 14_400_000 : 600_000;
const cores = availableParallelism();
/** Tests wait now and then, so that two more than there are cores keep the cores busy. */
const slots = cores + 2;

const files = findTests();
const isWhole = filters.length === 0;
/** `npm test` of all files leaves some combinations of runtime and engine to `npm run test:long`. */
const isShort = isWhole && !isLong && chosen.length > 1;
if (files.some((file) => /browser|console\//.test(file))) bringChromium();
const jobs = jobsToRun();
if (jobs.length === 0) {
  console.error("These test files run on Node only.");
  process.exit(2);
}
const results = [];
const startedAt = Date.now();
const othersAtStart = cpuOfOthers() ?? 0;
const signal = await runAll();
process.exitCode = report() ? 0 : 1;
if (signal !== undefined) console.log(`stopped by ${signal}`);

function readArguments() {
  try {
    const options = { runtime: { type: "string" }, long: { type: "boolean", default: false } };
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    if (values.runtime !== undefined && !runtimes.includes(values.runtime))
      throw new Error(`--runtime must be ${runtimes.join(" or ")}`);
    const chosen = values.runtime ? [values.runtime] : runtimes;
    return { filters: positionals, chosen, isLong: values.long };
  } catch (error) {
    console.error(error.message);
    process.exit(2);
  }
}

function findTests() {
  const found = readdirSync(join(root, "test"), { recursive: true })
    .filter((file) => file.endsWith(".test.ts") && (isLong || !file.endsWith(".long.test.ts")))
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)));
  if (found.length > 0) return found.sort().map((file) => `./test/${file}`);
  console.error(`No test file has a name with ${filters.join(" or ")}.`);
  process.exit(2);
}

/** Runs all jobs in a temporary folder of their own. Returns the signal that stopped them, if any. */
async function runAll() {
  const folder = makeTestFolder(!isShort);
  const stopping = new AbortController();
  let signal;
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(name, () => {
      signal = name;
      stopping.abort();
    });
  const env = {
    ...process.env,
    TMPDIR: folder,
    // Stripping types is most of a process's start on Node, and a hundred processes start here.
    NODE_COMPILE_CACHE: join(cache, "node"),
    ...noCollections,
    ...(isLong && { RESTANTE_TEST_LONG: "1" }),
    ...(isShort && { RESTANTE_TEST_SHORT: "1" }),
    ...(isLong || { ...lessCompilation, ...largerHeap }),
  };
  const starting = someFile(/postgres/i) ? startPostgres(env) : undefined;
  // The long run and chosen files start the sources.
  if (isShort) env.RESTANTE_TEST_SERVERS = buildServers(folder);
  const postgres = await starting;
  if (postgres !== undefined) env.RESTANTE_TEST_POSTGRES_PORT = postgres.port;
  try {
    const programs = jobs.map((job) => ({
      ...{ ...job, program: programOf(job.step), cwd: root },
      env: job.weight > 1 && !isLong ? { ...env, ...keptMemory } : env,
    }));
    const options = { slots, timeoutMs: fileTimeoutMs, stop: stopping.signal, onResult: show };
    await runJobs(programs, options);
  } finally {
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  }
  return signal;
}

function programOf(name) {
  return join(root, "node_modules/.bin", name);
}

/** A file that is missed here starts a Postgres server of its own, or Restante from its sources. */
function someFile(pattern) {
  return files.some((file) => pattern.test(read(file)));
}

function read(file) {
  return readFileSync(join(root, file), "utf8");
}

function buildServers(folder) {
  const servers = join(folder, "servers");
  for (const runtime of chosen) buildServer(root, join(servers, runtime), runtime);
  return servers;
}

/** Starts one Postgres server for all test files. It ends with this process at the latest. */
async function startPostgres(env) {
  const args = ["--disable-warning=ExperimentalWarning", "test/shared-postgres.ts"];
  const child = spawn(programOf("node"), args, {
    ...{ cwd: root, env, detached: true },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const [port] = await Promise.race([once(child.stdout, "data"), ended.then(() => [])]);
  if (port === undefined) throw new Error("the shared Postgres server did not start");
  const stop = () => {
    child.stdin.end();
    return ended;
  };
  return { port: String(port).trim(), stop };
}

/** `step` names the program, `count` how to read the counts of its tests. */
function jobsToRun() {
  const checks = [
    { step: "tsc", name: "", args: ["--noEmit", ...typeFlags, typesCache] },
    {
      ...{ step: "tsc", name: "console" },
      args: ["-p", "console", ...typeFlags, `${typesCache}.console`],
    },
    {
      ...{ step: "tsc", name: "client" },
      args: ["-p", "client", "--incremental", "--tsBuildInfoFile", `${typesCache}.client`],
    },
    { step: "biome", name: "", args: ["check", "."] },
  ];
  const tests = chosen
    .flatMap((step) => groupsOn(step).map((group) => ({ step, group })))
    .sort((a, b) => placeOf(a.group) - placeOf(b.group))
    .map(({ step, group }) => ({
      ...{ step, name: nameOf(group), count: step, weight: group.length },
      args: argumentsFor(step, group),
    }));
  return isWhole ? [...checks, ...tests] : tests;
}

function groupsOn(runtime) {
  const own = files.filter((file) => runtimesOf(file, chosen, isShort).includes(runtime));
  return isWhole && !isLong ? groupFiles(own, root, runtime) : own.map((file) => [file]);
}

function nameOf([first, ...more]) {
  return more.length === 0 ? first : `${first} and ${more.length} more`;
}

function argumentsFor(runtime, group) {
  // More room for new objects saves a twelfth of the processor time, which was spent on collecting garbage.
  const inOneProcess =
    group.length === 1 ? [] : ["--max-semi-space-size=64", "--test", "--test-isolation=none"];
  const flags = {
    node: [
      ...["--disable-warning=ExperimentalWarning", `--test-timeout=${testTimeoutMs}`],
      ...(isShort ? [`--import=${preload}`] : []),
      ...inOneProcess,
    ],
    bun: [...["test", `--timeout=${testTimeoutMs}`], ...(isShort ? [`--preload=${preload}`] : [])],
  };
  return [...flags[runtime], ...group];
}

/** Shows one line for each job, and the output of those that failed. A single file is shown in full. */
function show(result) {
  const { job, output, isGood, seconds, cpuSeconds, counts } = result;
  results.push(result);
  if (!isGood || files.length === 1) console.log(`\n${"─".repeat(width)}\n${output.trimEnd()}\n`);
  const time = `${seconds.toFixed(1)} s`.padStart(8) + `${cpuSeconds.toFixed(1)} s`.padStart(8);
  const verdict = isGood ? "good  " : "FAILED";
  console.log(`${verdict} ${time}  ${job.step.padEnd(5)} ${job.name}  ${words(counts)}`.trimEnd());
}

/** The last line counts the tests of all runtimes. Returns whether all is good. */
function report() {
  showSlowest();
  showFailed();
  const total = { passed: 0, failed: 0, skipped: 0 };
  console.log(`\n${"─".repeat(width)}\n`);
  for (const step of new Set(jobs.map((job) => job.step))) {
    const own = results.filter(({ job }) => job.step === step);
    const counts = own.some((result) => result.counts) ? sum(own) : undefined;
    for (const kind in counts) total[kind] += counts[kind];
    const isGood = own.length > 0 && own.every((result) => result.isGood);
    console.log(`${step.padEnd(8)}${isGood ? "good  " : "FAILED"}  ${words(counts)}`.trimEnd());
  }
  if (isShort) console.log(`\nleft to npm run test:long: ${leftOut(files, files.map(read))}`);
  const seconds = (Date.now() - startedAt) / 1000;
  const others = (cpuOfOthers() ?? 0) - othersAtStart;
  console.log(`\n${timesOf({ seconds, cores, cpu: cpuOfEnded(), others })}`);
  console.log(words(total));
  const isComplete = results.length === jobs.length;
  return isComplete && results.every(({ isGood }) => isGood) && total.passed > 0;
}

function sum(results) {
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const { counts } of results) for (const kind in counts) total[kind] += counts[kind];
  return total;
}

function showSlowest() {
  if (results.length <= slowestShown) return;
  const slowest = [...results].sort((a, b) => b.seconds - a.seconds).slice(0, slowestShown);
  console.log("\nslowest:");
  for (const { job, seconds } of slowest)
    console.log(`${`${seconds.toFixed(1)} s`.padStart(10)}  ${job.step.padEnd(5)} ${job.name}`);
}

function showFailed() {
  const failed = results.filter(({ isGood }) => !isGood);
  if (failed.length > 0) console.log("\nfailed:");
  for (const { job, output } of failed) {
    console.log(`  ${job.step.padEnd(5)} ${job.name}`);
    for (const line of withoutPassed(output).slice(-failureLines)) console.log(`    ${line}`);
  }
}

function words(counts) {
  if (counts === undefined) return "";
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
}
