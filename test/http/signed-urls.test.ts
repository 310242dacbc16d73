// Signed URLs: they read one file for a short time, as their signer, and nothing else, however they are changed.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { Client, pointersOf } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";
import { file, form, type Shown } from "./multipart.ts";
import { sendPart } from "./upload-client.ts";

const realNow = Date.now;
let now = realNow();
/** For the tests of this `describe` the clock stands still, unless a test moves it. */
function stopClockHere(): void {
  before(() => {
    now = realNow();
    Date.now = () => now;
  });
  after(() => {
    Date.now = realNow;
  });
}
const log = captureLog();
let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp({}, log.log);
  client = new Client(app);
  await define("docs", { signedUrls: true });
});
after(() => app.stop());

async function define(name: string, definition: unknown): Promise<void> {
  const { status, body } = await client.put(`/-/collections/${name}`, definition);
  assert.ok(status < 300, body);
}

async function upload(content: string, collection = "docs", token = app.admin): Promise<Shown> {
  const sent = form([file("photo", "a.txt", content, "text/plain")]);
  const response = await app.request(`/${collection}`, { method: "POST", ...sent, token });
  assert.equal(response.status, 201);
  return ((await response.json()) as { photo: Shown }).photo;
}

const ask = (path: unknown, expiresIn?: unknown, token?: string | null): Promise<Answer> =>
  new Client(app, token).post("/-/signed-urls", {
    path,
    ...(expiresIn !== undefined && { expiresIn }),
  });

async function sign(path: string, expiresIn?: number, token?: string): Promise<string> {
  const answer = await ask(path, expiresIn, token);
  assert.equal(answer.status, 200, answer.body);
  return JSON.parse(answer.body).url;
}

type Fields = Readonly<Record<string, string>>;
const read = (url: string, headers: Fields = {}, method = "GET"): Promise<Answer> =>
  answerOf(app.request(url, { method, headers, token: null }));

const assertRefused = async (url: string, words: RegExp) =>
  assert.match(assertProblem(await read(url), "invalid-signature").detail ?? "", words);

