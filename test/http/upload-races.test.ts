// Requests for one resumable upload at the same time, to two servers: at most one wins, and the bytes are its own.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { itLong } from "../short-run.ts";
import { S3Server, secrets } from "../store/s3/s3-server.ts";
import { passTurns } from "../turns-of.ts";
import { captureLog } from "./captured-log.ts";
import type { Answer } from "./expect.ts";
import { filesIn, hashOf, type Shown } from "./multipart.ts";
import { startOwnerAndWorker } from "./owner-and-worker.ts";
import { last, more, UploadClient } from "./upload-client.ts";

interface Racer {
  readonly kind: "append" | "complete" | "cancel" | "ask";
  readonly bytes: Uint8Array;
}

interface Raced extends Racer {
  readonly answer: Answer;
}

/** What a request may get that comes too late, or loses. 400 is for an upload that is complete. */
const allowed: Readonly<Record<Racer["kind"], readonly number[]>> = {
  append: [204, 400, 404, 409],
  complete: [201, 400, 404, 409],
  cancel: [204, 404, 409],
  ask: [204, 404],
};

class Race {
  readonly #clients: readonly UploadClient[];
  readonly #random: () => number;

  constructor(clients: readonly UploadClient[], random: () => number) {
    this.#clients = clients;
    this.#random = random;
  }

  /** Returns whether a resource was made. */
  async run(): Promise<boolean> {
    const first = this.#bytes(this.#size());
    // All agree on the length, and on no byte.
    const rest = this.#below(3) === 0 ? 0 : this.#size();
    const path = await this.#client.begin("/scans", { "content-type": "image/png" }, first);
    const racers = Array.from({ length: 2 + this.#below(3) }, () => this.#racer(rest));
    const raced = await Promise.all(racers.map((racer) => this.#send(path, first.length, racer)));
    for (const { kind, answer } of raced)
      assert.ok(allowed[kind].includes(answer.status), `${kind}: ${answer.status} ${answer.body}`);
    const made = raced.filter(({ answer }) => answer.status === 201);
    const locations = new Set(made.map(({ answer }) => answer.headers.get("location")));
    assert.ok(locations.size <= 1, "it was made twice");
    for (const { bytes, answer } of made)
      assert.equal(sha256In(answer), hashOf(Buffer.concat([first, bytes])));
    const isCancelled = raced.some(
      ({ kind, answer }) => kind === "cancel" && answer.status === 204,
    );
    const { status, headers } = await this.#client.send("HEAD", path);
    assert.equal(status, isCancelled ? 404 : 204);
    if (isCancelled) return made.length > 0;
    assert.equal(headers.get("upload-complete"), made.length > 0 ? "?1" : "?0");
    if (made.length === 0) await this.#finish(path, [first, rest], raced);
    return true;
  }

  /** Nobody has ended the upload, so it goes on where it is. It has at most what one of them has sent. */
  async #finish(
    path: string,
    [first, rest]: readonly [Uint8Array, number],
    raced: readonly Raced[],
  ): Promise<void> {
    const offset = await this.#client.offset(path);
    for (const { kind, bytes, answer } of raced)
      if (kind === "append" && bytes.length > 0 && answer.status === 204)
        assert.equal(offset, first.length + bytes.length);
    const end = this.#bytes(first.length + rest - offset);
    const done = await this.#client.patch(path, offset, end, last);
    assert.equal(done.status, 201, done.body);
    const possible = raced
      .map(({ bytes }) => Buffer.concat([first, bytes]).subarray(0, offset))
      .filter(({ length }) => length === offset)
      .map((sent) => hashOf(Buffer.concat([sent, end])));
    assert.ok(possible.includes(sha256In(done)), "it has bytes of several requests");
  }

  #racer(rest: number): Racer {
    const kind = (["append", "complete", "complete", "cancel", "ask"] as const)[this.#below(5)];
    const size = { append: this.#below(rest), complete: rest, cancel: 0, ask: 0 };
    return { kind: kind ?? "ask", bytes: this.#bytes(size[kind ?? "ask"]) };
  }

  async #send(path: string, offset: number, racer: Racer): Promise<Raced> {
    const { kind, bytes } = racer;
    // Where one is when the next one comes is up to chance.
    if (this.#below(2) === 0) await passTurns(this.#below(20));
    const client = this.#client;
    const send = () => {
      if (kind === "ask") return client.send("HEAD", path);
      if (kind === "cancel") return client.send("DELETE", path);
      return client.patch(path, offset, bytes, kind === "append" ? more : last);
    };
    return { ...racer, answer: await send() };
  }

  #bytes(size: number): Uint8Array {
    return Buffer.alloc(size, String(this.#random()));
  }

  #size = (): number => [1, 1_000, 300_000][this.#below(3)] ?? 0;

  get #client(): UploadClient {
    return this.#clients[this.#below(this.#clients.length)] as UploadClient;
  }

  #below = (limit: number): number => Math.floor(this.#random() * limit);
}

const sha256In = ({ body }: Answer): string => (JSON.parse(body) as { file: Shown }).file.sha256;

describe("requests for one upload at the same time", () => {
  let s3: S3Server | undefined;
  const folders: string[] = [];
  after(async () => {
    await s3?.destroy();
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });

  const race = async (files: string, rounds: number): Promise<number> => {
    const folder = await mkdtemp(join(tmpdir(), "restante-"));
    folders.push(folder);
    const adminToken = newSecret();
    const log = captureLog();
    const config = { data: join(folder, "data"), files, adminToken };
    const apps = await startOwnerAndWorker(config, log.log);
    const random = randomNumbers(newSeed(`races of uploads, files in ${files.slice(0, 2)}`));
    const clients = apps.map((app) => new UploadClient(app, adminToken));
    const one = new Race(clients, random);
    let made = 0;
    try {
      for (let round = 0; round < rounds; round++) if (await one.run()) made++;
      const { body = "" } = (await clients[0]?.send("GET", "/scans")) ?? {};
      assert.equal(JSON.parse(body).total, made);
      return made;
    } catch (error) {
      await log.settled();
      const failed = log.lines().filter(({ level }) => Number(level) >= 50);
      console.log(JSON.stringify(failed));
      throw error;
    } finally {
      for (const app of apps) await app.stop();
    }
  };

  it("have one winner at most, with files on disk", async () => {
    const files = await mkdtemp(join(tmpdir(), "restante-"));
    folders.push(files);
    const made = await race(files, runs(20, 1_000));
    const left = (await filesIn(files)).filter((path) => !path.includes("/finished/"));
    assert.equal(left.length, made);
  });

  itLong("have one winner at most, with files on S3", async () => {
    s3 = await S3Server.start();
    Object.assign(process.env, secrets);
    const made = await race(s3.url("races/"), runs(8, 200));
    const left = (await s3.keys("races/")).filter(
      (key) => !/\/finished\/|\/restante\.json$/.test(key),
    );
    assert.equal(left.length, made, left.join("\n"));
  });
});
