// Packs the two packages as npm would publish them, and installs them.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const quiet = ["--loglevel=error", "--no-audit", "--no-fund"];

export function npm(cwd: string, args: readonly string[], env = {}) {
  const cli = process.env.npm_execpath;
  const options = { cwd, encoding: "utf8", env: { ...process.env, ...env } } as const;
  return cli === undefined
    ? spawnSync("npm", args, options)
    : spawnSync(process.execPath, [cli, ...args], options);
}

/** Builds what is older than its sources. */
export function buildPackages(): void {
  const unlock = lock(join(root, "node_modules/.cache/packing"));
  try {
    const built = spawnSync("node", [join(root, "scripts/build.js")], { encoding: "utf8" });
    assert.equal(built.status, 0, built.stdout + built.stderr);
  } finally {
    unlock();
  }
}

/** Returns the path of the packed file. */
export function packInto(folder: string, name: "restante" | "restante-client"): string {
  buildPackages();
  const source = name === "restante" ? root : join(root, "client");
  const args = ["pack", "--ignore-scripts", "--pack-destination", folder, ...quiet];
  const packed = npm(source, args);
  assert.equal(packed.status, 0, packed.stdout + packed.stderr);
  return join(folder, `${name}-${version}.tgz`);
}

/** Returns why nothing can be installed, or false when it is. */
export function install(project: string, ...packages: readonly string[]): string | false {
  const { status, stderr } = npm(project, ["install", ...packages, ...quiet]);
  if (/ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENOTCACHED/.test(stderr))
    return "THE NPM REGISTRY IS OUT OF REACH: the package was not tested";
  assert.equal(status, 0, stderr);
  return false;
}

/** Waits for its turn: several test files build. */
function lock(path: string): () => void {
  mkdirSync(dirname(path), { recursive: true });
  while (!isLocked(path)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  return () => rmSync(path);
}

function isLocked(path: string): boolean {
  try {
    writeFileSync(path, `${process.pid}`, { flag: "wx" });
    return true;
  } catch {
    if (!isRunning(path)) rmSync(path, { force: true });
    return false;
  }
}

/** Whether the process whose number is in a file runs. */
function isRunning(path: string): boolean {
  try {
    return process.kill(Number(readFileSync(path, "utf8")), 0);
  } catch {
    return false;
  }
}
