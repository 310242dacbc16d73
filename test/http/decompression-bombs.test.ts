// Decompression bombs: every kind of body has one coding and one limit, and a rejected one leaves nothing behind.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import * as zlib from "node:zlib";
import { freeBytes, maxRatio } from "../../src/http/body/decoding.ts";
import { isLong, newSeed, randomNumbers, runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { filesIn } from "./multipart.ts";
import { Chance } from "./multipart-generator.ts";
import { type RawResponse, rawRequest } from "./raw-request.ts";

const maxUploadBytes = 40_000_000;
const maxBodyBytes = 2_000_000;

let app: TestApp;
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  app = await startApp({ files: folder, maxUploadBytes, maxBodyBytes });
  await new Client(app).put("/-/collections/drop", { access: { create: "public" } });
});
after(async () => {
  await app.stop();
  await rm(folder, { recursive: true, force: true });
});

const encoders = {
  gzip: (bytes: Uint8Array) => zlib.gzipSync(bytes),
  br: (bytes: Uint8Array) =>
    zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } }),
  zstd: (bytes: Uint8Array) => zlib.zstdCompressSync(bytes),
  deflate: (bytes: Uint8Array) => zlib.deflateSync(bytes),
} as const;
type Coding = keyof typeof encoders;
const codings = Object.keys(encoders) as Coding[];

/** A kind of body with content of any length, and the status when it is stored. */
interface Kind {
  readonly type: string;
  readonly body: (filling: Buffer) => Buffer;
  readonly filling: number;
  readonly query?: string;
  readonly stored: number;
  /** The number of files that a stored one has. */
  readonly files: number;
  /** Whether what comes before the error may have been stored and reported. */
  readonly isStream?: boolean;
}

const around = (before: string, after: string) => (filling: Buffer) =>
  Buffer.concat([Buffer.from(before), filling, Buffer.from(after)]);
const part = (parameters: string) => `--b\r\nContent-Disposition: form-data; ${parameters}\r\n\r\n`;

const kinds: Readonly<Record<string, Kind>> = {
  json: {
    type: "application/json",
    body: around('{"a":1', "}"),
    filling: 0x20,
    stored: 201,
    files: 0,
  },
  form: {
    type: "application/x-www-form-urlencoded",
    body: around("a=", ""),
    filling: 0x78,
    stored: 201,
    files: 0,
  },
  "text in multipart": {
    type: "multipart/form-data; boundary=b",
    body: around(part('name="a"'), "\r\n--b--"),
    filling: 0x78,
    stored: 201,
    files: 0,
  },
  "file in multipart": {
    type: "multipart/form-data; boundary=b",
    body: around(part('name="a"; filename="a"'), "\r\n--b--"),
    filling: 0,
    stored: 201,
    files: 1,
  },
  file: { type: "image/png", body: around("x", ""), filling: 0, stored: 201, files: 1 },
  "plain text": { type: "text/plain", body: around("x", ""), filling: 0x20, stored: 201, files: 1 },
  lines: {
    type: "application/x-ndjson",
    body: around('{"a":1}\n', ""),
    filling: 0x0a,
    stored: 200,
    files: 0,
    isStream: true,
  },
  "lines together": {
    type: "application/x-ndjson",
    body: around('{"a":1}\n', ""),
    filling: 0x0a,
    query: "?atomic=true",
    stored: 200,
    files: 0,
  },
};

async function post(
  chance: Chance,
  kind: Kind,
  coding: string,
  bytes: Buffer,
  isChunked: boolean,
): Promise<RawResponse> {
  return rawRequest(app, `/drop${kind.query ?? ""}`, {
    method: "POST",
    token: null,
    headers: { "content-type": kind.type, "content-encoding": coding },
    body: isChunked ? chance.pieces(bytes, 10_000) : bytes,
  });
}

interface Trial {
  readonly coding: string;
  readonly bytes: Buffer;
  readonly status: number | "stored";
}

/** The beginning of a gzip member. */
const magic = Buffer.from([0x1f, 0x8b, 8]);

/** What is sent for a kind of body, and what must come of it. */
const trials: Readonly<Record<string, (chance: Chance, kind: Kind, coding: Coding) => Trial>> = {
  small: (chance, kind, coding) => {
    const bytes = encoders[coding](kind.body(Buffer.alloc(chance.below(5_000), kind.filling)));
    return { coding, bytes, status: "stored" };
  },
  bomb: (chance, kind, coding) => {
    const length = runs(3_000_000, 6_000_000) + chance.below(2_000_000);
    const bytes = encoders[coding](kind.body(Buffer.alloc(length, kind.filling)));
    return { coding, bytes, status: 413 };
  },
  "bomb, coded twice": (chance, kind, coding) => {
    const length = runs(10_000, 4_000_000);
    const inner = encoders[coding](kind.body(Buffer.alloc(length, kind.filling)));
    const outer = chance.pick(codings);
    return { coding: `${coding}, ${outer}`, bytes: encoders[outer](inner), status: 415 };
  },
  "cut off": (chance, kind, coding) => {
    const whole = encoders[coding](kind.body(Buffer.from(chance.bytes(1_000).toString("hex"))));
    return { coding, bytes: whole.subarray(0, whole.length - 1 - chance.below(8)), status: 400 };
  },
  "with more behind": (chance, kind, coding) => {
    const whole = encoders[coding](kind.body(Buffer.alloc(10, kind.filling)));
    // Several gzip members are one content (RFC 1952 §2.2); the others have one stream.
    const more = chance.pick([Buffer.from("more"), coding === "gzip" ? magic : whole, magic]);
    return { coding, bytes: Buffer.concat([whole, more]), status: 400 };
  },
};

