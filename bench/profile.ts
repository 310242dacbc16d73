// Where the time goes: Restante under one kind of load, with Bun's sampling profiler on.

import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { newSecret } from "../src/model/token.ts";
import type { Loader } from "./load.ts";
import { fillFolder } from "./prepare.ts";
import { root } from "./processes.ts";
import { say } from "./progress.ts";
import { peopleCount, phrase, probe, restanteDialect, type Scenario } from "./scenarios.ts";
import { startRestante } from "./servers.ts";

interface CpuProfile {
  readonly nodes: readonly ProfileNode[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

interface ProfileNode {
  readonly id: number;
  readonly callFrame: {
    readonly functionName: string;
    readonly url: string;
    readonly lineNumber: number;
  };
  readonly children?: readonly number[];
}

const seconds = 8;
const shown = 30;

export async function profile(scenario: Scenario, folder: string, loader: Loader): Promise<void> {
  const secret = newSecret();
  const data = join(folder, "data");
  const output = join(folder, "profile");
  await mkdir(output, { recursive: true });
  const dialect = restanteDialect(secret, await fillFolder(data, peopleCount));
  const flags = ["--cpu-prof", `--cpu-prof-dir=${output}`, "--cpu-prof-interval=500"];
  const running = await startRestante(data, secret, { runtime: flags });
  const ask = await phrase(scenario, dialect, running.origin);
  if (typeof ask === "string") throw new Error(ask);
  await probe(running.origin, ask);
  const load = await loader.load(running.origin, ask, seconds);
  await running.stop();
  say(
    `${Math.round(load.requestsPerSecond).toLocaleString("en")} requests per second under the profiler`,
  );
  for (const file of await readdir(output)) {
    const text = await readFile(join(output, file), "utf8");
    say(`\n${file}`);
    process.stdout.write(topSelfTimes(JSON.parse(text) as CpuProfile));
  }
}

/** The functions in which the samples fell, most first. */
function topSelfTimes({ nodes, samples, timeDeltas }: CpuProfile): string {
  const names = namesOf(nodes);
  const selfTimes = new Map<string, number>();
  let total = 0;
  samples.forEach((id, index) => {
    const name = names.get(id) ?? "(unknown)";
    const microseconds = timeDeltas[index] ?? 0;
    selfTimes.set(name, (selfTimes.get(name) ?? 0) + microseconds);
    total += microseconds;
  });
  return [...selfTimes]
    .sort(([, a], [, b]) => b - a)
    .slice(0, shown)
    .map(([name, time]) => `${((100 * time) / total).toFixed(1).padStart(5)} %  ${name}\n`)
    .join("");
}

/** A built-in function has no place of its own and common names, so it is named with its caller. */
function namesOf(nodes: readonly ProfileNode[]): ReadonlyMap<number, string> {
  const callers = new Map<number, ProfileNode>();
  for (const node of nodes) for (const child of node.children ?? []) callers.set(child, node);
  return new Map(
    nodes.map((node) => {
      const caller = callers.get(node.id);
      const isBuiltIn = node.callFrame.url === "" && caller !== undefined;
      return [node.id, isBuiltIn ? `${nameOf(node)} ← ${nameOf(caller)}` : nameOf(node)];
    }),
  );
}

function nameOf({ callFrame: { functionName, url, lineNumber } }: ProfileNode): string {
  const file = url.replace("file://", "").replace(`${root}/`, "");
  return `${functionName || "(anonymous)"}${file === "" ? "" : ` ${file}:${lineNumber + 1}`}`;
}
