// Files in a bucket: the contract of files, requests, and sweeps that meet commits.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { newKey } from "../../../src/store/file-key.ts";
import type { Files } from "../../../src/store/files.ts";
import type { PartialUploads } from "../../../src/store/partial-uploads.ts";
import { newSeed, randomNumbers, runs } from "../../seeds.ts";
import { bytesOf, hashOf, inChunks, read, saveFile } from "../disk/file-helpers.ts";
import { filesContract } from "../files-contract.ts";
import { openFilesAt } from "./open.ts";
import { bucket, S3Server } from "./s3-server.ts";

const hour = 3_600_000;
const day = 24 * hour;
const none = async (): Promise<ReadonlySet<string>> => new Set();

let server: S3Server;
let count = 0;
before(async () => {
  server = await S3Server.start();
});
after(() => server.destroy());

const newPrefix = (): string => `place/${++count}/`;
const open = (prefix: string): Files => openFilesAt(server.url(prefix));

filesContract("s3", async () => {
  const prefix = newPrefix();
  return {
    files: open(prefix),
    second: () => open(prefix),
    count: async () => (await server.keys(prefix)).length,
    age: (key) => server.age(`${prefix}files/${key}`, hour),
    destroy: async () => undefined,
  };
});

/** Returns what is requested meanwhile, with the key as K. */
async function requestsOf(key: string, work: () => Promise<unknown>): Promise<readonly string[]> {
  const start = server.requests.length;
  await work();
  return server.requests
    .slice(start)
    .map((line) => line.replace(`/${bucket}/place/${count}/`, "").replace(key, "K"));
}

describe("a request with a file", () => {
  it("lists nothing, and takes few requests", async () => {
    const files = open(newPrefix());
    const { key } = await saveFile(files, bytesOf(100));
    assert.deepEqual(await requestsOf(key, () => files.touch([key])), ["HEAD files/K"]);
    assert.deepEqual(await requestsOf(key, () => files.confirm([key])), [
      "HEAD claims/K",
      "HEAD files/K",
    ]);
    assert.deepEqual(await requestsOf(key, () => read(files, key, 5, 10)), ["GET files/K"]);
    assert.deepEqual(await requestsOf(key, () => files.remove([key])), ["DELETE files/K"]);
  });

  it("sends a large file in parts of 5 MiB", async () => {
    const prefix = newPrefix();
    const files = open(prefix);
    const bytes = bytesOf(20_000_000);
    const sent = await requestsOf("no key", async () => {
      const saved = await saveFile(files, bytes);
      assert.equal(hashOf(await read(files, saved.key, 0, saved.size)), hashOf(bytes));
    });
    const methods = sent.map((line) => line.replace(/[0-9a-f]{32,}/g, "X").split("?")[0]);
    const part = "PUT files/X";
    const expected = ["POST files/X", part, part, part, part, "POST files/X", "GET files/X"];
    assert.deepEqual(methods, expected);
    assert.deepEqual(await server.uploads(), []);
  });
});

describe("unfinished uploads", () => {
  it("are removed when they are a day old", async () => {
    const files = open(newPrefix());
    // The process dies: nobody aborts.
    const abort = (line = "") => line.includes("uploadId") && !line.includes("partNumber");
    server.fault = (request, response) => {
      if (!abort(request.url)) return false;
      response.writeHead(403).end();
      return true;
    };
    const source = async function* () {
      yield new Uint8Array(9_000_000);
      throw new Error("the client left");
    };
    await assert.rejects(files.save(source(), 1e9), /the client left/);
    server.fault = () => false;
    assert.equal((await server.uploads()).length, 1);
    await server.ageUploads(23 * hour);
    assert.equal(await files.sweep(none, 0), 0);
    await server.ageUploads(25 * hour);
    assert.equal(await files.sweep(none, 0), 1);
    assert.deepEqual(await server.uploads(), []);
  });
});

describe("a resumable upload that a process was killed in ending", () => {
  type Work = (partial: PartialUploads, id: string) => Promise<unknown>;
  const create: Work = async (partial, id) => {
    await partial.create(id, "{}");
    await partial.append(id, 0, inChunks(bytesOf(10)));
  };
  const finish: Work = (partial, id) => partial.finish(id, "{}");
  const remove: Work = (partial, id) => partial.remove(id);
  const cancel: Work = async (partial, id) => {
    await partial.end(id, "cancelled");
    await remove(partial, id);
  };
  const cases: readonly (readonly [string, readonly Work[], Work, readonly unknown[]])[] = [
    ["finished", [create], finish, [false, true]],
    ["cancelled", [create], cancel, [false, undefined]],
    ["removed", [create, finish, create], remove, [true, undefined]],
  ];

  /** Carries out some requests. Returns whether there are more. */
  async function isKilledAfter(count: number, work: () => Promise<unknown>): Promise<boolean> {
    let left = count;
    server.fault = (_request, response) => {
      if (left-- > 0) return false;
      response.writeHead(403).end();
      return true;
    };
    const isKilled = await work().then(
      () => false,
      () => true,
    );
    server.fault = () => false;
    return isKilled;
  }

  for (const [name, before, work, states] of cases)
    it(`is as it was, or ${name} without a trace after a sweep`, async () => {
      const seen = new Set<boolean | undefined>();
      for (let [requests, isKilled] = [0, true]; isKilled; requests++) {
        const [prefix, id] = [newPrefix(), newKey()];
        const { partial } = open(prefix);
        for (const step of before) await step(partial, id);
        isKilled = await isKilledAfter(requests, () => work(partial, id));
        assert.equal(await partial.sweep(hour, hour), 0);
        const found = await partial.find(id);
        seen.add(found?.isFinished);
        if (found?.isFinished === false) assert.equal(found.size, 10);
        else assert.equal((await server.keys(prefix)).length, found === undefined ? 0 : 1);
      }
      assert.deepEqual([...seen], states);
    });
});