describe("an encoded body", () => {
  for (const [name, kind] of Object.entries(kinds))
    it(`of a public create is decoded within its limits: ${name}`, async () => {
      const seed = newSeed(`coded bodies, ${name}`);
      const stored = async () => [await app.total("drop"), (await filesIn(folder)).length];
      let [total = 0, files = 0] = await stored();
      for (let run = 0; run < runs(1, 20); run++) {
        const chance = new Chance(randomNumbers(seed + run));
        // Half of the codings in `npm test`, another half with another seed.
        const tried = codings.filter((_, index) => isLong || (index + seed) % 2 === 0);
        for (const coding of tried)
          for (const [trial, prepare] of Object.entries(trials)) {
            const label = `${trial}, ${coding}, seed ${seed + run}`;
            const { coding: field, bytes, status } = prepare(chance, kind, coding);
            const answer = await post(chance, kind, field, bytes, chance.of(0.5));
            const expected =
              coding === "deflate" ? 415 : status === "stored" ? kind.stored : status;
            // A stream reports what became of its lines, and last that it broke off.
            const isReported = kind.isStream && answer.status === 200 && expected < 415;
            if (!isReported) assert.equal(answer.status, expected, `${label}: ${answer.body}`);
            if (expected === 415)
              assert.equal(
                answer.headers.get("accept-encoding"),
                "zstd, br, gzip, identity",
                label,
              );
            if (isReported && expected !== 200)
              assert.match(answer.body, new RegExp(`"status":${expected}`));
            // What follows the first frame may be decoded, and a line stored, before it is rejected.
            const lines = isReported ? answer.body.match(/"status":201/g)?.length : 1;
            if (answer.status < 300) {
              total += lines ?? 0;
              files += kind.files;
            }
            assert.deepEqual(await stored(), [total, files], label);
          }
      }
    });

  it("may grow by the ratio, and by the free allowance", async () => {
    const random = new Chance(randomNumbers(7)).bytes(runs(20_000, 200_000));
    const chance = new Chance(randomNumbers(8));
    const file = kinds.file as Kind;
    for (const coding of ["gzip", "br", "zstd"] as const) {
      const free = encoders[coding](Buffer.alloc(freeBytes));
      assert.equal((await post(chance, file, coding, free, false)).status, 201);
      const over = encoders[coding](Buffer.alloc(freeBytes + 500_000));
      assert.equal((await post(chance, file, coding, over, false)).status, 413);
      // What does not shrink pays for what does.
      const zeros = Buffer.alloc(Math.floor((random.length * maxRatio) / 2));
      const paid = encoders[coding](Buffer.concat([random, zeros]));
      assert.equal((await post(chance, file, coding, paid, true)).status, 201);
    }
  });

  it("of several gzip members is one content, within the same limits", async () => {
    const chance = new Chance(randomNumbers(9));
    const [json, file] = [kinds.json as Kind, kinds.file as Kind];
    const halves = ['{"a":', "1}"].map((half) => zlib.gzipSync(half));
    assert.equal((await post(chance, json, "gzip", Buffer.concat(halves), true)).status, 201);
    const bomb = Array.from({ length: 6 }, () => zlib.gzipSync(Buffer.alloc(1_000_000)));
    const answer = await post(chance, file, "gzip", Buffer.concat(bomb), true);
    assert.equal(answer.status, 413);
  });

  it("of every other method is decoded by the same rules", async () => {
    const client = new Client(app);
    await client.put("/drop/a", { a: 1 });
    for (const coding of ["gzip", "br", "zstd"] as const) {
      const bomb = encoders[coding](Buffer.alloc(6_000_000, " "));
      for (const [method, path, type] of [
        ["PUT", "/drop/a", "application/json"],
        ["PATCH", "/drop/a", "application/merge-patch+json"],
        ["QUERY", "/drop", "application/json"],
        ["POST", "/-/batch", "application/json"],
        ["PUT", "/-/collections/other", "application/json"],
      ] as const) {
        const ask = (field: string, body: Buffer) =>
          rawRequest(app, path, {
            method,
            headers: { "content-type": type, "content-encoding": field },
            body,
          });
        assert.equal((await ask(coding, bomb)).status, 413, `${method} ${path}`);
        assert.equal((await ask(`${coding}, gzip`, encoders.gzip(bomb))).status, 415);
      }
    }
    assert.equal((await client.json<{ a: number }>("/drop/a")).a, 1);
  });
});
