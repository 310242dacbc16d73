// Installs Chromium for the browser tests where this is possible, and says when they are skipped.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";

const packages = ["chromium-headless-shell", "chromium"];

/** Only root on Debian can install it. Elsewhere the browser tests are skipped. */
export function bringChromium() {
  if (isThere()) return;
  if (process.getuid?.() === 0 && isDebian()) {
    console.error("\nChromium is missing: apt-get installs it, once…\n");
    aptGet("update");
    packages.some((name) => aptGet("install", "-y", "--no-install-recommends", name));
  }
  if (isThere()) return;
  console.error("\n  CHROMIUM MISSING: the tests with a real browser are SKIPPED.");
  console.error("  On Debian, root installs it: apt-get install chromium-headless-shell\n");
}

function isThere() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return folders.some((folder) => packages.some((name) => existsSync(join(folder, name))));
}

function isDebian() {
  const file = "/etc/os-release";
  return existsSync(file) && /^ID=debian$/m.test(readFileSync(file, "utf8"));
}

function aptGet(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  return spawnSync("apt-get", args, { stdio: ["ignore", 2, 2], env }).status === 0;
}
