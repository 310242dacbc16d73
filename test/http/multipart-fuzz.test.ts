// Random multipart streams over raw sockets: each is 201 or 4xx, and leaves exactly what the 201 says.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { brotliCompressSync, gzipSync, zstdCompressSync } from "node:zlib";
import { openConnection, type RawConnection } from "../runtime/raw-connection.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { filesIn, hashOf, type Shown } from "./multipart.ts";
import {
  Chance,
  contentType,
  type GeneratedBody,
  generateBody,
  mutate,
} from "./multipart-generator.ts";

let app: TestApp;
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  app = await startApp({ files: folder, maxBodyBytes: 20_000 });
  // Creating is public, so that only the parser rejects a request.
  await new Client(app).put("/-/collections/drop", {
    access: { create: "public", read: "public" },
  });
});
after(async () => {
  await app.stop();
  await rm(folder, { recursive: true, force: true });
});

const chunkOf = (piece: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from("\r\n")]);

/** The request as bytes: with a length, or in random chunks. */
function requestOf(chance: Chance, boundary: string, body: Buffer, coding: string): Buffer {
  const isChunked = chance.of(0.5);
  const framing = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`;
  const fields = [
    "Host: localhost",
    `Content-Type: ${contentType(boundary)}`,
    `Content-Encoding: ${coding}`,
    framing,
  ];
  const content = isChunked
    ? [...chance.pieces(body, 1_000).map(chunkOf), Buffer.from("0\r\n\r\n")]
    : [body];
  const head = Buffer.from(`POST /drop HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`);
  return Buffer.concat([head, ...content]);
}

/** Writes the bytes in up to five segments. */
async function writeInSegments(chance: Chance, wire: RawConnection, bytes: Buffer): Promise<void> {
  const cuts = Array.from({ length: chance.below(5) }, () => chance.below(bytes.length));
  const edges = [0, ...cuts.sort((one, other) => one - other), bytes.length];
  for (const [index, end] of edges.entries()) {
    wire.write(bytes.subarray(edges[index - 1] ?? 0, end));
    await nextTurn();
  }
}

const encoders = {
  identity: (body: Buffer) => body,
  gzip: (body: Buffer) => gzipSync(body),
  br: (body: Buffer) => brotliCompressSync(body),
  zstd: (body: Buffer) => zstdCompressSync(body),
} as const;

interface Encoded {
  readonly body: Buffer;
  readonly coding: keyof typeof encoders;
}

/** The body as it is sent: as it is, changed, encoded, or encoded and changed. */
function encoded(chance: Chance, generated: GeneratedBody, isMutated: boolean): Encoded {
  const coding = chance.pick(["identity", "identity", "identity", "gzip", "br", "zstd"] as const);
  const encode = encoders[coding];
  if (!isMutated) return { body: encode(generated.body), coding };
  const isChangedBefore = chance.of(0.7);
  return isChangedBefore
    ? { body: encode(mutate(chance, generated)), coding }
    : { body: mutate(chance, { ...generated, body: encode(generated.body) }), coding };
}

type Created = Readonly<Record<string, unknown>> & { readonly id: string };

/** The new resource, the status of an error, or undefined when the client disconnected too early. */
async function attempt(
  chance: Chance,
  { boundary }: GeneratedBody,
  { body, coding }: Encoded,
  label: string,
): Promise<Created | number | undefined> {
  const whole = requestOf(chance, boundary, body, coding);
  const isCutOff = chance.of(0.15);
  // At most all but the last chunk, or the last byte of a known length.
  const bytes = isCutOff ? whole.subarray(0, chance.below(whole.length - 5)) : whole;
  const wire = await openConnection(app.port);
  await writeInSegments(chance, wire, bytes);
  if (isCutOff) {
    wire[chance.pick(["destroy", "reset", "halfClose"] as const)]();
    await nextTurn();
    wire.destroy();
    return undefined;
  }
  const response = await wire.response();
  wire.destroy();
  assert.ok(response !== undefined, `${label}: no answer`);
  const { status, body: answer } = response;
  assert.ok(status === 201 || (status >= 400 && status < 500), `${label}: ${status} ${answer}`);
  return status === 201 ? (JSON.parse(answer) as Created) : status;
}

const isShown = (value: unknown): value is Shown =>
  typeof value === "object" && value !== null && "sha256" in value;
const shownIn = (resource: Created): readonly Shown[] =>
  Object.values(resource).flat().filter(isShown);

/** The resource must hold the texts and the files that were sent, byte for byte. */
function assertHolds(resource: Created, { texts, files }: GeneratedBody, label: string): void {
  for (const [name, value] of texts) assert.equal(resource[name], value, label);
  for (const { field, name, bytes } of files) {
    const shown = resource[field] as Shown;
    assert.deepEqual(
      [shown.name, shown.size, shown.sha256],
      [name, bytes.length, hashOf(bytes)],
      label,
    );
  }
  const members = Object.keys(resource).filter((name) => /^[tf]\d$/.test(name));
  assert.equal(members.length, texts.length + files.length, label);
}

/** Resolves when there are so many files: those of clients that have left are removed a moment later. */
async function settle(count: number): Promise<void> {
  while ((await filesIn(folder)).length !== count) await sleep(25);
}

/** Exactly these are there, with their files, and nothing else is. */
async function assertLeft(made: readonly Created[]): Promise<void> {
  const shown = made.flatMap(shownIn);
  await settle(shown.length);
  assert.equal(await app.total("drop"), made.length);
  for (const { url, sha256 } of shown) {
    const answer = await fetch(app.url + url);
    assert.equal(hashOf(new Uint8Array(await answer.arrayBuffer())), sha256);
  }
}

async function removeAll(made: readonly Created[]): Promise<void> {
  const client = new Client(app);
  for (const { id } of made) assert.equal((await client.remove(`/drop/${id}`)).status, 204);
  await settle(0);
}

describe("random multipart streams", () => {
  it("are 201 or 4xx, and leave exactly what was created", async () => {
    const seed = newSeed("multipart streams");
    const count = runs(80, 12_000);
    let made: Created[] = [];
    const seen = { valid: 0, created: 0, rejected: 0, cutOff: 0 };
    for (let run = 0; run < count; run++) {
      const label = `seed ${seed + run}`;
      const chance = new Chance(randomNumbers(seed + run));
      const generated = generateBody(chance);
      const isMutated = chance.of(0.7);
      const sent = encoded(chance, generated, isMutated);
      const result = await attempt(chance, generated, sent, label);
      if (result === undefined) seen.cutOff++;
      else if (typeof result === "number") seen.rejected++;
      else seen.created++;
      if (typeof result === "object") made.push(result);
      if (!isMutated && result !== undefined) {
        assert.ok(typeof result === "object", `${label}: a valid body was answered ${result}`);
        assertHolds(result, generated, label);
        seen.valid++;
      }
      if ((run + 1) % 200 === 0) {
        await assertLeft(made);
        await removeAll(made);
        made = [];
      }
    }
    await assertLeft(made);
    assert.ok(Math.min(...Object.values(seen)) > count / 50, JSON.stringify(seen));
  });
});
