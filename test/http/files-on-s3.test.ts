// A server with its files on S3: uploads, downloads, and an outage that stops nothing but files.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { newSecret } from "../../src/model/secret.ts";
import { type ServerProcess, start } from "../process.ts";
import { runs } from "../seeds.ts";
import { bytesOf } from "../store/disk/file-helpers.ts";
import { S3Server, secrets } from "../store/s3/s3-server.ts";
import { file, form, hashOf, type Shown, text } from "./multipart.ts";

const admin = newSecret();
const prefix = "http/";
let s3: S3Server;
let folder: string;
let server: ServerProcess;

async function startServer(): Promise<ServerProcess> {
  return start(["--data", join(folder, "data"), "--files", s3.url(prefix)], {
    cwd: folder,
    environment: { ...secrets, HOME: folder, RESTANTE_ADMIN_TOKEN: admin },
  });
}

before(async () => {
  s3 = await S3Server.start();
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  server = await startServer();
});
after(async () => {
  server.signal("SIGTERM");
  await server.ended;
  await s3.destroy();
  await rm(folder, { recursive: true, force: true });
});

const request = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(server.url + path, {
    ...init,
    headers: { authorization: `Bearer ${admin}`, ...init.headers },
  });

async function upload(bytes: Uint8Array): Promise<Response> {
  const { headers, body } = form([text("name", "Ada"), file("photo", "a.bin", bytes)]);
  return request("/people", { method: "POST", headers, body });
}

async function uploaded(bytes: Uint8Array): Promise<Shown> {
  const response = await upload(bytes);
  const body = (await response.json()) as { photo: Shown };
  assert.equal(response.status, 201, JSON.stringify(body));
  return body.photo;
}

const fileKeys = () => s3.keys(`${prefix}files/`);

