// Overload: half-sent bodies and clients that do not read use bounded memory, and other clients are served.
// Needs Linux, because it reads the memory of a process.
// @process own

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import * as zlib from "node:zlib";
import { newSecret } from "../../src/model/secret.ts";
import { peakBytes, residentBytes } from "../memory.ts";
import { type ServerProcess, start } from "../process.ts";
import { isLong, runs } from "../seeds.ts";

const mebibyte = 1024 * 1024;
const budgetBytes = runs(32, 256) * mebibyte;
/**
 * What is counted is there more than once while it is worked on (bytes, text, what is written), a
 * runtime frees memory late, and SQLite and the program take theirs.
 */
const allowedGrowth = 3 * budgetBytes + 256 * mebibyte;

const secret = newSecret();
let folder: string;
let server: ServerProcess;
const sockets = new Set<Socket>();

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  const flags = ["--data", "data", "--log-level", "warn"];
  const limits = ["--max-in-flight-bytes", `${budgetBytes}`, "--max-body-bytes", `${8 * mebibyte}`];
  server = await start([...flags, ...limits, "--log-level", "info"], {
    cwd: folder,
    environment: { RESTANTE_ADMIN_TOKEN: secret },
  });
  await ask("/people/ada", "PUT", { "content-type": "application/json" }, '{"name":"Ada"}');
  const text = "x".repeat(100_000);
  const lines = `${JSON.stringify({ text })}\n`.repeat(50);
  await ask("/large", "POST", { "content-type": "application/x-ndjson" }, lines);
  const file = Buffer.alloc(8 * mebibyte, 1);
  const { headers } = await ask("/files", "POST", { "content-type": "image/x-any" }, file);
  filePath = `${headers.get("location")}/file`;
});
let filePath: string;
after(async () => {
  leave();
  server.signal("SIGTERM");
  await server.ended;
  await rm(folder, { recursive: true, force: true });
});

async function ask(
  path: string,
  method = "GET",
  headers: Record<string, string> = {},
  body?: string | Buffer,
): Promise<Response> {
  const authorization = `Bearer ${secret}`;
  const init = { method, headers: { ...headers, authorization }, ...(body && { body }) };
  const response = await fetch(server.url + path, init as RequestInit);
  await response.arrayBuffer();
  return response;
}

/** Opens a connection, sends this, and reads only what `onData` wants. */
function open(head: string, body: Uint8Array, onData?: (text: string) => void): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(server.port, new URL(server.url).hostname);
    sockets.add(socket);
    if (onData === undefined) socket.pause();
    else socket.on("data", (data) => onData(data.toString("latin1")));
    socket.on("error", () => resolve());
    socket.on("close", () => {
      sockets.delete(socket);
      resolve();
    });
    const fields = `Host: localhost\r\nAuthorization: Bearer ${secret}`;
    const message = Buffer.concat([Buffer.from(`${head}\r\n${fields}\r\n\r\n`), body]);
    socket.write(message, () => resolve());
  });
}

function leave(): void {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
}

/** Reads a resource repeatedly until the attack ends; all reads must succeed. */
async function behave(attack: Promise<unknown>): Promise<number> {
  let isOver = false;
  void attack.finally(() => (isOver = true));
  let count = 0;
  while (!isOver || count < 20) {
    assert.equal((await ask("/people/ada")).status, 200);
    assert.equal((await ask("/-/health")).status, 200);
    assert.equal((await ask("/people?limit=20")).status, 200);
    const post = await ask("/people", "POST", { "content-type": "application/json" }, "{}");
    assert.equal(post.status, 201);
    count++;
  }
  await attack;
  return count;
}

/** When a runtime frees memory depends on the machine, so that only the long run looks at it. */
async function assertBounded(before: number): Promise<void> {
  if (!isLong) return;
  const growth = (await peakBytes(server.pid)) - before;
  const reported = `grew by ${Math.round(growth / mebibyte)} MiB of ${allowedGrowth / mebibyte} MiB`;
  console.log(reported);
  assert.ok(growth < allowedGrowth, reported);
}

/** The beginning of the response that was not read yet. */
function statusOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    socket.once("data", (data) => {
      socket.pause();
      resolve(data.toString("latin1").slice("HTTP/1.1 ".length, "HTTP/1.1 200".length));
    });
    socket.resume();
  });
}

/** When those who held it have left, there is room again. */
async function assertRecovers(): Promise<void> {
  leave();
  while ((await ask("/large?limit=50")).status !== 200);
}

