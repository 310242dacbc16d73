// A real browser, where the machine has one.

import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Browser } from "playwright-core";

/** As Debian and others call it. */
const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** What never comes ends a test, however slow the machine is. */
export const patienceMs = 300_000;

/** Where it is; undefined where there is none. */
export function findChromium(): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isProgram);
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** It connects only to the pages of the test. As root it has no sandbox. */
export async function startChromium(executablePath: string): Promise<Browser> {
  // Loading it takes over a second, which is wasted where there is no browser.
  const { chromium } = await import("playwright-core");
  const args = [
    ...["--disable-background-networking", "--disable-component-update", "--no-first-run"],
    ...["--disable-sync", "--disable-domain-reliability", "--disable-dev-shm-usage"],
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
  ];
  const chromiumSandbox = process.getuid?.() !== 0;
  // In another locale it renames downloads whose names are not ASCII.
  const env = { ...process.env, LANG: "C.UTF-8", LC_ALL: "C.UTF-8" };
  return chromium.launch({ executablePath, args, chromiumSandbox, headless: true, env });
}
