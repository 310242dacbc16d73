// Other ways in: many resources in one request, and a file of a gigabyte.

import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Load, Loader } from "./load.ts";
import { interleave, type Pace, type Run } from "./measure.ts";
import { type Memory, node, root, run } from "./processes.ts";
import { person, probe, restanteDialect } from "./scenarios.ts";
import { startRestante } from "./servers.ts";

export interface Bodies {
  /** One resource a request, and many in one; a load for each round, counted in resources. */
  readonly single: readonly Load[];
  readonly many: readonly Load[];
  readonly uploads: readonly Upload[];
}

export interface Upload {
  readonly runtime: "Bun" | "Node";
  readonly bytes: number;
  readonly memory: Memory | undefined;
}

const linesAtOnce = 20_000;

export async function measureBodies(
  workFolder: string,
  secret: string,
  loader: Loader,
  pace: Pace,
  uploadBytes: number,
): Promise<Bodies> {
  const { single, many } = await measureMany(join(workFolder, "many"), secret, loader, pace);
  const uploads = [
    await measureUpload("Bun", join(workFolder, "upload-bun"), secret, uploadBytes),
    await measureUpload("Node", join(workFolder, "upload-node"), secret, uploadBytes),
  ];
  return { single, many, uploads };
}

async function measureMany(
  folder: string,
  secret: string,
  loader: Loader,
  pace: Pace,
): Promise<Pick<Bodies, "single" | "many">> {
  await mkdir(folder);
  const server = await startRestante(folder, secret);
  try {
    const { headers } = restanteDialect(secret, []);
    const ask = {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(person(1)),
      paths: ["/letters"],
      status: 201,
    } as const;
    await probe(server.origin, ask);
    const runs: readonly Run[] = [
      (seconds) => loader.load(server.origin, ask, seconds),
      (seconds) => postLines(`${server.origin}/letters`, headers, seconds),
    ];
    const [single = [], many = []] = await interleave("many at once", runs, pace);
    return { single, many };
  } finally {
    await server.stop();
  }
}

/** One request after another, each with many lines. What is not a 201 makes the figure invalid. */
async function postLines(
  address: string,
  headers: Readonly<Record<string, string>>,
  seconds: number,
): Promise<Load> {
  const body = `${JSON.stringify(person(1))}\n`.repeat(linesAtOnce);
  const startedAt = performance.now();
  const elapsed = () => (performance.now() - startedAt) / 1000;
  let completed = 0;
  let fault: string | undefined;
  do {
    const response = await fetch(address, {
      method: "POST",
      headers: { ...headers, "content-type": "application/x-ndjson" },
      body,
    });
    const made = (await response.text()).split('"status":201').length - 1;
    if (made !== linesAtOnce) fault = `${made} of ${linesAtOnce} lines were created`;
    completed += made;
  } while (elapsed() < seconds);
  return { completed, requestsPerSecond: completed / elapsed(), p50Ms: 0, p99Ms: 0, fault };
}

/** As the package starts it: built, because Node keeps a compiler in memory to run the source. */
async function onNode() {
  await run({ command: node, args: [join(root, "scripts", "build.js")] }, 120);
  const flags = ["--disable-warning=ExperimentalWarning", "--max-semi-space-size=2"];
  return { command: node, main: join(root, "dist", "main.js"), runtime: flags };
}

/** Starts a server that does nothing else, so that its peak is that of the upload. */
async function measureUpload(
  runtime: Upload["runtime"],
  folder: string,
  secret: string,
  bytes: number,
): Promise<Upload> {
  await mkdir(folder);
  const server = await startRestante(folder, secret, runtime === "Bun" ? {} : await onNode());
  try {
    const { headers } = restanteDialect(secret, []);
    const response = await fetch(`${server.origin}/files`, {
      method: "POST",
      headers: { ...headers, "content-type": "multipart/form-data; boundary=-----restante" },
      body: multipart(bytes),
    });
    const text = await response.text();
    if (response.status !== 201 || !text.includes(`"size":${bytes}`))
      throw new Error(`the upload was answered with ${response.status}: ${text.slice(0, 200)}`);
    return { runtime, bytes, memory: server.memory() };
  } finally {
    await server.stop();
  }
}

const chunk = new Uint8Array(1024 * 1024).fill(7);

/** A form with one file, made as it is sent. */
function multipart(bytes: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const head = `-------restante\r\ncontent-disposition: form-data; name="file"; filename="large.bin"\r\ncontent-type: application/octet-stream\r\n\r\n`;
  let left = bytes;
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(head)),
    pull(controller) {
      controller.enqueue(left < chunk.length ? chunk.subarray(0, left) : chunk);
      left -= Math.min(left, chunk.length);
      if (left > 0) return;
      controller.enqueue(encoder.encode("\r\n-------restante--\r\n"));
      controller.close();
    },
  });
}
