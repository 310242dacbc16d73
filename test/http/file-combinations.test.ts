// Files where several things meet: limits with every way to write, on disk and on S3; rules; pictures; many files.
// @tier all

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newSecret } from "../../src/model/secret.ts";
import { isLong, newSeed, randomNumbers, runs } from "../seeds.ts";
import { S3Server, secrets } from "../store/s3/s3-server.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";
import { type FilesApp, startFilesApp } from "./files-app.ts";
import { file, filesIn, form, text } from "./multipart.ts";
import { startOwnerAndWorker } from "./owner-and-worker.ts";
import { flag } from "./picture-samples.ts";

let s3: S3Server;
before(async () => {
  s3 = await S3Server.start();
  Object.assign(process.env, secrets);
});
after(() => s3.destroy());

const limits = {
  ...{ maxFileBytes: 4_000, maxResourceFileBytes: 6_000 },
  ...{ maxSubjectFileBytes: 10_000, maxTotalFileBytes: 15_000 },
};
const owned = { access: { read: "owner", create: "token", update: "owner", delete: "owner" } };

type Sizes = Readonly<Record<string, number>>;

const sum = (sizes: Sizes): number => Object.values(sizes).reduce((all, size) => all + size, 0);

/** Writes at random in every way, and knows what the limits allow. */
class LimitedWriter {
  readonly #app: FilesApp["app"];
  readonly #tokens: readonly string[];
  readonly #random: () => number;
  /** The sizes of the files of each resource, by its path, and its owner. */
  readonly held = new Map<string, readonly [sizes: Sizes, token: string]>();

  constructor(app: FilesApp["app"], tokens: readonly string[], random: () => number) {
    this.#app = app;
    this.#tokens = tokens;
    this.#random = random;
  }

  async step(): Promise<void> {
    const [path, [sizes, token]] = this.#pick([...this.held, this.#nobody()]);
    if (path === "/docs") return this.#write("POST", path, {}, this.#sizes(), token);
    const way = this.#below(6);
    const name = this.#pick(["f0", "f1"]);
    if (way === 0) return this.#remove(path, token);
    if (way === 1 && name in sizes) return this.#removeFile(path, name);
    if (way <= 2) return this.#write("PUT", path, sizes, this.#sizes(), token);
    if (way === 3) return this.#putFile(path, name);
    const sent = this.#sizes();
    return this.#write("PATCH", path, sizes, { ...sizes, ...sent }, token, sent);
  }

