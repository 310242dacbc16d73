#!/usr/bin/env node
// Starts Restante on the Bun that npm installed with it, or on Node 24 and newer.
// Runs on the oldest Node that npm comes with.

import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src/main.ts");
const main = existsSync(source) ? source : join(root, "dist/main.js");

/** A small young generation: with Node's own, an upload leaves 80 MB of buffers lying about. */
const nodeFlags = ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=2"];

const [program, ...flags] = chooseRuntime();
const child = spawn(program, [...flags, main, ...process.argv.slice(2)], { stdio: "inherit" });

// Whoever stops this process means the server; it ends when the server has.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));

// npx and npm start put a shell in between, which a signal ends without being passed on.
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
  const wish = process.env.RESTANTE_RUNTIME ?? "";
  if (!["", "bun", "node"].includes(wish))
    fail(`RESTANTE_RUNTIME must be bun or node, not ${wish}.`);
  const bun = wish === "node" ? undefined : findBun();
  // Should this process be killed without a chance to pass it on, Bun notices and ends too.
  if (bun !== undefined) return [bun, "--no-orphans"];
  if (wish === "bun")
    fail("Bun is not installed here. Run npm install again, with optional packages.");
  if (Number.parseInt(process.versions.node, 10) >= 24) return [process.execPath, ...nodeFlags];
  const lack = wish === "node" ? "" : "Bun is not installed here, and ";
  return fail(`${lack}Node ${process.versions.node} is too old: 24 or newer is needed.`);
}

/** Where install scripts may not run, Bun's package holds a placeholder; its helper, the program. */
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