describe("files on S3", () => {
  it("are uploaded, read as a whole and in part, and deleted", async () => {
    for (const size of [0, 100, 3_000_000, 9_000_000]) {
      const bytes = bytesOf(size);
      const { url, sha256 } = await uploaded(bytes);
      assert.equal(sha256, hashOf(bytes));
      const whole = await request(url);
      assert.equal(hashOf(await whole.bytes()), sha256);
      if (size === 0) continue;
      const part = await request(url, { headers: { range: "bytes=10-59" } });
      assert.deepEqual(
        [part.status, part.headers.get("content-length"), hashOf(await part.bytes())],
        [206, "50", hashOf(bytes.subarray(10, 60))],
      );
      const resource = url.slice(0, url.lastIndexOf("/"));
      assert.equal((await request(resource, { method: "DELETE" })).status, 204);
    }
    assert.equal((await fileKeys()).length, 1);
  });

  it("reach a reader that pauses, byte for byte", async () => {
    const bytes = bytesOf(runs(10_000_000, 20_000_000));
    const { url } = await uploaded(bytes);
    const response = await request(url);
    const hash = createHash("sha256");
    let count = 0;
    for await (const chunk of response.body ?? []) {
      hash.update(chunk);
      if (count++ % 50 === 0) await sleep(20);
    }
    assert.equal(hash.digest("hex"), hashOf(bytes));
  });

  it("are redirected to where the definition says so", async () => {
    const { headers, body } = form([
      file("photo", "a.png", bytesOf(500), "image/png"),
      file("page", "p.html", "<script>1</script>", "text/html"),
    ]);
    const make = async (collection: string) => {
      const response = await request(`/${collection}`, { method: "POST", headers, body });
      return (await response.json()) as { photo: Shown; page: Shown };
    };
    const rejected = await request(`${(await make("people")).photo.url}?redirect=true`);
    assert.equal(rejected.status, 400);
    assert.match(await rejected.text(), /presignedRedirects/);
    const definition = { method: "PUT", body: '{"presignedRedirects":true}' };
    const json = { headers: { "content-type": "application/json" } };
    assert.equal((await request("/-/collections/shown", { ...definition, ...json })).status, 201);
    const { photo, page } = await make("shown");
    for (const [{ url, sha256, type }, disposition] of [
      [photo, /^inline; filename="?a\.png/],
      [page, /^attachment; /],
    ] as const) {
      const answer = await request(`${url}?redirect=true`, { redirect: "manual" });
      assert.equal(answer.status, 307);
      assert.equal(answer.headers.get("cache-control"), "private, no-store");
      const location = answer.headers.get("location") ?? "";
      assert.ok(!location.includes(admin));
      // No token goes there.
      const direct = await fetch(location);
      assert.equal(hashOf(await direct.bytes()), sha256);
      assert.match(direct.headers.get("content-disposition") ?? "", disposition);
      assert.match(direct.headers.get("content-type") ?? "", new RegExp(`^${type}`));
      assert.equal((await fetch(location.replace("response-", "responsx-"))).status, 403);
    }
    const tag = { "if-none-match": `"${photo.sha256}"` };
    assert.equal((await request(`${photo.url}?redirect=true`, { headers: tag })).status, 304);
    const nobody = await fetch(`${server.url}${photo.url}?redirect=true`, { redirect: "manual" });
    assert.equal(nobody.status, 401);
    const head = await request(`${photo.url}?redirect=true`, { method: "HEAD" });
    assert.deepEqual([head.status, head.headers.get("content-length")], [200, "500"]);
    assert.equal((await request(`${photo.url}?redirect=maybe`)).status, 400);
  });

  it("are redirected to a URL that lives no longer than what it was asked for with", async () => {
    const sendJson = async (method: string, path: string, body: object) => {
      const headers = { "content-type": "application/json" };
      const response = await request(path, { method, headers, body: JSON.stringify(body) });
      assert.ok(response.ok, `${response.status}`);
      return (await response.json()) as Record<string, string>;
    };
    const definition = { presignedRedirects: true, signedUrls: true };
    await sendJson("PUT", "/-/collections/brief", definition);
    const { headers, body } = form([file("photo", "a.png", bytesOf(500), "image/png")]);
    const made = await request("/brief", { method: "POST", headers, body });
    const { photo } = (await made.json()) as { photo: Shown };
    const path = `${photo.url}?redirect=true`;
    const expiresAt = new Date(Date.now() + 50_000).toISOString();
    const { token } = await sendJson("POST", "/-/tokens", {
      name: "brief",
      scopes: ["brief:read"],
      expiresAt,
    });
    const { url } = await sendJson("POST", "/-/signed-urls", { path, expiresIn: 50 });
    for (const answer of [
      await fetch(`${server.url}${url}`, { redirect: "manual" }),
      await request(path, { redirect: "manual", headers: { authorization: `Bearer ${token}` } }),
    ]) {
      assert.equal(answer.status, 307);
      const location = new URL(answer.headers.get("location") ?? "");
      const seconds = Number(location.searchParams.get("X-Amz-Expires"));
      assert.ok(seconds > 0 && seconds <= 50, `${seconds}`);
      assert.equal((await fetch(location)).status, 200);
    }
  });

  it("are 503 when S3 rejects a request, whatever it is, and leave nothing", async () => {
    const before = await (await request("/people")).json();
    const keys = await fileKeys();
    for (const [method, status] of [
      ["PUT", 500],
      ["PUT", 403],
      ["HEAD", 403],
    ] as const) {
      s3.fault = (asked, response) => {
        if (asked.method !== method) return false;
        asked.resume();
        response.writeHead(status).end();
        return true;
      };
      assert.equal((await upload(bytesOf(100))).status, 503, `${method} ${status}`);
      s3.fault = () => false;
      assert.deepEqual(await (await request("/people")).json(), before);
      assert.deepEqual(await fileKeys(), keys);
    }
  });

  it("are 503 in an outage, while everything else goes on", async () => {
    const { url, sha256 } = await uploaded(bytesOf(100));
    await s3.stop();
    const down = await request(url);
    assert.equal(down.status, 503);
    assert.match(await down.text(), /storage of files does not answer/);
    const before = await (await request("/people")).json();
    assert.equal((await upload(bytesOf(100))).status, 503);
    assert.deepEqual(await (await request("/people")).json(), before);
    const headers = { "content-type": "application/json" };
    const post = { method: "POST", headers, body: '{"name":"Bob"}' };
    assert.equal((await request("/people", post)).status, 201);
    // A deletion leaves its file to the sweep.
    const resource = url.slice(0, url.lastIndexOf("/"));
    const ready = await request("/-/ready");
    assert.deepEqual(
      [ready.status, await ready.json()],
      [200, { status: "ready", files: "unavailable" }],
    );
    assert.match(server.stdout() + server.stderr(), /S3 at http:[^"]+ cannot be reached/);
    await s3.listen();
    assert.equal(hashOf(await (await request(url)).bytes()), sha256);
    assert.equal((await request(resource, { method: "DELETE" })).status, 204);
  });

  it("stay after a kill, and what was half uploaded is removed a day later", async () => {
    const { url, sha256 } = await uploaded(bytesOf(200));
    const kept = await fileKeys();
    const begun = Promise.withResolvers<void>();
    s3.fault = (incoming) => {
      if (incoming.url?.includes("partNumber=1")) begun.resolve();
      return incoming.url?.includes("partNumber") === true;
    };
    const lost = upload(bytesOf(11_000_000)).catch(() => undefined);
    await begun.promise;
    server.signal("SIGKILL");
    await Promise.all([lost, server.ended]);
    s3.fault = () => false;
    assert.equal((await s3.uploads()).length, 1);
    await s3.ageUploads(25 * 3_600_000);
    const swept = Promise.withResolvers<void>();
    s3.fault = (incoming) => {
      if (incoming.method === "DELETE") swept.resolve();
      return false;
    };
    server = await startServer();
    await swept.promise;
    while ((await s3.uploads()).length > 0) await sleep(10);
    assert.deepEqual(await fileKeys(), kept);
    assert.equal(hashOf(await (await request(url)).bytes()), sha256);
  });
});

describe("a server without credentials for its bucket", () => {
  it("does not start, and says what to set", async () => {
    const begun = start(["--data", join(folder, "other"), "--files", s3.url("other/")], {
      cwd: folder,
      environment: { HOME: folder },
    });
    await assert.rejects(begun, /there are no credentials for S3: set AWS_ACCESS_KEY_ID/);
  });
});