/** Half of 8 MiB, so that no body is ever whole. */
const half = Buffer.alloc(4 * mebibyte, "a");
const chunkOf = (bytes: Uint8Array) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from("\r\n")]);
const json = Buffer.concat([Buffer.from('{"a":"'), half]);
const incompressible = Buffer.from(crypto.getRandomValues(new Uint8Array(65_536)));
const mixed = Buffer.concat(
  Array.from({ length: 64 }, (_, index) => Buffer.concat([incompressible, Buffer.from([index])])),
);

const quick = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } };

const length = `Content-Length: ${7 * mebibyte}`;
const chunked = "Transfer-Encoding: chunked";
const bodies: Readonly<Record<string, readonly [head: string, body: Uint8Array]>> = {
  "JSON of a known length": [`Content-Type: application/json\r\n${length}`, json],
  "JSON in chunks": [`Content-Type: application/json\r\n${chunked}`, chunkOf(json)],
  "a form": [`Content-Type: application/x-www-form-urlencoded\r\n${length}`, half],
  "a text of a multipart form": [
    `Content-Type: multipart/form-data; boundary=b\r\n${length}`,
    Buffer.concat([Buffer.from('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n'), half]),
  ],
  "a line of NDJSON": [`Content-Type: application/x-ndjson\r\n${chunked}`, chunkOf(json)],
  "JSON in gzip": [
    `Content-Type: application/json\r\nContent-Encoding: gzip\r\n${chunked}`,
    chunkOf(zlib.gzipSync(mixed).subarray(0, -100)),
  ],
  "JSON in br": [
    `Content-Type: application/json\r\nContent-Encoding: br\r\n${chunked}`,
    chunkOf(zlib.brotliCompressSync(mixed, quick).subarray(0, -100)),
  ],
  "a file in zstd": [
    `Content-Type: image/x-any\r\nContent-Encoding: zstd\r\n${chunked}`,
    chunkOf(zlib.zstdCompressSync(mixed).subarray(0, -100)),
  ],
};

describe("half-sent bodies", { skip: process.platform !== "linux" }, () => {
  const perKind = runs(10, 75);
  it(`of every kind, ${perKind} of each, use bounded memory and get 503`, async () => {
    const before = await residentBytes(server.pid);
    const statuses = new Map<string, number>();
    const attack = (async () => {
      for (let count = 0; count < perKind; count++) {
        const all = Object.values(bodies).map(([head, body]) =>
          open(`POST /posted HTTP/1.1\r\n${head}`, body, (text) => {
            const [, status] = /^HTTP\/1\.1 (\d+)/.exec(text) ?? [];
            if (status !== undefined) statuses.set(status, (statuses.get(status) ?? 0) + 1);
          }),
        );
        await Promise.race([Promise.all(all), ask("/-/ready")]);
      }
      // More was sent than there is room for.
      while (!statuses.has("503")) await ask("/-/health");
      // When nothing changes any more, every body has arrived as far as it will, or was rejected.
      for (let rest = 0; rest < 50; rest++) await ask("/-/health");
    })();
    await behave(attack);
    await assertBounded(before);
    await assertRecovers();
  });
});

describe("clients that do not read", { skip: process.platform !== "linux" }, () => {
  const perKind = runs(20, 250);
  const paths = () => ["/large?limit=50", "/large?since=0&limit=50", "/large", filePath];
  it(`${perKind} of each kind, use bounded memory`, async () => {
    const before = await residentBytes(server.pid);
    const attack = (async () => {
      for (let count = 0; count < perKind; count++) {
        const [list = "", feed = "", whole = "", file = ""] = paths();
        await open(`GET ${list} HTTP/1.1`, Buffer.alloc(0));
        await open(`GET ${feed} HTTP/1.1`, Buffer.alloc(0));
        await open(`GET ${whole} HTTP/1.1\r\nAccept: application/x-ndjson`, Buffer.alloc(0));
        await open(`GET ${file} HTTP/1.1`, Buffer.alloc(0));
        await open(`GET ${list} HTTP/1.1\r\nAccept-Encoding: gzip`, Buffer.alloc(0));
      }
      for (let rest = 0; rest < 20; rest++) await ask("/-/health");
    })();
    await behave(attack);
    await assertBounded(before);
    const statuses = new Set(await Promise.all([...sockets].map(statusOf)));
    // A query that waits too long is 504.
    statuses.delete("504");
    assert.deepEqual([...statuses].toSorted(), ["200", "503"]);
    await assertRecovers();
  });
});
