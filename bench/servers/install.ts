// The other servers, brought on demand, each into a folder of its own: by npm, or built by Go.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { during } from "../progress.ts";
import { root, run } from "./processes.ts";

interface Package {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly overrides?: Readonly<Record<string, string>>;
}

const packages: Record<"json-server" | "platformatic", Package> = {
  "json-server": { dependencies: { "json-server": "0.17.4" } },
  platformatic: {
    dependencies: { "@platformatic/db": "3.67.0" },
    // The 12 that it asks for has to be compiled in many places, and crashes in Node from 24.19 on.
    overrides: { "better-sqlite3": "13.0.3" },
  },
};

const pocketBase = { module: "github.com/pocketbase/pocketbase", version: "v0.40.4" };
/** The Go that this version of PocketBase asks for; an older Go fetches it. */
const goToolchain = "go1.27.0";

export const peerNames = ["json-server", "platformatic", "pocketbase"] as const;
export type PeerName = (typeof peerNames)[number];

const timeoutSeconds = 600;

/** Its name and version, as in `json-server 0.17.4`. */
export function titleOf(name: PeerName): string {
  if (name === "pocketbase") return `PocketBase ${pocketBase.version.slice(1)}`;
  return Object.entries({ ...packages[name].dependencies, ...packages[name].overrides })
    .map((entry) => entry.join(" "))
    .join(" with ");
}

/** The folder it is installed in. Throws when it cannot be brought. */
export async function install(name: PeerName): Promise<string> {
  const home = join(root, "bench", ".peers", name);
  const wanted = JSON.stringify(name === "pocketbase" ? pocketBase : packages[name]);
  // Only a finished install leaves the mark: one cut short, or an older one, is done again.
  const mark = join(home, "installed.json");
  if ((await readFile(mark, "utf8").catch(() => "")) === wanted) return home;

  await mkdir(home, { recursive: true });
  const work = name === "pocketbase" ? buildWithGo(home) : installWithNpm(home, packages[name]);
  await during(`installing ${titleOf(name)}`, work);
  await writeFile(mark, wanted);
  return home;
}

async function installWithNpm(home: string, content: Package): Promise<void> {
  await writeFile(join(home, "package.json"), JSON.stringify({ private: true, ...content }));
  const flags = ["--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"];
  const args = ["install", ...flags, "--prefix", home];
  const environment = { NODE_ENV: "" };
  await run({ command: "npm", args, environment, folder: home }, timeoutSeconds);
}

/** PocketBase as a program is one of the examples of its module. */
async function buildWithGo(home: string): Promise<void> {
  await run({ command: "go", args: ["version"], folder: home }, 60).catch(() => {
    throw new Error("Go is not installed, and PocketBase is built with it");
  });
  const args = ["install", `${pocketBase.module}/examples/base@${pocketBase.version}`];
  const environment = { GOBIN: home, GOTOOLCHAIN: goToolchain };
  await run({ command: "go", args, environment, folder: home }, timeoutSeconds);
}
