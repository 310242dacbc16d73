// Measures the disk of a folder and a server on it, and says what to expect of this machine.

import { rmSync } from "node:fs";
import { mkdir, mkdtemp, stat } from "node:fs/promises";
import { join } from "node:path";
import { newSecret } from "../src/model/secret.ts";
import { bearer, readIds, totalOf } from "./data/fill.ts";
import { pageLimit, person } from "./data/records.ts";
import { type Ask, defaultConnections, load } from "./load/load.ts";
import { askOf, peopleCount, post, restanteApi, type Scenario } from "./load/scenarios.ts";
import { fsyncLatency } from "./servers/machine.ts";
import type { Running } from "./servers/processes.ts";
import { startRestante } from "./servers/restante.ts";

const count = (value: number): string => Math.round(value).toLocaleString("en");
const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : 0)} ms`;

function row(name: string, ...cells: readonly string[]): void {
  console.log(name.padEnd(18) + cells.map((cell) => cell.padStart(12)).join(""));
}

/** Works in a new folder there, which is removed at the end. */
export async function measureHere(parent: string, seconds: number): Promise<void> {
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(join(parent, "restante-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const { medianMs, p99Ms } = fsyncLatency(folder);
  row("", "a second", "p50", "p99", "processor");
  row("sync of 4 KiB", count(1_000 / medianMs), ms(medianMs), ms(p99Ms));

  const secret = newSecret();
  const server = await startRestante(folder, secret);
  const create = post(bearer(secret), "/people", person(1));
  // Most of the time is for writes, because they depend most on the machine.
  await measure(server, "POST, 1 client", create, seconds * 0.2, 1);
  await measure(server, `POST, ${defaultConnections} clients`, create, seconds * 0.4);
  const total = await totalOf(server.origin, bearer(secret), "people");
  const ids = await readIds(server.origin, bearer(secret), "people", peopleCount);
  const ask = async (scenario: Scenario): Promise<Ask> => {
    const asked = await askOf(scenario, restanteApi(secret, ids, total), server.origin);
    if (typeof asked === "string") throw new Error(asked);
    return asked;
  };
  await measure(server, "GET one at random", await ask("random"), seconds * 0.2);
  await measure(server, `page of ${pageLimit}`, await ask("page"), seconds * 0.2);
  const memory = server.memory();
  await server.stop();

  // A server that stops writes the WAL into the database.
  const { size } = await stat(join(folder, "restante.db"));
  if (memory !== undefined)
    console.log(`\nThe server uses ${count(memory.residentMb)} MB of memory.`);
  console.log(`A resource takes ${count(size / total)} bytes on disk.`);
  if (medianMs < 0.03)
    console.log(
      "A sync takes too little time for a disk. Does the folder survive a power failure?",
    );
}

async function measure(
  server: Running,
  name: string,
  ask: Ask,
  seconds: number,
  connections = defaultConnections,
): Promise<void> {
  await load(server.origin, ask, seconds * 0.2, { connections });
  const before = server.processorSeconds();
  const found = await load(server.origin, ask, seconds * 0.8, { connections });
  if (found.fault !== undefined) throw new Error(`${name}: ${found.fault}`);
  const microseconds = ((server.processorSeconds() - before) / found.completed) * 1e6;
  // Only Linux tells the time of a process.
  const processor = Number.isNaN(microseconds) ? [] : [`${count(microseconds)} µs`];
  row(name, count(found.requestsPerSecond), ms(found.p50Ms), ms(found.p99Ms), ...processor);
}