describe("a signed URL", () => {
  stopClockHere();

  it("reads a private file without a token: GET, HEAD, a range and 304", async () => {
    const { url, sha256 } = await upload("hello world");
    assert.equal((await read(url)).status, 401);
    const signed = await sign(url, 60);
    assert.ok(signed.startsWith(`${url}?signature=`), signed);
    const whole = await read(signed);
    assert.deepEqual([whole.status, whole.body], [200, "hello world"]);
    assert.equal(whole.headers.get("access-control-allow-origin"), "*");
    const head = await read(signed, {}, "HEAD");
    assert.deepEqual([head.status, head.headers.get("content-length")], [200, "11"]);
    assert.equal((await read(signed, { range: "bytes=0-4" })).body, "hello");
    assert.equal((await read(signed, { "if-none-match": `"${sha256}"` })).status, 304);
  });

  it("may be kept by the browser for as long as it is valid, and by no other cache", async () => {
    const { url } = await upload("x");
    const { headers } = await read(await sign(url, 100));
    const [, age] =
      /^private, max-age=(\d+), immutable$/.exec(headers.get("cache-control") ?? "") ?? [];
    assert.equal(age, "100");
  });

  it("expires when it says, after five minutes by default", async () => {
    const { url } = await upload("x");
    for (const seconds of [undefined, 1, 3600]) {
      const answer = await ask(url, seconds);
      const { url: signed, expiresAt } = JSON.parse(answer.body);
      const left = Date.parse(expiresAt) - Date.now();
      assert.equal(left, (seconds ?? 300) * 1000);
      assert.equal(answer.headers.get("cache-control"), "no-store");
      now += left;
      await assertRefused(signed, /^The URL has expired at .*Z\. Ask for a new URL/);
    }
  });

  it("is not valid any more when the definition turns it off", async () => {
    await define("fickle", { signedUrls: true });
    const { url } = await upload("x", "fickle");
    const signed = await sign(url);
    await define("fickle", {});
    await assertRefused(signed, /no longer sign/);
    assertProblem(await ask(url), "forbidden");
    await define("fickle", { signedUrls: true });
    assert.equal((await read(signed)).status, 200);
  });

  it("ends with the file, the resource and the collection", async () => {
    await define("short", { signedUrls: true });
    const { url } = await upload("x", "short");
    const signed = await sign(url);
    const resource = url.replace("/photo", "");
    assert.equal((await client.patch(resource, { photo: null })).status, 200);
    assertProblem(await read(signed), "not-found");
    const other = await sign((await upload("y", "short")).url);
    assert.equal((await client.remove("/-/collections/short?confirm=short")).status, 204);
    assert.ok((await read(other)).status >= 400);
  });

  it("ends when the file is replaced, also by the same bytes", async () => {
    const { url } = await upload("x");
    const signed = await sign(url);
    const headers = { "content-type": "text/plain" };
    const replaced = await answerOf(app.request(url, { method: "PUT", headers, body: "x" }));
    assert.ok(replaced.status < 300, replaced.body);
    await assertRefused(signed, /^The file was replaced/);
    assert.equal((await read(await sign(url))).body, "x");
  });

  it("ends with the token that signed it", async () => {
    const { url } = await upload("x");
    const made = JSON.parse(
      (await client.post("/-/tokens", { name: "t", scopes: ["docs:read"] })).body,
    );
    const signed = await sign(url, 60, made.token);
    assert.equal((await read(signed)).status, 200);
    await client.remove(`/-/tokens/${made.id}`);
    await assertRefused(signed, /^The token that signed the URL was revoked/);
  });

  it("is valid no longer than the token that signed it", async () => {
    const { url } = await upload("x");
    const expiresAt = new Date(Date.now() + 20_000).toISOString();
    const body = { name: "t", scopes: ["docs:read"], expiresAt };
    const { token } = JSON.parse((await client.post("/-/tokens", body)).body);
    assert.equal(JSON.parse((await ask(url, 600, token)).body).expiresAt, expiresAt);
  });

  it("ends with the role, and with the rule, by which its signer could read the file", async () => {
    await client.put("/-/access", { roles: { reader: ["docs:read"] } });
    const { url } = await upload("x");
    const body = { name: "t", scopes: [], roles: ["reader"] };
    const { token } = JSON.parse((await client.post("/-/tokens", body)).body);
    const signed = await sign(url, 60, token);
    await client.put("/-/access", { roles: {} });
    await assertRefused(signed, /may no longer read/);

    await define("posts", {
      signedUrls: true,
      access: { read: [{ name: "open", to: "token", where: { open: true } }] },
    });
    const post = await upload("x", "posts");
    const resource = post.url.replace("/photo", "");
    await client.patch(resource, { open: true });
    const reader = await app.token("posts:read");
    const open = await sign(post.url, 60, reader);
    assert.equal((await read(open)).status, 200);
    await client.patch(resource, { open: false });
    assertProblem(await read(open), "not-found");
  });

  it("is no credential for anything else", async () => {
    const { url } = await upload("x");
    const [, query] = (await sign(url)).split("?");
    const other = await upload("y");
    const resource = url.replace("/photo", "");
    await assertRefused(`${other.url}?${query}`, /does not belong to this URL/);
    await assertRefused(`${url}.1?${query}`, /does not belong to this URL/);
    for (const path of [resource, "/docs", "/-/tokens", "/-/collections/docs", "/-/batch"])
      assert.ok((await read(`${path}?${query}`)).status >= 400, path);
    for (const method of ["PUT", "DELETE", "POST", "PATCH"])
      assert.ok((await read(`${url}?${query}`, {}, method)).status >= 400, method);
    assert.equal((await client.get(url)).body, "x");
  });

  it("is sent without Authorization", async () => {
    const { url } = await upload("x");
    const authorization = `Bearer ${app.admin}`;
    assertProblem(await read(await sign(url), { authorization }), "malformed-request");
  });

  it("of a public file is signed and read without a token", async () => {
    await define("open", { signedUrls: true, access: { read: "public" } });
    const { url } = await upload("x", "open");
    const answer = await ask(url, 60, null);
    assert.equal((await read(JSON.parse(answer.body).url)).body, "x");
    await define("open", { signedUrls: true });
    await assertRefused(JSON.parse(answer.body).url, /may no longer read/);
  });

  it("of a public file is signed without a token, also when the body comes later", async () => {
    await define("open", { signedUrls: true, access: { read: "public" } });
    const { url } = await upload("x", "open");
    const body = Buffer.from(JSON.stringify({ path: url }));
    const headers = { "content-type": "application/json", "content-length": `${body.length}` };
    const target = ["POST", "/-/signed-urls"] as const;
    const wire = await sendPart(app.port, target, headers, body.subarray(0, 1));
    // A request on another connection is answered, so the head of the first one has been read.
    assert.equal((await read(url)).status, 200);
    wire.write(body.subarray(1));
    const answer = await wire.response();
    assert.equal(answer?.status, 200, `${answer?.body}`);
    wire.destroy();
  });

  it("is not in the log", async () => {
    const signed = await sign((await upload("x")).url);
    const signature = signed.split("signature=")[1] ?? "";
    await read(signed);
    await read(`${signed}x`);
    await log.settled();
    assert.ok(signature.length > 100 && !log.text().includes(signature));
    assert.ok(!log.text().includes("signature="));
  });
});

