// Runs biome, tsc and the test files on Node and on Bun, as many at once as there are cores.
// npm test [-- part-of-a-file-name…] [--runtime node|bun]
// npm run test:all and npm run test:long run more. docs/contributing/testing.md says what each of them is for.

import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { availableParallelism, platform, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { bringChromium } from "./chromium.js";
import { findTests, groupFiles, runsOn } from "./test-files.js";
import { runJobs } from "./test-jobs.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const cache = join(root, "node_modules/.cache");
const binaries = join(root, "node_modules/.bin");
const runtimes = ["node", "bun"];
const quiet = ["--disable-warning=ExperimentalWarning"];
const line = "─".repeat(64);
const isOfPassed = /^\s*(?:$|✔|﹣|\((?:pass|skip)\))/;

/** Compiling well takes longer than it saves in a test, and so does collecting garbage often, in tsc, too. */
const forTests = {
  BUN_JSC_useFTLJIT: "0",
  BUN_JSC_thresholdForOptimizeAfterWarmUp: "10000",
  BUN_JSC_thresholdForOptimizeSoon: "10000",
  BUN_JSC_largeHeapSize: `${128 * 1024 * 1024}`,
  ...{ GOGC: "off", GOMEMLIMIT: "2GiB" },
};
/** Bun keeps what it has freed. A file that runs alone may measure memory, and does without. */
const forManyFiles = { MIMALLOC_PURGE_DELAY: "-1" };

process.on("uncaughtException", ({ message }) => {
  console.error(message);
  process.exit(2);
});

const { tier, filters, chosen } = readArguments();
const isLong = tier === "long";
/** Runs of all files start servers that were built once. Chosen files and long runs start the sources. */
const isBuilt = filters.length === 0 && !isLong;
/** A test that takes longer hangs. */
const testTimeoutMs = isLong ? 3_600_000 : 600_000;
const fileTimeoutMs = isLong ? 14_400_000 : 1_800_000;
/** Tests wait now and then, so that two more than there are cores keep the cores busy. */
const slots = availableParallelism() + 2;

const files = findTests(root, tier, filters);
const jobs = [...(filters.length === 0 ? checks() : []), ...chosen.flatMap(testsOn)];
if (!jobs.some(({ hasTests }) => hasTests))
  throw new Error("no test file has such a name and runtime");
if (files.some(({ path }) => /browser|console\//.test(path))) bringChromium();

const results = [];
const startedAt = Date.now();
const signal = await runAll();
process.exitCode = report() ? 0 : 1;
if (signal !== undefined) console.log(`stopped by ${signal}`);

/** Files that are chosen by name run as in `npm run test:all`. */
function readArguments() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { runtime: { type: "string" }, all: { type: "boolean" }, long: { type: "boolean" } },
  });
  if (values.runtime !== undefined && !runtimes.includes(values.runtime))
    throw new Error(`--runtime must be ${runtimes.join(" or ")}`);
  const isShort = positionals.length === 0 && !values.all;
  const tier = values.long ? "long" : isShort ? "short" : "all";
  return { tier, filters: positionals, chosen: values.runtime ? [values.runtime] : runtimes };
}

/** With what the last run has checked, tsc takes a fifth of the time. Several checkers would find the same types again. */
function checks() {
  const flags = ["--noEmit", "--singleThreaded", "--incremental", "--tsBuildInfoFile"];
  const types = [".", "console", "client", "templates"].map((name) => ({
    step: "tsc",
    name,
    args: ["-p", name, ...flags, join(cache, `${name}.tsbuildinfo`)],
  }));
  return [...types, { step: "biome", name: ".", args: ["check", "."] }];
}

function testsOn(runtime) {
  const own = files.filter((file) => runsOn(file, runtime, tier));
  const groups = isBuilt ? groupFiles(own, runtime) : own.map((file) => [file]);
  return groups.map((group) => {
    const [first, ...more] = group.map(({ path }) => path);
    return {
      step: runtime,
      name: more.length > 0 ? `${first} and ${more.length} more` : first,
      args: [...flagsFor(runtime, more.length > 0), first, ...more],
      weight: group.length,
      hasTests: true,
    };
  });
}

