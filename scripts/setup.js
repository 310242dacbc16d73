// Prepares a clone: installs the packages of the lock file when they are missing, and checks that they run.
// It must run on any Node that npm runs on. `--dev` adds the packages for tests, builds and benchmarks.

import { spawnSync } from "node:child_process";
import {
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const isDev = process.argv.includes("--dev");
const binaries = join(root, "node_modules/.bin");

/** Programs that must run with `--version`. Only this check notices a missing optional package. */
const tools = isDev ? ["bun", "node", "tsc", "biome"] : ["bun"];

if (!isInstalled()) {
  console.error(`Setting up: npm installs ${isDev ? "Restante's tools" : "Restante"}, once…`);
  install();
  tools.forEach(verify);
}

// A package has both built. The client shares some of its files with the console.
build("console", ["console", "client"]);
// The tests and `npm run dev` start what they need themselves.
if (!isDev) build("bundle", ["src"], "bun/main.js");
link();

/** Runs a script of this folder when an input is newer than what it has built. */
function build(script, folders, output = script) {
  const built = statSync(join(root, "dist", output), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const paths = folders.flatMap((folder) =>
    ["", ...readdirSync(join(root, folder), { recursive: true })]
      .filter((name) => !/^dist\b/.test(name))
      .map((name) => join(root, folder, name)),
  );
  const inputs = [...paths, join(root, "package-lock.json"), join(root, `scripts/${script}.js`)];
  if (inputs.every((path) => statSync(path).mtimeMs <= built)) return;
  const bun = join(binaries, "bun");
  const { status, stderr, error } = spawnSync(bun, [join(root, `scripts/${script}.js`)], {
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status !== 0) fail(`scripts/${script}.js fails: ${error?.message ?? stderr}`);
}

/** Lets the scripts of package.json start `restante` by its name, as in an installed package. */
function link() {
  const isWindows = process.platform === "win32";
  const path = join(binaries, isWindows ? "restante.cmd" : "restante");
  if (existsSync(path)) return;
  // A link that leads nowhere is in the way of a new one.
  rmSync(path, { force: true });
  if (isWindows) writeFileSync(path, '@node "%~dp0\\..\\..\\bin\\restante.js" %*\r\n');
  else symlinkSync("../../bin/restante", path);
}

/**
 * Compares the lock file with the list that npm writes after an install, and with what is there: what removes
 * or replaces packages may have been stopped. Starts no process.
 */
function isInstalled() {
  const wanted = readPackages("package-lock.json");
  const present = readPackages("node_modules/.package-lock.json");
  const isThere = ([path, entry]) =>
    path === "" ||
    (!isDev && (entry.dev || entry.devOptional)) ||
    (present[path] === undefined
      ? entry.optional || entry.devOptional
      : present[path].version === entry.version &&
        present[path].integrity === entry.integrity &&
        existsSync(join(root, path, "package.json")));
  return (
    Object.entries(wanted).every(isThere) &&
    tools.every((name) => existsSync(join(binaries, name))) &&
    isProgram("bun") &&
    (!isDev || isProgram("node"))
  );
}

function readPackages(file) {
  try {
    return JSON.parse(readFileSync(join(root, file), "utf8")).packages;
  } catch {
    return {};
  }
}

/** Without its install script, a runtime's package holds a small placeholder. */
function isProgram(name) {
  const size = statSync(join(binaries, name), { throwIfNoEntry: false })?.size ?? 0;
  return size > 1_000_000;
}

function install() {
  // Hides warnings that this Node is too old for packages which run on Bun.
  const flags = ["--loglevel=error", "--no-audit", "--no-fund", "--include=optional"];
  const { status, error, stdout, stderr } = npm([
    "ci",
    isDev ? "--include=dev" : "--omit=dev",
    ...flags,
  ]);
  if (status === 0) return;
  fail(
    `npm could not install the packages:\n\n${error?.message ?? stdout + stderr}`,
    "The first run needs access to the npm registry. Fix the problem and run the command again.",
  );
}

function npm(args) {
  const cli = process.env.npm_execpath ?? "";
  const options = { cwd: root, encoding: "utf8" };
  if (basename(cli) !== "npm-cli.js")
    return spawnSync("npm", args, { ...options, shell: process.platform === "win32" });
  // Not process.execPath: that may be the Node in node_modules, which the install replaces.
  return spawnSync(process.env.npm_node_execpath ?? process.execPath, [cli, ...args], options);
}

function verify(tool) {
  const { status, stdout, stderr, error } = spawnSync(join(binaries, tool), ["--version"], {
    encoding: "utf8",
    shell: process.platform === "win32",
  });
  if (status !== 0)
    fail(
      `${tool} was installed but does not run: ${error?.message ?? stderr.trim()}`,
      "If npm is set to ignore install scripts, run: npm rebuild bun node --ignore-scripts=false",
    );
  if (tool === "node" && Number(/^v(\d+)/.exec(stdout)?.[1]) < 24)
    fail(`node_modules holds Node ${stdout.trim()}, but 24 or newer is needed.`, "Run: npm ci");
}

function fail(...lines) {
  console.error(`\n${lines.join("\n\n")}\n`);
  process.exit(1);
}
