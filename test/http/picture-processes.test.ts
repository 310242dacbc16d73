// Pictures under real conditions: several processes that render, one that is killed, and a disk that is full.
// @tier all

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import sharp from "sharp";
import { newSecret } from "../../src/model/secret.ts";
import { childrenOf, ownCommandLine, start } from "../process.ts";
import { describeOn } from "../short-run.ts";
import { mountSmall } from "../store/sqlite/test-directory.ts";
import { startApp } from "./app.ts";
import { answerOf, assertProblem } from "./expect.ts";
import { filesIn } from "./multipart.ts";
import { flag } from "./picture-samples.ts";

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
});
after(() => rm(folder, { recursive: true, force: true }));

const sizes = [
  { width: 16, height: 16 },
  { width: 10 },
  { width: 400, height: 400 },
  { width: 1600, height: 1600 },
];

type Ask = (path: string, init?: RequestInit) => Promise<Response>;

/** Defines the collection, and returns the URL of the file of a new resource. */
async function upload(ask: Ask, bytes: Buffer, type: string): Promise<string> {
  const json = { "content-type": "application/json" };
  const body = JSON.stringify({ pictures: { sizes } });
  await ask("/-/collections/photos", { method: "PUT", headers: json, body });
  const sent = { headers: { "content-type": type }, body: new Uint8Array(bytes) };
  const response = await ask("/photos", { method: "POST", ...sent });
  return ((await response.json()) as { file: { url: string } }).file.url;
}

describe("a full disk", () => {
  it("is 507 for a picture that is not kept yet, until there is room", async (context) => {
    const data = join(folder, "full");
    const pictures = join(data, "pictures");
    await mkdir(pictures, { recursive: true });
    const reason = mountSmall(pictures);
    if (reason) return context.skip(reason);
    const app = await startApp({ data });
    try {
      const pixels = randomBytes(300 * 300 * 3);
      const raw = { width: 300, height: 300, channels: 3 } as const;
      const jpeg = await sharp(pixels, { raw }).jpeg().toBuffer();
      const url = await upload(app.request, jpeg, "image/jpeg");
      const get = (query: string) => answerOf(app.request(`${url}${query}`));
      const kept = "?width=16&height=16";
      assert.equal((await get(kept)).status, 200);
      const large = "?width=400&height=400&format=png";
      const [filler, whole] = [join(pictures, "filler"), 4 * 1024 * 1024];
      // The original fits, and what is rendered does not; then neither does.
      for (const left of [150_000, 0]) {
        await writeFile(filler, Buffer.alloc(whole - left)).catch(() => undefined);
        for (let attempt = 0; attempt < 2; attempt++)
          assertProblem(await get(large), "storage-full");
        assert.equal((await get(kept)).status, 200);
        assert.equal((await get("")).status, 200);
      }
      await rm(filler);
      assert.equal((await get(large)).status, 200);
      assert.deepEqual(await filesIn(join(pictures, "incoming")), []);
    } finally {
      await app.stop();
      execFileSync("umount", [pictures]);
    }
  });
});

describe("pictures that nobody reads", () => {
  it("count as responses in flight, and are 503 when there is no room", async () => {
    const app = await startApp({ maxInFlightBytes: 16 * 1024 * 1024, maxBodyBytes: 1024 * 1024 });
    const unread: Response[] = [];
    try {
      const raw = { width: 300, height: 300, channels: 3 } as const;
      const png = await sharp(randomBytes(300 * 300 * 3), { raw })
        .png()
        .toBuffer();
      const url = `${await upload(app.request, png, "image/png")}?width=400&height=400`;
      const get = (headers = {}) => {
        const authorization = `Bearer ${app.admin}`;
        const init = { headers: { authorization, ...headers } };
        return app.direct(new Request(`${app.url}${url}`, init));
      };
      const ranges = { range: "bytes=0-99999,200000-299999" };
      let response = await get();
      for (let turn = 0; response.status < 300 && turn < 200; turn++) {
        unread.push(response);
        response = await get(turn % 2 === 0 ? ranges : {});
      }
      assertProblem(await answerOf(response), "unavailable");
      assertProblem(await answerOf(get(ranges)), "unavailable");
      for (const each of unread.splice(0)) await each.body?.cancel();
      const whole = await (await get()).arrayBuffer();
      assert.ok(whole.byteLength > 300_000);
      const part = await get(ranges);
      const shown = Buffer.from(await part.arrayBuffer());
      assert.equal(shown.length, Number(part.headers.get("content-length")));
      assert.ok(shown.includes(Buffer.from(whole, 200_000, 100_000)));
    } finally {
      for (const each of unread) await each.body?.cancel();
      await app.stop();
    }
  });
});

const skip = process.platform === "linux" ? false : "only Linux spreads connections over processes";

describeOn("bun", "two processes", () => {
  it("show the same picture, go on when a renderer is killed, and forget it", {
    skip,
  }, async () => {
    const secret = newSecret();
    const environment = { RESTANTE_ADMIN_TOKEN: secret };
    // A single executable renders no pictures.
    const surroundings = { cwd: folder, environment, command: ownCommandLine };
    const server = await start(["--data", "two", "--workers", "2"], surroundings);
    const ask: Ask = (path, init = {}) => {
      // A new connection each time, so that each process gets some.
      const headers = { authorization: `Bearer ${secret}`, connection: "close" };
      return fetch(`${server.url}${path}`, { ...init, headers: { ...init.headers, ...headers } });
    };
    const renderers = async () => {
      const workers = await childrenOf(server.pid);
      return (await Promise.all(workers.map(childrenOf))).map(([renderer]) => renderer);
    };
    try {
      const url = await upload(ask, await flag().png().toBuffer(), "image/png");
      const tags = new Set<string | null>();
      const show = async (query: string) => {
        const shown = await Promise.all(Array.from({ length: 8 }, () => ask(`${url}${query}`)));
        for (const { status, headers } of shown)
          tags.add(status === 200 ? headers.get("etag") : "");
        await Promise.all(shown.map((each) => each.arrayBuffer()));
      };
      await show("?width=16&height=16");
      assert.equal(tags.size, 1, [...tags].join());
      const first = (await renderers()).filter((pid) => pid !== undefined);
      assert.ok(first.length > 0);
      for (const pid of first) process.kill(pid, "SIGKILL");
      await show("?width=10");
      assert.equal(tags.size, 2, [...tags].join());
      const made = await filesIn(join(folder, "two", "pictures"));
      assert.equal(made.length, 2);
      const broken = await upload(ask, Buffer.from("no picture"), "image/png");
      for (let count = 0; count < 4; count++)
        assertProblem(await answerOf(ask(`${broken}?width=10`)), "unprocessable-picture");
      assert.equal((await ask(url, { method: "DELETE" })).status, 204);
      for (let count = 0; count < 4; count++)
        assert.equal((await ask(`${url}?width=10`)).status, 404);
      assert.deepEqual(await filesIn(join(folder, "two", "pictures")), []);
    } finally {
      server.signal("SIGTERM");
      assert.equal((await server.ended).code, 0);
    }
  });
});
