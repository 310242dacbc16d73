// Packs this package as npm would publish it, and installs it.

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

/** Returns the path of the packed file. */
export function packInto(folder: string): string {
  const unlock = lock(join(root, "node_modules/.cache/packing"));
  try {
    const packed = npm(root, ["pack", "--pack-destination", folder, ...quiet]);
    assert.equal(packed.status, 0, packed.stdout + packed.stderr);
  } finally {
    unlock();
  }
  return join(folder, `restante-${version}.tgz`);
}

/** Returns why nothing can be installed, or false when it is. */
export function installPackage(project: string, packed: string): string | false {
  const { status, stderr } = npm(project, ["install", packed, ...quiet]);
  if (/ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENOTCACHED/.test(stderr))
    return "THE NPM REGISTRY IS OUT OF REACH: the package was not tested";
  assert.equal(status, 0, stderr);
  return false;
}

/** Waits for its turn: packing builds dist/ again, and two test files pack. */
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
