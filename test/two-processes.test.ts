// Two processes on one folder: servers that start, stall and die in any order, with uploads and commands in between.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, it } from "node:test";
import { newSecret } from "../src/model/secret.ts";
import { run, type ServerProcess, start } from "./process.ts";
import { isLong, newSeed, randomNumbers, runs } from "./seeds.ts";

const admin = newSecret();
const environment = { RESTANTE_ADMIN_TOKEN: admin };
const stepsInARun = isLong ? 16 : 6;

/** A form with two files, sent in two pieces: after the first piece one file is on the server's disk. */
class Upload {
  readonly #files = [randomBytes(70_000), randomBytes(30_000)] as const;
  readonly #rest: Buffer;
  readonly #request: ClientRequest;
  readonly #answer: Promise<IncomingMessage | undefined>;

  constructor(url: string) {
    const [one, other] = this.#files;
    const head = (name: string) =>
      Buffer.from(`--b\r\nContent-Disposition: form-data; name="${name}"; filename="f"\r\n\r\n`);
    const line = Buffer.from("\r\n");
    const form = [head("one"), one, line, head("other"), other, Buffer.from("\r\n--b--\r\n")];
    const body = Buffer.concat(form);
    const headers = {
      authorization: `Bearer ${admin}`,
      "content-type": "multipart/form-data; boundary=b",
      "content-length": body.byteLength,
    };
    this.#request = request(`${url}/uploads`, { method: "POST", headers, agent: false });
    this.#answer = new Promise((resolve) => {
      this.#request.on("response", resolve).on("error", () => resolve(undefined));
    });
    this.#request.write(body.subarray(0, 90_000));
    this.#rest = body.subarray(90_000);
  }

  /** The files by their paths, if the server acknowledged them. */
  async finish(): Promise<ReadonlyMap<string, Buffer>> {
    this.#request.end(this.#rest);
    const answer = await this.#answer;
    const text = answer && (await buffer(answer).catch(() => undefined));
    if (answer?.statusCode !== 201 || text === undefined) return new Map();
    const { one, other } = JSON.parse(text.toString());
    return new Map([
      [one.url, this.#files[0]],
      [other.url, this.#files[1]],
    ]);
  }
}

class Rig {
  readonly #random: () => number;
  readonly #cwd: string;
  /** What was acknowledged. */
  readonly #files = new Map<string, Buffer>();
  readonly #secrets = new Set<string>();
  readonly #arriving: Upload[] = [];
  #owner: ServerProcess | undefined;
  readonly trace: string[] = [];
  readonly counts = { rejected: 0, killed: 0, uploads: 0, tokens: 0 };

  constructor(random: () => number, cwd: string) {
    this.#random = random;
    this.#cwd = cwd;
  }

  async step(): Promise<void> {
    const steps =
      this.#owner === undefined
        ? [this.#start, this.#race, this.#createToken]
        : [
            this.#second,
            this.#stall,
            this.#kill,
            this.#stop,
            this.#upload,
            this.#upload,
            this.#createToken,
          ];
    const chosen = steps[Math.floor(this.#random() * steps.length)] ?? this.#start;
    this.trace.push(chosen.name);
    // A request that is under way meets whatever comes next.
    if (this.#owner !== undefined && this.#random() < 0.6) this.#begin(this.#owner);
    await chosen.call(this);
    if (this.#random() < 0.5) await this.#finishAll();
  }

  /** Everything that was ever acknowledged is there, byte for byte. */
  async verify(): Promise<void> {
    await this.#finishAll();
    if (this.#owner === undefined) await this.#start();
    const { url } = this.#owner ?? assert.fail();
    const get = (path: string, secret: string) =>
      fetch(url + path, { headers: { authorization: `Bearer ${secret}` } });
    for (const [path, bytes] of this.#files) {
      const answer = await get(path, admin);
      assert.equal(answer.status, 200, path);
      assert.deepEqual(Buffer.from(await answer.arrayBuffer()), bytes);
    }
    for (const secret of this.#secrets) assert.equal((await get("/-/tokens", secret)).status, 200);
  }

  async end(): Promise<void> {
    this.#owner?.signal("SIGKILL");
    await this.#owner?.ended;
  }

  #start = async () => {
    this.#owner = await this.#launch();
  };

  #race = async () => {
    const starts = await Promise.allSettled([this.#launch(), this.#launch(), this.#createToken()]);
    const won = starts
      .slice(0, 2)
      .flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    const [first, ...others] = won as ServerProcess[];
    this.#owner = first;
    for (const other of others) other.signal("SIGKILL");
    assert.equal(won.length, 1, "one of two servers that start at once runs");
    const [, , command] = starts;
    if (command?.status === "rejected") throw command.reason;
  };

  #second = async () => {
    const owner = this.#owner ?? assert.fail();
    const second = await this.#launch().catch((error: Error) => error);
    if ("signal" in second) second.signal("SIGKILL");
    assert.ok(second instanceof Error, "a second server runs");
    assert.match(second.message, /"code":1,/);
    assert.match(
      second.message,
      new RegExp(`process ${owner.pid} at ${owner.url}, since .* owns it`),
    );
    this.counts.rejected++;
  };

  #stall = async () => {
    const owner = this.#owner ?? assert.fail();
    owner.signal("SIGSTOP");
    await this.#second();
    const listed = await run(["token", "list", "--data", "data"], { cwd: this.#cwd });
    assert.equal(listed.code, 0, listed.stderr);
    owner.signal("SIGCONT");
  };

  #kill = async () => {
    this.counts.killed++;
    const finished = this.#finishAll();
    this.#owner?.signal("SIGKILL");
    await this.#owner?.ended;
    this.#owner = undefined;
    await finished;
  };

  #stop = async () => {
    // A request that never ends would keep it from stopping.
    await this.#finishAll();
    this.#owner?.signal("SIGTERM");
    assert.equal((await this.#owner?.ended)?.code, 0);
    this.#owner = undefined;
  };

  #upload = async () => {
    this.#begin(this.#owner ?? assert.fail());
    await this.#finishAll();
  };

  #createToken = async () => {
    const args = ["token", "create", "--data", "data", "--name", "rig", "--scope", "admin"];
    const { code, stdout, stderr } = await run(args, { cwd: this.#cwd, environment });
    assert.equal(code, 0, stderr);
    this.#secrets.add(stdout.trimEnd());
    this.counts.tokens++;
  };

  #begin({ url }: ServerProcess): void {
    this.#arriving.push(new Upload(url));
  }

  async #finishAll(): Promise<void> {
    for (const kept of await Promise.all(this.#arriving.splice(0).map((each) => each.finish())))
      for (const [path, bytes] of kept) this.#files.set(path, bytes);
    this.counts.uploads = this.#files.size / 2;
  }

  #launch(): Promise<ServerProcess> {
    const workers = process.platform === "linux" && this.#random() < 0.3 ? "2" : "1";
    const args = ["--data", "data", "--workers", workers];
    return start(args, { cwd: this.#cwd, environment });
  }
}

describe("two processes and one folder", () => {
  it("only one owns it at any time, and nothing acknowledged is lost", async () => {
    const random = randomNumbers(newSeed("two processes"));
    const total = { rejected: 0, killed: 0, uploads: 0, tokens: 0 };
    for (let round = 0; round < runs(1, 60); round++) {
      const cwd = await mkdtemp(join(tmpdir(), "restante-two-"));
      // A command without an owner finds a folder that is empty.
      const rig = new Rig(random, cwd);
      try {
        await mkdir(join(cwd, "data"));
        for (let step = 0; step < stepsInARun; step++) await rig.step();
        await rig.verify();
      } catch (error) {
        throw new Error(`after ${rig.trace.join(", ")}: ${error}`, { cause: error });
      } finally {
        await rig.end();
        await rm(cwd, { recursive: true, force: true });
      }
      for (const key of ["rejected", "killed", "uploads", "tokens"] as const)
        total[key] += rig.counts[key];
    }
    console.log(`two processes: ${JSON.stringify(total)}`);
  });
});
