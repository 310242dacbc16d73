#!/usr/bin/env node
// Starts Restante on the Bun that npm installed with it, or on Node 24 and newer.
// It must run on any Node that npm runs on.

import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src/main.ts");
const main = existsSync(source) ? source : join(root, "dist/main.js");

/** Makes the young generation small: with Node's default, an upload leaves 80 MB of unused buffers. */
const nodeFlags = ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=2"];

/** Bun keeps freed memory for a second. Giving it back at once takes 7 % of the time of a POST. */
const bunVariables = { MIMALLOC_PURGE_DELAY: "1000" };

const [program, ...flags] = chooseRuntime();
const child = spawn(program, [...flags, main, ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { ...bunVariables, ...process.env },
});

// Passes signals on to the server. This process exits when the server has exited.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));

// npx and npm start run a shell in between, which exits on a signal and does not pass it on.
if (process.env.npm_command === "exec" || process.env.npm_package_name === "restante") {
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    child.kill("SIGTERM");
  }, 200);
}

child.on("error", (error) => fail(`${program} does not run: ${error.message}`));
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});

function chooseRuntime() {
  const requested = process.env.RESTANTE_RUNTIME ?? "";
  if (!["", "bun", "node"].includes(requested))
    fail(`RESTANTE_RUNTIME must be bun or node, not ${requested}.`);
  const bun = requested === "node" ? undefined : findBun();
  // With --no-orphans, Bun exits when this process is killed.
  if (bun !== undefined) return [bun, "--no-orphans"];
  if (requested === "bun")
    fail("Bun is not installed here. Run npm install again, with optional packages.");
  if (Number.parseInt(process.versions.node, 10) >= 24) return [process.execPath, ...nodeFlags];
  const prefix = requested === "node" ? "" : "Bun is not installed here, and ";
  return fail(`${prefix}Node ${process.versions.node} is too old: 24 or newer is needed.`);
}

/** Without install scripts, the bun package holds a placeholder, and a helper package the program. */
function findBun() {
  const home = folderOf("bun", require);
  if (home === undefined) return undefined;
  const requireFromBun = createRequire(join(home, "package.json"));
  const helpers = Object.keys(requireFromBun("./package.json").optionalDependencies ?? {})
    .map((name) => folderOf(name, requireFromBun))
    .filter((folder) => folder !== undefined);
  const file = process.platform === "win32" ? "bun.exe" : "bun";
  return [join(home, "bin/bun.exe"), ...helpers.map((folder) => join(folder, "bin", file))].find(
    (path) => (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 1_000_000,
  );
}

function folderOf(name, from) {
  try {
    return dirname(from.resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