describe("a sweep", () => {
  it("knows ages by the clock of S3", async () => {
    const prefix = newPrefix();
    const files = open(prefix);
    const { key } = await saveFile(files, bytesOf(10));
    await server.age(`${prefix}files/${key}`, 2 * day);
    const clock = (time: number) => {
      server.fault = (_request, response) => {
        response.setHeader("date", new Date(time).toUTCString());
        return false;
      };
    };
    clock(Date.now() - 3 * day);
    assert.equal(await files.sweep(none, day), 0);
    clock(Date.now());
    assert.equal(await files.sweep(none, day), 1);
    server.fault = () => false;
  });

  it("leaves a file that another one has claimed, until the claim is stale", async () => {
    const prefix = newPrefix();
    const files = open(prefix);
    const { key } = await saveFile(files, bytesOf(10));
    await server.age(`${prefix}files/${key}`, day);
    // The other one dies after its claim.
    const stopped = files.sweep(async (keys) => {
      if ((await server.keys(`${prefix}claims/`)).length > 0) throw new Error("killed");
      return new Set(keys.slice(0, 0));
    }, hour);
    await assert.rejects(stopped, /killed/);
    assert.equal(await files.sweep(none, hour), 0);
    await assert.rejects(files.touch([key]), { reason: "unavailable" });
    await server.age(`${prefix}claims/${key}`, 2 * hour);
    await server.age(`${prefix}files/${key}`, day);
    assert.equal(await files.sweep(none, hour), 1);
    assert.deepEqual(await server.keys(prefix), []);
  });

  it("removes no file of an acknowledged commit, and leaves no other", async () => {
    const seed = newSeed("sweeps and commits on S3", 1);
    const random = randomNumbers(seed);
    const prefix = newPrefix();
    const referenced = new Set<string>();
    /** Lasts until the sweeps and the other commits have sent so many requests. */
    const pause = async (requests: number) => {
      const enough = server.requests.length + random() * requests;
      while (server.requests.length < enough) await setImmediate();
    };
    const findReferenced = async (keys: readonly string[]) => {
      for (let turns = random() * 20; turns > 0; turns--) await setImmediate();
      return new Set(keys.filter((key) => referenced.has(key)));
    };
    const acknowledged: string[] = [];
    const commit = async (files: Files) => {
      const { key } = await saveFile(files, bytesOf(10));
      await server.age(`${prefix}files/${key}`, hour + random() * hour);
      await pause(20);
      try {
        await files.touch([key]);
        await pause(4);
        if (random() < 0.3) return;
        referenced.add(key);
        await files.confirm([key]);
        acknowledged.push(key);
      } catch (error) {
        assert.match(String(error), /a file was removed before/);
      }
    };
    let isDone = false;
    const sweeper = async (files: Files) => {
      while (!isDone) await files.sweep(findReferenced, hour).catch(missingIsFine);
    };
    const sweepers = [sweeper(open(prefix)), sweeper(open(prefix))];
    for (let round = 0; round < runs(3, 100); round++)
      await Promise.all(Array.from({ length: 5 }, () => commit(open(prefix))));
    isDone = true;
    await Promise.all(sweepers);
    const files = open(prefix);
    for (const key of acknowledged) assert.equal(await files.size(key), 10, `${key} is lost`);
    assert.ok(acknowledged.length > 0);
    for (const key of await server.keys(prefix)) await server.age(key, 2 * day);
    await files.sweep(findReferenced, hour);
    assert.deepEqual(
      (await server.keys(prefix)).map((key) => key.slice(-32)),
      [...referenced].filter((key) => acknowledged.includes(key)).sort(),
    );
  });
});

/** s3rver fails to list what is removed meanwhile. */
function missingIsFine(error: unknown): void {
  if (!/50[03]|ENOENT/.test(String(error))) throw error;
}

describe("a file that is set aside", () => {
  it("is settled by a sweep after a crash", async () => {
    const prefix = newPrefix();
    const files = open(prefix);
    const [kept, gone] = [await saveFile(files, bytesOf(10)), await saveFile(files, bytesOf(10))];
    await files.setAside([kept.key, gone.key]);
    await files.sweep(async () => new Set([kept.key]), day);
    assert.deepEqual(await server.keys(prefix), [`${prefix}files/${kept.key}`]);
    assert.equal(await files.saveAs(kept.key, inChunks(bytesOf(10)), kept.sha256), false);
  });
});
