// Start: from the start of the process to its first answer, and its memory when it idles, beside PocketBase.

import { spawnSync } from "node:child_process";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { bar } from "../progress.ts";
import { median } from "../report/figures.ts";
import { install } from "../servers/install.ts";
import { pocketBaseCommand } from "../servers/peers.ts";
import { type Command, freePort, root, serve } from "../servers/processes.ts";
import { messageOf, type Setting } from "./setting.ts";

export interface StartFigures {
  readonly rounds: number;
  readonly lines: readonly StartLine[];
  /** Why PocketBase is missing. */
  readonly absence?: string;
}

export interface StartLine {
  readonly server: "Restante" | "PocketBase";
  readonly seconds: number;
  readonly processorSeconds: number;
  readonly idleMb: number;
}

interface Program {
  readonly server: StartLine["server"];
  readonly health: string;
  command(folder: string, port: number): Command;
}

/** What `npm start` starts when its set-up has nothing to do. */
const restante: Program = {
  server: "Restante",
  health: "/-/health",
  command: (folder, port) => ({
    command: join(root, "bin/restante"),
    args: ["serve", "--host", "127.0.0.1", "--port", `${port}`, "--data", join(folder, "data")],
    folder,
  }),
};

const idleMs = 3_000;

/** Each start has an empty folder; the servers take turns. */
export async function measureStart({ sizes, withPeers, stores }: Setting): Promise<StartFigures> {
  const { status } = spawnSync("node", [join(root, "scripts/setup.js")]);
  if (status !== 0) throw new Error("the server cannot be bundled");
  const { programs, absence } = withPeers ? await withPocketBase() : { programs: [restante] };
  const rounds = sizes.pace.rounds + 3;
  const show = bar("start", rounds);
  const found = programs.map(({ server }) => ({ server, runs: [] as Omit<StartLine, "server">[] }));
  for (let round = 0; round < rounds; round++) {
    for (const [index, program] of programs.entries())
      found[index]?.runs.push(await startOnce(program, await stores.folder()));
    show(round + 1);
  }
  const lines = found.map(({ server, runs }) => ({
    server,
    seconds: median(runs.map(({ seconds }) => seconds)),
    processorSeconds: median(runs.map(({ processorSeconds }) => processorSeconds)),
    idleMb: median(runs.map(({ idleMb }) => idleMb)),
  }));
  return { rounds, lines, ...(absence !== undefined && { absence }) };
}

async function withPocketBase(): Promise<{
  programs: readonly Program[];
  absence?: string;
}> {
  try {
    const home = await install("pocketbase");
    const command = (folder: string, port: number) => pocketBaseCommand(home, folder, port);
    const peer: Program = { server: "PocketBase", health: "/api/health", command };
    return { programs: [restante, peer] };
  } catch (error) {
    return { programs: [restante], absence: messageOf(error) };
  }
}

async function startOnce(
  { health, command }: Program,
  folder: string,
): Promise<Omit<StartLine, "server">> {
  const port = await freePort();
  const startedAt = performance.now();
  const running = await serve(command(folder, port), port, health);
  try {
    const seconds = (performance.now() - startedAt) / 1_000;
    const processorSeconds = running.processorSeconds();
    await Bun.sleep(idleMs);
    return { seconds, processorSeconds, idleMb: running.memory()?.residentMb ?? Number.NaN };
  } finally {
    await running.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
