// Everything that must hold: form, types, and every test under Node and under Bun.
// npm test [-- part-of-a-file-name…] [--runtime node|bun]
// npm run test:long does the same with full counts, and adds the files named *.long.test.ts.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const isLong = process.argv.includes("--long");
/** A test that takes longer hangs. */
const testTimeoutMs = isLong ? 3_600_000 : 120_000;
const stepTimeoutMs = isLong ? 14_400_000 : 1_800_000;

const root = fileURLToPath(new URL("..", import.meta.url));
const reports = mkdtempSync(join(tmpdir(), "restante-test-"));
process.on("exit", () => rmSync(reports, { recursive: true }));

/** A step's `count` reads the totals from the report that its runtime wrote. */
const formSteps = [
  { name: "biome", args: ["check", "."] },
  { name: "tsc", args: ["--noEmit"] },
];
const runtimeSteps = { node: nodeStep, bun: bunStep };

const { filters, runtimes } = readArguments();
const files = findTests();
bringChromium();
const results = [];
for (const step of filters.length === 0 ? formSteps : []) results.push(await run(step));
for (const runtime of runtimes) results.push(await run(runtimeSteps[runtime]()));
process.exitCode = report();

function readArguments() {
  try {
    const options = { runtime: { type: "string" }, long: { type: "boolean" } };
    const { values, positionals } = parseArgs({ allowPositionals: true, options });
    const all = Object.keys(runtimeSteps);
    if (values.runtime !== undefined && !all.includes(values.runtime))
      throw new Error(`--runtime must be ${all.join(" or ")}`);
    return { filters: positionals, runtimes: values.runtime ? [values.runtime] : all };
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

/** Some tests drive a browser. It is fetched where that is ours to do; elsewhere they are skipped. */
function bringChromium() {
  const packages = ["chromium-headless-shell", "chromium"];
  const isThere = () =>
    (process.env.PATH ?? "")
      .split(delimiter)
      .some((folder) => packages.some((name) => existsSync(join(folder, name))));
  if (!files.some((file) => file.includes("browser")) || isThere()) return;
  const isRoot = process.getuid?.() === 0;
  const run = (...args) => spawnSync("apt-get", args, { stdio: ["ignore", 2, 2], env: quietly });
  const quietly = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const install = (name) => run("install", "-y", "--no-install-recommends", name).status === 0;
  if (isRoot && isDebian()) {
    console.error("\nChromium is missing: apt-get installs it, once…\n");
    run("update");
    packages.some(install);
  }
  if (isThere()) return;
  console.error("\n  CHROMIUM MISSING: the tests with a real browser are SKIPPED.");
  console.error("  On Debian, root installs it: apt-get install chromium-headless-shell\n");
}

function isDebian() {
  return (
    existsSync("/etc/os-release") && /^ID=debian$/m.test(readFileSync("/etc/os-release", "utf8"))
  );
}

function nodeStep() {
  const path = join(reports, "node.tap");
  const args = [
    ...["--disable-warning=ExperimentalWarning", "--test", `--test-timeout=${testTimeoutMs}`],
    ...["--test-concurrency=2", "--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=tap", `--test-reporter-destination=${path}`],
  ];
  return { name: "node", args: [...args, ...files], count: () => countTap(path) };
}

function bunStep() {
  const path = join(reports, "bun.xml");
  const args = [
    ...["test", `--timeout=${testTimeoutMs}`, "--parallel=2"],
    ...["--reporter=junit", `--reporter-outfile=${path}`],
  ];
  return { name: "bun", args: [...args, ...files], count: () => countJunit(path) };
}

/** TAP ends with lines such as `# pass 12`. */
function countTap(path) {
  const text = readFileSync(path, "utf8");
  const number = (word) => Number(text.match(new RegExp(`(?<=^# ${word} )\\d+$`, "gm"))?.at(-1));
  return {
    passed: number("pass"),
    failed: number("fail") + number("cancelled"),
    skipped: number("skipped") + number("todo"),
  };
}

/** JUnit has the totals in the attributes of its root element. */
function countJunit(path) {
  const top = /<testsuites [^>]*>/.exec(readFileSync(path, "utf8"))?.[0] ?? "";
  const number = (word) => Number(top.match(`(?<= ${word}=")\\d+`)?.[0]);
  const failed = number("failures");
  const skipped = number("skipped");
  return { passed: number("tests") - failed - skipped, failed, skipped };
}

async function run({ name, args, count }) {
  console.log(`\n── ${name} ${"─".repeat(60 - name.length)}\n`);
  const startedAt = Date.now();
  const child = spawn(join(root, "node_modules/.bin", name), args, {
    cwd: root,
    // Stripping types is most of a process's start on Node, and a hundred processes start here.
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: join(root, "node_modules/.cache/node"),
      ...(isLong && { RESTANTE_TEST_LONG: "1" }),
    },
    stdio: "inherit",
    timeout: stepTimeoutMs,
  });
  const isGood = await new Promise((resolve) => {
    child.on("error", () => resolve(false));
    child.on("exit", (code) => resolve(code === 0));
  });
  const seconds = (Date.now() - startedAt) / 1000;
  return { name, isGood, seconds, counts: count === undefined ? undefined : tally(count, isGood) };
}

/** A runtime that crashed, or failed outside any test, has one failure at least. */
function tally(count, isGood) {
  try {
    const counts = count();
    return isGood ? counts : { ...counts, failed: Math.max(1, counts.failed) };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

function report() {
  const total = { passed: 0, failed: 0, skipped: 0 };
  console.log(`\n${"─".repeat(64)}\n`);
  for (const { name, isGood, seconds, counts } of results) {
    for (const kind in counts) total[kind] += counts[kind];
    const verdict = isGood ? "good" : "FAILED";
    const time = `${seconds.toFixed(1)} s`;
    console.log(`${name.padEnd(8)}${verdict.padEnd(8)}${time.padStart(8)}   ${words(counts)}`);
  }
  console.log(`\n${words(total)}`);
  const isGood = results.every((result) => result.isGood) && total.failed === 0 && total.passed > 0;
  return isGood ? 0 : 1;
}

function words(counts) {
  if (counts === undefined) return "";
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
}