describe("a changed URL", () => {
  stopClockHere();

  const characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~%&=+/";

  it("is refused after the change of any one character", async () => {
    const { url } = await upload("x");
    const random = randomNumbers(newSeed("changed signed URLs"));
    const pick = () => characters[Math.floor(random() * characters.length)] ?? "";
    const signed = await sign(url);
    for (let round = 0; round < runs(1, 20); round++)
      for (let at = 1; at < signed.length; at++) {
        const [before, now] = [signed[at] ?? "", pick()];
        const swapped =
          before === before.toLowerCase() ? before.toUpperCase() : before.toLowerCase();
        for (const other of [now, swapped].filter((one) => one !== before)) {
          const changed = signed.slice(0, at) + other + signed.slice(at + 1);
          const response = await app.direct(new Request(`http://localhost${changed}`));
          // A slash at the end of the path is redirected to another path, which is refused then.
          assert.ok(response.status >= 400 || response.status === 308, changed);
        }
      }
  });

  it("is refused with a part cut out, doubled, or with more or other parameters", async () => {
    const { url } = await upload("x");
    const signed = await sign(url);
    const signature = signed.split("?")[1] ?? "";
    const changed = [
      ...[`${signed}&`, `${signed}&a=1`, `${signed}&${signature}`, `${signed}=`, `${signed}%20`],
      ...[`${url}?&${signature}`, `${url}?a=1&${signature}`, `${url}?signature=&${signature}`],
      ...[`${url}?${signature}&signature=`, `${url}?%73ignature${signature.slice(9)}`],
      ...[signed.slice(0, -1), signed.slice(0, -20), `${url}?signature=`, `${url}?signature`],
      ...[`${url}?${signature.replace("=", "=.")}`, signed.replace("/docs", "/%64ocs")],
    ];
    for (const each of changed) await assertRefused(each, /does not belong to this URL/);
  });

  it("is refused by a server with another store", async () => {
    const elsewhere = await startApp();
    const signed = await sign((await upload("x")).url);
    const response = await elsewhere.request(signed, { token: null });
    assertProblem(await answerOf(Promise.resolve(response)), "invalid-signature");
    await elsewhere.stop();
  });
});

describe("a request for a signed URL", () => {
  stopClockHere();

  it("is answered as a GET is, when the caller may not read the file", async () => {
    const { url } = await upload("x");
    for (const token of [null, await app.token("others:*")]) {
      const [asked, got] = [await ask(url, 60, token), await new Client(app, token).get(url)];
      assert.equal(asked.status, got.status);
      assert.equal(JSON.parse(asked.body).detail, JSON.parse(got.body).detail);
    }
    assertProblem(await ask(`${url}x`), "not-found");
    assertProblem(await ask("/docs/none/photo"), "not-found");
  });

  it("is 403 where the definition does not say signedUrls", async () => {
    await define("plain", {});
    const { url } = await upload("x", "plain");
    assert.match(assertProblem(await ask(url), "forbidden").detail ?? "", /"signedUrls": true/);
  });

  it("is 400 with a pointer for a wrong body", async () => {
    const { url } = await upload("x");
    const wrong: readonly [path: unknown, expiresIn: unknown, pointer: string][] = [
      [undefined, 60, "/path"],
      [1, 60, "/path"],
      ["", 60, "/path"],
      [url, 0, "/expiresIn"],
      [url, 3601, "/expiresIn"],
      [url, 1.5, "/expiresIn"],
      [url, "60", "/expiresIn"],
      [`https://example.org${url}`, 60, "/path"],
      [`http://localhost${url}`, 60, "/path"],
      [`//example.org${url}`, 60, "/path"],
      [url.slice(1), 60, "/path"],
      [url.replace("/photo", ""), 60, "/path"],
      ["/docs", 60, "/path"],
      ["/-/tokens/1", 60, "/path"],
      [`${url}/more`, 60, "/path"],
      [`${url}#x`, 60, "/path"],
      [`/docs/../docs/1/photo`, 60, "/path"],
      [`${url}?api_key=1`, 60, "/path"],
      [`${url}?signature=1`, 60, "/path"],
      [`${url}?nothing=1`, 60, "/path"],
      [`${url} `, 60, "/path"],
      [`${url}\n`, 60, "/path"],
      [`/docs/%ff/photo`, 60, "/path"],
      ["/".repeat(5000), 60, "/path"],
    ];
    for (const [path, expiresIn, pointer] of wrong) {
      const problem = assertProblem(await ask(path, expiresIn), "invalid-body");
      assert.deepEqual(pointersOf(problem), [pointer], `${path}`);
    }
    const more = await client.post("/-/signed-urls", { path: url, forever: true });
    assert.deepEqual(pointersOf(assertProblem(more, "invalid-body")), ["/forever"]);
  });

  it("takes and returns absolute URLs where the server has a base URL", async () => {
    const other = await startApp({ baseUrl: "https://example.org/api", trustProxy: ["127.0.0.1"] });
    const admin = new Client(other);
    await admin.put("/-/collections/docs", { signedUrls: true });
    const sent = form([file("photo", "a.txt", "x", "text/plain")]);
    const response = await other.request("/docs", { method: "POST", ...sent });
    const { photo } = (await response.json()) as { photo: Shown };
    assert.ok(photo.url.startsWith("https://example.org/api/docs/"));
    const { body } = await admin.post("/-/signed-urls", { path: photo.url });
    const { url } = JSON.parse(body);
    assert.ok(url.startsWith(`${photo.url}?signature=`));
    const path = url.slice("https://example.org/api".length);
    assert.equal((await answerOf(other.request(path, { token: null }))).body, "x");
    const headers = { "x-forwarded-proto": "http" };
    const sentInClear = await answerOf(other.request(path, { token: null, headers }));
    assertProblem(sentInClear, "tls-required", "https://example.org/api");
    await other.stop();
  });
});
