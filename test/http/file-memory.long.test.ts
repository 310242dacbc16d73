// A file of 1 GB up and down, in parts too, without more memory than a small one needs.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { pulledStream } from "../../src/lib/pulled-stream.ts";
import { peakBytes, residentBytes } from "../memory.ts";
import { packInto } from "../npm-package.ts";
import { commandOf } from "../process.ts";
import { isLong } from "../seeds.ts";
import { findMinio, minioSecrets, startMinio } from "../store/s3/minio.ts";
import type { Shown } from "./multipart.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";

const mebibyte = 1024 * 1024;
const runtime = "bun" in process.versions ? "bun" : "node";
/** On Bun, runs took 112 to 121 MB on disk. On Node it was 139 to 146, and 165 to 196 on S3. */
const maxMebibytes = { bun: 150, node: 220 } as const;
const pieces = 1024;

const piece = randomBytes(mebibyte);
const sha256 = (() => {
  const hash = createHash("sha256");
  for (let count = 0; count < (isLong ? pieces : 0); count++) hash.update(piece);
  return hash.digest("hex");
})();

async function* content(head = "", tail = ""): AsyncGenerator<Uint8Array> {
  if (head !== "") yield Buffer.from(head);
  for (let count = 0; count < pieces; count++) yield piece;
  if (tail !== "") yield Buffer.from(tail);
}

async function upload(
  server: ServerProcess,
  type: string,
  body: AsyncGenerator<Uint8Array>,
): Promise<Shown> {
  const init = {
    method: "POST",
    headers: { "content-type": type },
    body: pulledStream(body),
    duplex: "half",
  };
  const response = await server.request("/films", init as RequestInit);
  assert.equal(response.status, 201);
  return ((await response.json()) as { file: Shown }).file;
}

/** Returns the hash of what is sent, and its length. */
async function download(server: ServerProcess, url: string, range?: string) {
  const response = await server.request(url, { headers: range === undefined ? {} : { range } });
  const hash = createHash("sha256");
  let length = 0;
  for await (const chunk of response.body ?? []) {
    hash.update(chunk);
    length += chunk.byteLength;
  }
  return { status: response.status, hash: hash.digest("hex"), length };
}

const servers = join(tmpdir(), `restante-servers-${process.pid}`);
after(() => rm(servers, { recursive: true, force: true }));

function unpackInto(folder: string): void {
  mkdirSync(folder);
  execFileSync("tar", ["-xzf", packInto(folder, "restante"), "-C", folder]);
  const dependencies = fileURLToPath(new URL("../../node_modules", import.meta.url));
  symlinkSync(dependencies, join(folder, "node_modules"));
}

/** The package, with the flag of bin/restante.js: the sources take some 60 MB more on Node. */
async function startAsShipped(
  folder: string,
  environment: Readonly<Record<string, string>>,
): Promise<ServerProcess> {
  const program = join(servers, "package/dist/main.js");
  if (!existsSync(program)) unpackInto(servers);
  const flags = { NODE_OPTIONS: "--max-semi-space-size=2" };
  return startServerProcess(folder, { ...environment, ...flags }, commandOf(program));
}

/** Sends a file and a form, reads both and two ranges. Returns what each step took. */
async function upAndDown(server: ServerProcess): Promise<readonly string[]> {
  await server.post("films", {});
  const report: string[] = [];
  const inMebibytes = (bytes: number) => `${Math.round(bytes / mebibyte)} MB`;
  const note = async (what: string) => {
    const [peak, now] = [await peakBytes(server.pid), await residentBytes(server.pid)];
    report.push(`${what}: ${inMebibytes(peak)} at most, ${inMebibytes(now)} now`);
  };
  await note("idle");
  const single = await upload(server, "video/mp4", content());
  await note("single file up");
  const head = `--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`;
  const formType = "multipart/form-data; boundary=b";
  const inForm = await upload(server, formType, content(head, "\r\n--b--\r\n"));
  await note("form up");
  for (const { url, sha256: stored, size } of [single, inForm]) {
    assert.deepEqual([stored, size], [sha256, pieces * mebibyte]);
    const { hash, length } = await download(server, url);
    assert.deepEqual([hash, length], [sha256, size]);
  }
  await note("down");
  const half = (pieces * mebibyte) / 2;
  const parts = await download(server, single.url, `bytes=0-${half - 1},${half + 1}-`);
  assert.equal(parts.status, 206);
  assert.ok(parts.length > 2 * half - 1);
  await note("two ranges down");
  return report;
}

async function measure(
  place: "disk" | "S3",
  environment: Readonly<Record<string, string>> = {},
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "restante-"));
  const server = await startAsShipped(folder, environment);
  try {
    const report = (await upAndDown(server)).join("\n");
    console.log(`${place}\n${report}`);
    const most = maxMebibytes[runtime] * mebibyte;
    assert.ok((await peakBytes(server.pid)) <= most, report);
  } finally {
    await server.end("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  }
}

describe("a file of 1 GB", { skip: !isLong && "only in npm run test:long" }, () => {
  it("needs little memory, up and down, on disk", () => measure("disk"));

  it("needs little memory, up and down, on S3", async (test) => {
    const program = findMinio();
    if (program === undefined) return test.skip("there is no MinIO, and Go cannot build it");
    const minio = await startMinio(program);
    try {
      await measure("S3", { ...minioSecrets, RESTANTE_FILES: minio.url("memory/") });
    } finally {
      await minio.stop();
    }
  });
});
