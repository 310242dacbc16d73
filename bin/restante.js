#!/usr/bin/env node
// Starts Restante on the Bun that npm installed with it, or on Node 24 and newer.
// It must run on any Node that npm runs on.

import { spawn } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const root = fileURLToPath(new URL("..", import.meta.url));
const bundle = join(root, "dist/bun/main.js");
const source = join(root, "src/main.ts");
const modules = existsSync(source) ? source : join(root, "dist/main.js");

/** Makes the young generation small: with Node's default, an upload leaves 80 MB of unused buffers. */
const nodeFlags = ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=2"];

/** Bun keeps freed memory for a second. Giving it back at once takes 7 % of the time of a POST. */
const env = { MIMALLOC_PURGE_DELAY: "1000", ...process.env };

const [program, ...flags] = chooseRuntime();
const args = [...flags, ...process.argv.slice(2)];
// Node 22.15 and newer let the server take the place of this process.
if (process.execve === undefined || process.platform === "win32") startBeside();
else process.execve(program, [program, ...args], env);

/** Passes signals on to the server, and exits when the server has exited. */
function startBeside() {
  // With --no-orphans, Bun exits when this process is killed.
  const orphans = program === process.execPath ? [] : ["--no-orphans"];
  const child = spawn(program, [...orphans, ...args], { stdio: "inherit", env });
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"])
    process.on(signal, () => child.kill(signal));
  // npm runs a shell in between, which exits on a signal and does not pass it on.
  if (process.env.npm_command !== undefined) {
    const parent = process.ppid;
    setInterval(() => process.ppid !== parent && child.kill("SIGTERM"), 200);
  }
  child.on("error", (error) => fail(`${program} does not run: ${error.message}`));
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

function chooseRuntime() {
  const requested = process.env.RESTANTE_RUNTIME ?? "";
  if (!["", "bun", "node"].includes(requested))
    fail(`RESTANTE_RUNTIME must be bun or node, not ${requested}.`);
  const bun = requested === "node" ? undefined : findBun();
  if (bun !== undefined) return [bun, isBundled() ? bundle : modules];
  if (requested === "bun")
    fail("Bun is not installed here. Run npm install again, with optional packages.");
  if (Number.parseInt(process.versions.node, 10) >= 24)
    return [process.execPath, ...nodeFlags, modules];
  const prefix = requested === "node" ? "" : "Bun is not installed here, and ";
  return fail(`${prefix}Node ${process.versions.node} is too old: 24 or newer is needed.`);
}

/** A source that is newer than the bundle is not in it. */
function isBundled() {
  const time = (path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = existsSync(source) ? readdirSync(dirname(source), { recursive: true }) : [];
  const newest = Math.max(0, ...sources.map((name) => time(join(root, "src", name))));
  return existsSync(bundle) && newest <= time(bundle);
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
