// Measures the disk and a server of this program on this machine: single requests, lists and durable writes.

import { rmSync } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { CountedUnit, Track } from "../backup/track.ts";
import { runtimeVersion, version } from "../lib/program.ts";
import { measureSyncs } from "./disk.ts";
import type { Summary } from "./latencies.ts";
import { load } from "./load.ts";
import { BenchServer } from "./server.ts";

export interface Measured extends Summary {
  /** The processor time of the server for each request. */
  readonly cpuMicroseconds: number;
}

export interface BenchReport {
  readonly version: string;
  readonly runtime: string;
  readonly cores: number;
  readonly sync: Summary;
  readonly get: Measured;
  readonly list: Measured;
  /** One client that waits for each response. */
  readonly postAlone: Measured;
  readonly post: Measured;
  readonly memoryBytes: number;
  readonly resources: number;
  /** Of the database with its indexes, for each resource. */
  readonly bytesPerResource: number;
  readonly bodyBytes: number;
}

export const manyClients = 64;
const pageSize = 20;

const body = JSON.stringify({
  name: "Ada Lovelace",
  email: "ada@example.com",
  city: "London",
  tags: ["mathematics", "engines"],
  text: "a resource of about two hundred bytes, as an application has many of",
});

export interface BenchOptions {
  /** A new folder is made in it, and removed at the end. */
  readonly parent: string;
  readonly seconds: number;
  readonly track: Track;
  /** Ends it at once: the server is killed and the folder removed. */
  readonly signal: AbortSignal;
}

export async function runBench(options: BenchOptions): Promise<BenchReport> {
  const folder = await mkdtemp(join(options.parent, "restante-bench-"));
  options.signal.addEventListener("abort", () => rmSync(folder, { recursive: true, force: true }));
  try {
    const sync = await tracked(options, "sync of 4 KiB", "syncs", (count) =>
      measureSyncs(folder, options.seconds * 100, count),
    );
    const server = await BenchServer.start(folder, options.signal);
    const measured = await measureServer(server, options).finally(() => server.stop());
    // A server that stops writes the WAL into the database.
    const { size } = await stat(join(folder, "restante.db"));
    const bytesPerResource = Math.round(size / measured.resources);
    const machine = { version, runtime: runtimeVersion(), cores: availableParallelism() };
    return { ...machine, sync, ...measured, bytesPerResource, bodyBytes: body.length };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Half of the time is for writes, because they depend most on the machine. */
async function measureServer(server: BenchServer, options: BenchOptions) {
  const paths: string[] = [];
  const keepPath = (head: string) => {
    const path = /\r\nlocation: (\S+)/i.exec(head)?.[1];
    if (path !== undefined) paths.push(path);
  };
  const run = (title: string, clients: number, part: number, requests: Requests) =>
    tracked(options, title, "requests", (count) =>
      measure(server, { ...requests, clients, ms: options.seconds * part * 1_000, count }),
    );
  const request = requestsTo(server);
  const create = { next: () => request("POST", "/people", body), status: 201, onHead: keepPath };
  const postAlone = await run("POST, 1 client", 1, 0.15, create);
  const post = await run(`POST, ${manyClients} clients`, manyClients, 0.35, create);
  const anyPath = () => paths[Math.floor(Math.random() * paths.length)] ?? "";
  const read = { next: () => request("GET", anyPath()), status: 200 };
  const get = await run("GET one", manyClients, 0.2, read);
  const pages = Math.ceil(paths.length / pageSize);
  const anyPage = () => `/people?limit=${pageSize}&page=${1 + Math.floor(Math.random() * pages)}`;
  const readPage = { next: () => request("GET", anyPage()), status: 200 };
  const list = await run(`list of ${pageSize}`, manyClients, 0.2, readPage);
  const { memoryBytes } = await server.meters();
  return { get, list, postAlone, post, memoryBytes, resources: paths.length };
}

async function tracked<T>(
  { track }: BenchOptions,
  title: string,
  unit: CountedUnit,
  act: (count: () => void) => Promise<T>,
): Promise<T> {
  const step = track(title, { unit });
  const result = await act(() => step.add(1));
  step.done();
  return result;
}

interface Requests {
  readonly next: () => string;
  readonly status: number;
  readonly onHead?: (head: string) => void;
}

interface Run extends Requests {
  readonly clients: number;
  readonly ms: number;
  readonly count: () => void;
}

/** The first fifth of the time warms up and does not count. */
async function measure(server: BenchServer, run: Run): Promise<Measured> {
  let requests = 0;
  const send = (part: number) =>
    load({
      ...{ port: server.port, connections: run.clients, ms: run.ms * part },
      ...{ next: run.next, status: run.status },
      onResponse: (head) => {
        requests++;
        run.count();
        run.onHead?.(head);
      },
    });
  await send(0.2);
  requests = 0;
  const before = await server.meters();
  const summary = await send(0.8);
  const cpuSeconds = (await server.meters()).cpuSeconds - before.cpuSeconds;
  return { ...summary, cpuMicroseconds: (cpuSeconds / requests) * 1_000_000 };
}

function requestsTo({ port, secret }: BenchServer) {
  const fields = `host: 127.0.0.1:${port}\r\nauthorization: Bearer ${secret}\r\n`;
  return (method: string, path: string, content?: string): string => {
    const about =
      content === undefined
        ? ""
        : `content-type: application/json\r\ncontent-length: ${content.length}\r\n`;
    return `${method} ${path} HTTP/1.1\r\n${fields}${about}\r\n${content ?? ""}`;
  };
}