function flagsFor(runtime, isGroup) {
  const preload = (flag) => (isBuilt ? [`--${flag}=./scripts/test-threads.js`] : []);
  if (runtime === "bun") return ["test", `--timeout=${testTimeoutMs}`, ...preload("preload")];
  const group = isGroup ? ["--test", "--test-isolation=none"] : [];
  return [...quiet, `--test-timeout=${testTimeoutMs}`, ...preload("import"), ...group];
}

/** Runs all jobs in a temporary folder of their own. Returns the signal that stopped them, if any. */
async function runAll() {
  const folder = mkdtempSync(join(temporaryParent("/dev/shm"), "restante-test-"));
  // Postgres runs as another user when root runs the tests.
  chmodSync(folder, 0o755);
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
    ...(isLong ? { RESTANTE_TEST_LONG: "1" } : forTests),
    ...(tier === "short" && { RESTANTE_TEST_SHORT: "1" }),
  };
  const needsPostgres = files.some(({ source }) => /postgres/i.test(source));
  const starting = needsPostgres ? startPostgres(env) : undefined;
  if (isBuilt) {
    env.RESTANTE_TEST_BUNDLE = "1";
    buildPackages();
  }
  const postgres = await starting;
  const programs = jobs.map((job) => ({
    ...job,
    program: join(binaries, job.step),
    cwd: root,
    env: job.weight > 1 ? { ...env, ...forManyFiles } : env,
    timeoutMs: fileTimeoutMs * (job.weight ?? 1),
  }));
  try {
    await runJobs(programs, { slots, stop: stopping.signal, onResult: show });
  } finally {
    postgres?.stdin.end();
    if (postgres?.exitCode === null) await once(postgres, "exit");
    rmSync(folder, { recursive: true, force: true });
  }
  return signal;
}

/** Tests end processes and not machines, so that they need no disk, but 6 GiB (in pages of 4 KiB) that hold programs. */
function temporaryParent(memory) {
  const mounts = platform() === "linux" ? readFileSync("/proc/mounts", "utf8") : "";
  const isMounted = new RegExp(`^\\S+ ${memory} (?!.*\\bnoexec\\b)`, "m").test(mounts);
  return !isLong && isMounted && statfsSync(memory).bavail > 1_572_864 ? memory : tmpdir();
}

/** They start in a third of the processor time of the sources. */
function buildPackages() {
  const { status, stdout } = spawnSync(join(binaries, "node"), ["scripts/build.js"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (status !== 0) throw new Error(`the packages cannot be built: ${stdout}`);
}

/** Starts one Postgres server for all test files. It ends with this process at the latest. */
async function startPostgres(env) {
  const child = spawn(join(binaries, "node"), [...quiet, "test/shared-postgres.ts"], {
    cwd: root,
    env,
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.on("exit", () => {
    if (env.RESTANTE_TEST_POSTGRES_PORT === undefined)
      throw new Error("the shared Postgres server did not start");
  });
  env.RESTANTE_TEST_POSTGRES_PORT = String(await once(child.stdout, "data")).trim();
  return child;
}

/** Shows one line for each job, and the output of those that failed. A single file is shown in full. */
function show(result) {
  const { job, output, isGood, seconds, counts } = result;
  results.push(result);
  if (!isGood || files.length === 1) console.log(`\n${line}\n${output.trimEnd()}\n`);
  const verdict = `${isGood ? "good  " : "FAILED"} ${seconds.toFixed(1).padStart(6)} s`;
  const tests = counts === undefined ? "" : `  ${words(counts)}`;
  console.log(`${verdict}  ${job.step.padEnd(5)} ${job.name}${tests}`);
}

/** The last line counts the tests of all runtimes. Returns whether all is good. */
function report() {
  const failed = results.filter(({ isGood }) => !isGood);
  if (failed.length > 0) console.log("\nfailed:");
  for (const { job, output } of failed) {
    const lines = output.split("\n").filter((line) => !isOfPassed.test(line));
    console.log([`  ${job.step.padEnd(5)} ${job.name}`, ...lines.slice(-60)].join("\n    "));
  }
  const total = { passed: 0, failed: 0, skipped: 0 };
  for (const { counts } of results) for (const kind in counts) total[kind] += counts[kind];
  console.log(`\n${line}\n\n${((Date.now() - startedAt) / 1000).toFixed(0)} seconds`);
  console.log(words(total));
  return failed.length === 0 && results.length === jobs.length && total.passed > 0;
}

function words({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
