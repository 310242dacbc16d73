// Other ways in: many resources in one request, and a file of a gigabyte.

import { join } from "node:path";
import { bearer, linesOf, request } from "../data/fill.ts";
import { person } from "../data/records.ts";
import { interleave, type Run } from "../load/interleave.ts";
import { load } from "../load/load.ts";
import { post, probe } from "../load/scenarios.ts";
import { during } from "../progress.ts";
import { faultsIn, type RatePair, ratePair } from "../report/figures.ts";
import { type Memory, node, root, run } from "../servers/processes.ts";
import { linesAtOnce, postLines } from "./post-lines.ts";
import type { Setting } from "./setting.ts";

export interface BodiesFigures {
  /** Resources each second: one a request first, many in one last. */
  readonly many: RatePair;
  readonly faults: readonly string[];
  readonly uploads: readonly Upload[];
}

export interface Upload {
  readonly runtime: "Bun" | "Node";
  readonly bytes: number;
  readonly memory: Memory | undefined;
}

export async function measureBodies(setting: Setting): Promise<BodiesFigures> {
  const many = await measureMany(setting);
  const uploads = [
    await during("uploading on Bun", measureUpload("Bun", setting)),
    await during("uploading on Node", measureUpload("Node", setting)),
  ];
  return { ...many, uploads };
}

async function measureMany({
  stores,
  secret,
  sizes,
}: Setting): Promise<Pick<BodiesFigures, "many" | "faults">> {
  const server = await stores.start(await stores.empty("embedded"));
  try {
    const headers = bearer(secret);
    const ask = post(headers, "/letters", person(1));
    await probe(server.origin, ask);
    const type = { ...headers, "content-type": "application/x-ndjson" };
    const runs: readonly Run[] = [
      (seconds) => load(server.origin, ask, seconds),
      (seconds) =>
        postLines(`${server.origin}/letters`, type, linesOf(person, 1, linesAtOnce), seconds),
    ];
    const [single = [], many = []] = await interleave("many at once", runs, sizes.pace);
    return { many: ratePair(single, many), faults: faultsIn([...single, ...many]) };
  } finally {
    await server.stop();
  }
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
  { stores, secret, sizes }: Setting,
): Promise<Upload> {
  const bytes = sizes.uploadBytes;
  const flags = runtime === "Bun" ? {} : await onNode();
  const server = await stores.start(await stores.empty("embedded"), flags);
  try {
    const type = "multipart/form-data; boundary=-----restante";
    const init = { method: "POST", headers: { ...bearer(secret), "content-type": type } };
    const body = multipart(bytes);
    const text = await request(
      `${server.origin}/files`,
      { ...init, body, timeoutSeconds: 120 },
      201,
    );
    if (!text.includes(`"size":${bytes}`)) throw new Error(`the upload was cut: ${text}`);
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
