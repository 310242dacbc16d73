// Where the time goes: Restante under one kind of load, with Bun's sampling profiler on.

import { readdir, readFile } from "node:fs/promises";
import type { Stores } from "./data/stores.ts";
import { load } from "./load/load.ts";
import { askOf, peopleCount, probe, restanteApi, type Scenario } from "./load/scenarios.ts";
import { fillPeople } from "./parts/speed.ts";
import { say } from "./progress.ts";
import { root } from "./servers/processes.ts";

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

export async function profile(scenario: Scenario, stores: Stores, secret: string): Promise<void> {
  const output = await stores.folder();
  const flags = ["--cpu-prof", `--cpu-prof-dir=${output}`, "--cpu-prof-interval=500"];
  const running = await stores.start(await stores.empty("embedded"), { runtime: flags });
  const ids = await fillPeople(running, secret, peopleCount);
  const ask = await askOf(scenario, restanteApi(secret, ids), running.origin);
  if (typeof ask === "string") throw new Error(ask);
  await probe(running.origin, ask);
  const { requestsPerSecond } = await load(running.origin, ask, seconds);
  await running.stop();
  say(
    `${Math.round(requestsPerSecond).toLocaleString("en")} requests per second under the profiler`,
  );
  for (const file of await readdir(output)) {
    const text = await readFile(`${output}/${file}`, "utf8");
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