  /** Sends a form, after which the resource has the files `next`. */
  async #write(
    method: string,
    path: string,
    former: Sizes,
    next: Sizes,
    token: string,
    sent = next,
  ): Promise<void> {
    const files = Object.entries(sent).map(([name, size]) => file(name, "a", Buffer.alloc(size)));
    const { headers, body } = form([text("step", "1"), ...files]);
    const answer = await answerOf(this.#app.request(path, { method, headers, body, token }));
    this.#settle(answer, path, former, next, token);
  }

  async #putFile(path: string, name: string): Promise<void> {
    const [sizes, token] = this.held.get(path) ?? this.#nobody()[1];
    const size = this.#size();
    const init = { method: "PUT", headers: { "content-type": "image/png" }, token };
    const body = Buffer.alloc(size);
    const answer = await answerOf(this.#app.request(`${path}/${name}`, { ...init, body }));
    this.#settle(answer, path, sizes, { ...sizes, [name]: size }, token);
  }

  async #removeFile(path: string, name: string): Promise<void> {
    const [sizes, token] = this.held.get(path) ?? this.#nobody()[1];
    const answer = await answerOf(
      this.#app.request(`${path}/${name}`, { method: "DELETE", token }),
    );
    assert.equal(answer.status, 204, answer.body);
    const { [name]: _, ...left } = sizes;
    this.held.set(path, [left, token]);
  }

  async #remove(path: string, token: string): Promise<void> {
    const answer = await answerOf(this.#app.request(path, { method: "DELETE", token }));
    assert.equal(answer.status, 204, answer.body);
    this.held.delete(path);
  }

  #settle(answer: Answer, path: string, former: Sizes, next: Sizes, token: string): void {
    const expected = this.#problems(former, next, token);
    const { status, headers, body } = answer;
    const isRight = expected.length === 0 ? status < 300 : expected.includes(status);
    assert.ok(isRight, `${status} ${body}, not ${expected.join(" or ") || "a success"}`);
    const made = path === "/docs" ? (headers.get("location") ?? "") : path;
    if (expected.length === 0) this.held.set(made, [next, token]);
  }

  /** The statuses of the limits that the change exceeds. */
  #problems(former: Sizes, next: Sizes, token: string): readonly number[] {
    const growth = sum(next) - sum(former);
    const isLarge = Object.entries(next).some(
      ([name, size]) => size > limits.maxFileBytes && former[name] !== size,
    );
    const isHeavy = sum(next) > limits.maxResourceFileBytes && growth > 0;
    const ofOwner = this.#total((owner) => owner === token) + growth > limits.maxSubjectFileBytes;
    const ofAll = this.#total(() => true) + growth > limits.maxTotalFileBytes;
    return [
      ...(isLarge || isHeavy ? [413] : []),
      ...(growth > 0 && (ofOwner || ofAll) ? [507] : []),
    ];
  }

  #total(isCounted: (token: string) => boolean): number {
    const counted = [...this.held.values()].filter(([, token]) => isCounted(token));
    return counted.reduce((all, [sizes]) => all + sum(sizes), 0);
  }

  #sizes = (): Sizes =>
    Object.fromEntries(["f0", "f1"].filter(() => this.#below(3) > 0).map((n) => [n, this.#size()]));
  #size = (): number => 1 + this.#below(this.#below(4) === 0 ? 5_000 : 3_000);
  #nobody = () => ["/docs", [{} as Sizes, this.#pick(this.#tokens)]] as const;
  #below = (limit: number): number => Math.floor(this.#random() * limit);
  #pick<T>(items: readonly T[]): T {
    return items[this.#below(items.length)] as T;
  }
}

describe("the limits of files", () => {
  for (const [place, steps] of [
    ["disk", runs(30, 1_000)],
    ["S3", runs(12, 300)],
  ] as const)
    it(`hold for forms, single files and changes on ${place}`, async () => {
      const isS3 = place === "S3";
      const running = await startFilesApp({ ...limits, ...(isS3 && { files: s3.url("l/") }) });
      const { app, files, define } = running;
      try {
        await define("docs", owned);
        const tokens = [await app.token("docs:*"), await app.token("docs:*")];
        const random = randomNumbers(newSeed(`limits of files on ${place}`));
        const writer = new LimitedWriter(app, tokens, random);
        for (let step = 0; step < steps; step++) await writer.step();
        const count = [...writer.held.values()].flatMap(([sizes]) => Object.keys(sizes)).length;
        const stored = isS3 ? await s3.keys("l/files/") : await filesIn(files);
        assert.equal(stored.length, count);
      } finally {
        await running.stop();
      }
    });
});

describe("rules and files", () => {
  it("set values when a file is put, and keep others out", async () => {
    const running = await startFilesApp();
    const { app, define } = running;
    try {
      const update = [{ name: "photo", to: "token", fields: ["photo"], set: { state: "changed" } }];
      const create = [{ name: "own", to: "token", set: { tenant: "$me" } }];
      await define("posts", { access: { create, update }, boundary: { tenant: "$me" } });
      const [ann, bob] = [await app.token("posts:*"), await app.token("posts:*")];
      const send = (method: string, path: string, token: string, body: string | null = null) => {
        const headers = body === null ? {} : { "content-type": "text/css" };
        return answerOf(app.request(path, { method, headers, body, token }));
      };
      const posted = await app.request("/posts", {
        method: "POST",
        ...form([text("a", "1")]),
        token: ann,
      });
      const path = posted.headers.get("location") ?? "";
      assert.equal((await send("PUT", `${path}/photo`, ann, "one")).status, 201);
      assert.equal(
        (JSON.parse((await send("GET", path, ann)).body) as { state: string }).state,
        "changed",
      );
      assertProblem(await send("PUT", `${path}/cv`, ann, "two"), "forbidden");
      assertProblem(await send("PUT", `${path}/photo`, bob, "two"), "not-found");
      assertProblem(await send("DELETE", `${path}/photo`, bob), "not-found");
      assertProblem(await send("GET", `${path}/photo`, bob), "not-found");
      assert.equal((await send("GET", `${path}/photo`, ann)).body, "one");
    } finally {
      await running.stop();
    }
  });
});

describe("pictures", () => {
  it("are the same from two servers with files on S3, also when nothing can be kept", async () => {
    const folder = await mkdtemp(join(tmpdir(), "restante-"));
    const data = join(folder, "data");
    const adminToken = newSecret();
    const apps = await startOwnerAndWorker({ data, files: s3.url("p/"), adminToken });
    try {
      const [worker, owner] = apps;
      const sizes = [{ width: 16, height: 16 }, { width: 10 }];
      const init = { method: "PUT", headers: { "content-type": "application/json" } };
      const token = adminToken;
      const definition = JSON.stringify({ pictures: { sizes } });
      await owner.request("/-/collections/photos", { ...init, body: definition, token });
      const bytes = new Uint8Array(await flag().png().toBuffer());
      const sent = { method: "POST", headers: { "content-type": "image/png" }, body: bytes, token };
      const { file: shown } = (await (await worker.request("/photos", sent)).json()) as {
        file: { url: string };
      };
      const get = (app: typeof owner, query = "") => app.request(`${shown.url}${query}`, { token });
      const both = await Promise.all(apps.map((app) => get(app, "?width=16&height=16")));
      assert.deepEqual(
        both.map(({ status }) => status),
        [200, 200],
      );
      assert.equal(both[0]?.headers.get("etag"), both[1]?.headers.get("etag"));
      // Neither its folder nor a file can be made.
      await rm(join(data, "pictures"), { recursive: true });
      await writeFile(join(data, "pictures"), "");
      assertProblem(await answerOf(get(owner, "?width=10")), "unavailable");
      assert.equal((await get(owner)).status, 200);
      await rm(join(data, "pictures"));
      assert.equal((await get(owner, "?width=10")).status, 200);
      await worker.request(shown.url.replace(/\/file$/, ""), { method: "DELETE", token });
      assert.equal((await get(owner, "?width=10")).status, 404);
    } finally {
      for (const app of apps) await app.stop();
      await rm(folder, { recursive: true, force: true });
    }
  });
});

describe("many files", () => {
  it("of a form are 400 after the first hundred, and a list ends at a thousand", async () => {
    const running = await startFilesApp();
    const { app, files } = running;
    const parts = Array.from({ length: 10_000 }, (_, index) => file("docs", `${index}`, "x"));
    try {
      const flood = await answerOf(app.request("/people", { method: "POST", ...form(parts) }));
      assertProblem(flood, "invalid-body");
      assert.equal((await filesIn(files)).length, 0);
      if (!isLong) return;
      const posted = await app.request("/people", { method: "POST", ...form(parts.slice(0, 100)) });
      const path = posted.headers.get("location") ?? "";
      const put = (number: number) =>
        answerOf(
          app.request(`${path}/docs.${number}`, {
            method: "PUT",
            headers: { "content-type": "text/css" },
            body: "x",
          }),
        );
      for (let number = 101; number <= 1_000; number++)
        assert.equal((await put(number)).status, 201, `${number}`);
      assertProblem(await put(1_001), "conflict");
      assert.equal((await filesIn(files)).length, 1_000);
    } finally {
      await running.stop();
    }
  });
});
