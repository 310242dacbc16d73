// The peers and the second choice of loader, brought by npm on demand, each into a folder of its own.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { root, run } from "./processes.ts";
import { during } from "./progress.ts";

interface Package {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
}

const packages: Record<"json-server" | "platformatic" | "autocannon", Package> = {
  "json-server": { dependencies: { "json-server": "0.17.4" } },
  platformatic: {
    dependencies: { "@platformatic/db": "3.67.0" },
    // The 12 that it asks for has to be compiled in many places, and crashes in Node from 24.19 on.
    overrides: { "better-sqlite3": "13.0.3" },
  },
  autocannon: { dependencies: { autocannon: "8.0.0" } },
};

export type Installable = keyof typeof packages;

const timeoutSeconds = 600;

/** Its name and version, as in `autocannon 8.0.0`. */
export const titleOf = (name: Installable): string =>
  Object.entries({ ...packages[name].dependencies, ...packages[name].overrides })
    .map((entry) => entry.join(" "))
    .join(" with ");

/** The folder it is installed in. Throws when npm cannot bring it. */
export async function install(name: Installable): Promise<string> {
  const home = join(root, "bench", ".peers", name);
  const wanted = JSON.stringify({ private: true, ...packages[name] });
  // Only a finished install leaves the mark: one cut short, or an older one, is done again.
  const mark = join(home, "installed.json");
  if ((await readFile(mark, "utf8").catch(() => "")) === wanted) return home;

  await mkdir(home, { recursive: true });
  await writeFile(join(home, "package.json"), wanted);
  const flags = ["--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
  const args = ["install", ...flags, "--prefix", home];
  const environment = { NODE_ENV: "" };
  const work = run({ command: "npm", args, environment, folder: home }, timeoutSeconds);
  await during(`installing ${titleOf(name)}`, work);
  await writeFile(mark, wanted);
  return home;
}
