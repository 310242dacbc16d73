// Resumable uploads (draft-ietf-httpbis-resumable-upload): the same result as one request, whatever is cut in between.

import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rm, rmdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { send } from "../runtime/raw-connection.ts";
import { newSeed, randomNumbers, runs } from "../seeds.ts";
import { passTurns } from "../turns-of.ts";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { Client } from "./client.ts";
import { type Answer, assertProblem } from "./expect.ts";
import { file, form, hashOf, type Shown, text } from "./multipart.ts";
import { at, last, more, partial, sendPart, UploadClient } from "./upload-client.ts";

const png = { "content-type": "image/png" };
const maxUploadBytes = 4_000_000;
const maxUnfinishedBytes = 50_000_000;
const unknown = `/-/uploads/${"0".repeat(32)}`;

let app: TestApp;
let client: Client;
let uploads: UploadClient;
let folder: string;
let files: string;
const log = captureLog();
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  files = join(folder, "files");
  app = await startApp({ files, maxUploadBytes, maxUnfinishedBytes }, log.log);
  client = new Client(app);
  uploads = new UploadClient(app);
  await app.post("scans", {});
  await client.put("/-/collections/open", { access: { create: "public", read: "public" } });
});
after(async () => {
  await app.stop();
  await rm(folder, { recursive: true, force: true });
});

const namesIn = async (name: string): Promise<readonly string[]> =>
  existsSync(join(files, name)) ? readdir(join(files, name)) : [];

const idOf = (path: string): string => path.split("/").at(-1) ?? "";

async function assertStored(shown: Shown, bytes: Uint8Array): Promise<void> {
  assert.deepEqual([shown.size, shown.sha256], [bytes.byteLength, hashOf(bytes)]);
  const back = new Uint8Array(await (await app.request(shown.url)).arrayBuffer());
  assert.equal(hashOf(back), hashOf(bytes));
}

/** Waits until the server has written so many bytes of the piece that it receives. */
async function untilWritten(path: string, size: number): Promise<void> {
  const directory = join(files, "partial", idOf(path));
  for (;;) {
    const names = await readdir(directory);
    const isOpen = (name: string) => name.endsWith(".data") && !names.includes(name.slice(0, 6));
    const open = names.find(isOpen);
    if (open !== undefined && (await stat(join(directory, open))).size >= size) return;
    await sleep(5);
  }
}

describe("an upload in several requests", () => {
  it("creates what one request would create", async () => {
    const bytes = randomBytes(1_000_000);
    const named = { ...png, "content-disposition": 'inline; filename="a.png"' };
    const length = { "upload-length": "1000000" };
    const path = await uploads.begin("/scans", { ...named, ...length }, bytes.subarray(0, 300_000));
    assert.match(path, /^\/-\/uploads\/[0-9a-f]{32}$/);
    const second = await uploads.patch(path, 300_000, bytes.subarray(300_000, 300_001));
    assert.equal(second.status, 204, second.body);
    const state = await uploads.send("HEAD", path);
    const shown = ["upload-offset", "upload-complete", "upload-length", "cache-control"];
    assert.deepEqual(
      shown.map((name) => state.headers.get(name)),
      ["300001", "?0", "1000000", "no-store"],
    );
    assert.match(state.headers.get("upload-limit") ?? "", /^max-size=4000000, max-age=86[34]\d\d$/);
    const total = await app.total("scans");
    const done = await uploads.patch(path, 300_001, bytes.subarray(300_001), last);
    assert.equal(done.status, 201, done.body);
    assert.equal(done.headers.get("upload-complete"), "?1");
    assert.equal(done.headers.get("upload-offset"), "1000000");
    const made = JSON.parse(done.body) as { id: string; file: Shown };
    assert.equal(done.headers.get("location"), `/scans/${made.id}`);
    assert.deepEqual([made.file.name, made.file.type], ["a.png", "image/png"]);
    await assertStored(made.file, bytes);
    assert.equal(await app.total("scans"), total + 1);
    assert.deepEqual(await namesIn("partial"), []);
    const finished = await uploads.send("HEAD", path);
    assert.deepEqual(
      ["upload-offset", "upload-complete", "location"].map((name) => finished.headers.get(name)),
      ["1000000", "?1", `/scans/${made.id}`],
    );
  });

  it("does not begin with a method whose body is no file", async () => {
    const { headers: formType } = form([]);
    const make = async () => JSON.parse((await uploads.send("POST", "/open", png, "seen")).body);
    const { id, file: shown } = await make();
    const begun = await namesIn("partial");
    for (const complete of [more, last]) {
      for (const path of ["/open", `/open/${id}`, shown.url, "/-/access/open"])
        for (const method of ["GET", "HEAD", "QUERY"]) {
          const plain = await uploads.send(method, path, formType);
          const answer = await uploads.send(method, path, { ...formType, ...complete });
          assert.equal(answer.status, plain.status, `${method} ${path}`);
        }
      const { status } = await uploads.send("DELETE", (await make()).file.url, complete);
      assert.equal(status, 204);
    }
    assert.deepEqual(await namesIn("partial"), begun);
  });

  it("can be a form with fields and files", async () => {
    const photo = randomBytes(70_000);
    const { headers, body } = form([
      text("name", "Ada"),
      file("photo", "a.png", photo, "image/png"),
    ]);
    const path = await uploads.begin("/scans?fields=photo", headers);
    for (let offset = 0; offset < body.length; offset += 33_000) {
      const piece = body.subarray(offset, offset + 33_000);
      const isLast = offset + 33_000 >= body.length;
      const answer = await uploads.patch(path, offset, piece, isLast ? last : more);
      assert.equal(answer.status, isLast ? 201 : 204, answer.body);
      if (isLast) await assertStored(JSON.parse(answer.body).photo, photo);
    }
  });

  it("can replace a file, with the precondition of its first request", async () => {
    const made = JSON.parse((await uploads.send("POST", "/scans", png, "first")).body);
    const { url, sha256 } = made.file as Shown;
    for (const [tag, status] of [
      [sha256, 204],
      [sha256, 412],
    ] as const) {
      const bytes = randomBytes(60_000);
      const headers = { ...png, ...more, "if-match": `"${tag}"` };
      const begun = await uploads.send("PUT", url, headers, bytes.subarray(0, 20_000));
      assert.equal(begun.status, 201, begun.body);
      const path = begun.headers.get("location") ?? "";
      const done = await uploads.patch(path, 20_000, bytes.subarray(20_000), last);
      assert.equal(done.status, status, done.body);
      assert.equal(done.headers.get("upload-complete"), "?1");
      const { file: shown } = (await client.json(`/scans/${made.id}`)) as { file: Shown };
      if (status === 204) await assertStored(shown, bytes);
      else assert.notEqual(shown.sha256, hashOf(bytes));
    }
  });

  it("may be empty, and may end with an empty request", async () => {
    const empty = await uploads.begin("/scans", png);
    const done = await uploads.patch(empty, 0, new Uint8Array(), last);
    assert.equal(done.status, 201, done.body);
    assert.equal(JSON.parse(done.body).file.size, 0);
    const path = await uploads.begin("/scans", png, Buffer.from("abc"));
    const ended = await uploads.patch(path, 3, new Uint8Array(), last);
    assert.equal(JSON.parse(ended.body).file.size, 3);
  });

  it("is decoded as a whole", async () => {
    const bytes = Buffer.from("text ".repeat(20_000));
    const zipped = gzipSync(bytes);
    const headers = { "content-type": "text/plain", "content-encoding": "gzip" };
    const path = await uploads.begin("/scans", headers, zipped.subarray(0, 100));
    const done = await uploads.patch(path, 100, zipped.subarray(100), last);
    assert.equal(done.status, 201, done.body);
    await assertStored(JSON.parse(done.body).file, bytes);
  });

  it("has the Idempotency-Key of its first request", async () => {
    const headers = { ...png, "idempotency-key": '"a-scan"' };
    const results: string[] = [];
    for (const size of [1, 2]) {
      const path = await uploads.begin("/scans", headers, Buffer.from("abcd").subarray(0, size));
      const done = await uploads.patch(path, size, Buffer.from("abcd").subarray(size), last);
      assert.equal(done.status, 201, done.body);
      results.push(JSON.parse(done.body).id);
    }
    assert.equal(results[0], results[1]);
  });

  it("is rejected as one request would be, and then is complete", async () => {
    const schema = { properties: { file: { properties: { size: { maximum: 5 } } } } };
    await client.put("/-/collections/small", { schema });
    const path = await uploads.begin("/small", png, Buffer.from("abc"));
    const done = await uploads.patch(path, 3, Buffer.from("defg"), last);
    assertProblem(done, "invalid-body");
    assert.equal(done.headers.get("upload-complete"), "?1");
    assert.equal(await app.total("small"), 0);
    assert.deepEqual(await namesIn("partial"), []);
    assert.equal((await uploads.send("HEAD", path)).headers.get("upload-complete"), "?1");
  });

  it("stays when its request can succeed later", async () => {
    await client.put("/-/collections/slow", {
      access: { create: "public" },
      rateLimit: { perMinute: 1 },
    });
    const nobody = new UploadClient(app, null);
    const paths = [await nobody.begin("/slow", png), await nobody.begin("/slow", png)];
    const [one, other] = [
      await nobody.patch(paths[0] ?? "", 0, Buffer.from("a"), last),
      await nobody.patch(paths[1] ?? "", 0, Buffer.from("a"), last),
    ];
    assert.equal(one.status, 201, one.body);
    assertProblem(other, "too-many-requests");
    assert.equal(other.headers.get("upload-complete"), "?0");
    assert.equal(await nobody.offset(paths[1] ?? ""), 1);
    await nobody.send("DELETE", paths[1] ?? "");
  });
});

describe("an interrupted request", () => {
  it("leaves what has arrived", async () => {
    const bytes = randomBytes(200_000);
    const path = await uploads.begin("/scans", png);
    const headers = {
      ...{ ...partial, ...last, ...at(0), "content-length": "200000" },
      authorization: `Bearer ${app.admin}`,
    };
    const wire = await sendPart(app.port, ["PATCH", path], headers, bytes.subarray(0, 120_000));
    await untilWritten(path, 120_000);
    wire.destroy();
    assert.equal(await uploads.offset(path), 120_000);
    const done = await uploads.patch(path, 120_000, bytes.subarray(120_000), last);
    assert.equal(done.status, 201, done.body);
    await assertStored(JSON.parse(done.body).file, bytes);
  });

  it("is ended by a later one, and its client is told so", async () => {
    const bytes = randomBytes(100_000);
    const path = await uploads.begin("/scans", png);
    const headers = {
      ...{ ...partial, ...last, ...at(0), "content-length": "100000" },
      authorization: `Bearer ${app.admin}`,
    };
    const wire = await sendPart(app.port, ["PATCH", path], headers, bytes.subarray(0, 50_000));
    await untilWritten(path, 50_000);
    assert.equal(await uploads.offset(path), 50_000);
    const answer = await wire.response();
    assert.equal(answer?.status, 409);
    wire.write(bytes.subarray(50_000));
    const done = await uploads.patch(path, 50_000, bytes.subarray(50_000), last);
    assert.equal(done.status, 201, done.body);
    await assertStored(JSON.parse(done.body).file, bytes);
    wire.destroy();
  });

  it("is resumed at random places, and the result is the same", async () => {
    const random = randomNumbers(newSeed("resumable uploads"));
    const below = (limit: number) => Math.floor(random() * limit);
    for (let run = 0; run < runs(4, 60); run++) {
      const bytes = randomBytes(1 + below(600_000));
      const path = await uploads.begin("/scans", png, bytes.subarray(0, below(2_000)));
      let done: { status: number; body: string } | undefined;
      while (done === undefined) {
        const offset = await uploads.offset(path);
        const end = Math.min(bytes.length, offset + 1 + below(bytes.length));
        const piece = bytes.subarray(offset, end);
        const isCut = random() < 0.5;
        if (!isCut) {
          const answer = await uploads.patch(path, offset, piece, end < bytes.length ? more : last);
          // A request that was cut may begin at the server after the offset was read.
          if (end === bytes.length && answer.status !== 409) done = answer;
          continue;
        }
        const authorization = `Bearer ${app.admin}`;
        const length = { "content-length": String(piece.length + 1) };
        const headers = { ...partial, ...more, ...at(offset), ...length, authorization };
        const wire = await sendPart(app.port, ["PATCH", path], headers, piece);
        if (random() < 0.5) await passTurns(below(10));
        wire.destroy();
      }
      assert.equal(done.status, 201, done.body);
      await assertStored(JSON.parse(done.body).file, bytes);
    }
    assert.deepEqual(await namesIn("partial"), []);
  });
});

describe("a whole upload in one request", () => {
  const draft = (version: string) => ({ "upload-draft-interop-version": version });
  const whole = (size: number) => ({
    ...{ ...png, ...last, ...draft("8"), "content-length": String(size) },
    authorization: `Bearer ${app.admin}`,
  });

  it("is a request like any other", async () => {
    const done = await uploads.send("POST", "/scans", { ...png, ...last }, randomBytes(100));
    assert.equal(done.status, 201, done.body);
    const json = { "content-type": "application/json" };
    const other = await uploads.send("POST", "/scans", { ...json, ...last }, "{}");
    assert.equal(other.status, 201, other.body);
    assert.deepEqual(await namesIn("partial"), []);
  });

  it("is announced with 104, and resumed", async () => {
    const bytes = randomBytes(90_000);
    const wire = await sendPart(
      app.port,
      ["POST", "/scans"],
      whole(90_000),
      bytes.subarray(0, 40_000),
    );
    const interim = await wire.response();
    assert.equal(interim?.status, 104);
    const path = interim?.headers.location ?? "";
    assert.match(interim?.headers["upload-limit"] ?? "", /^max-size=4000000, max-age=/);
    assert.equal(interim?.headers["upload-draft-interop-version"], "8");
    await untilWritten(path, 40_000);
    wire.destroy();
    const offset = await uploads.offset(path);
    assert.equal(offset, 40_000);
    const done = await uploads.patch(path, offset, bytes.subarray(offset), last);
    assert.equal(done.status, 201, done.body);
    await assertStored(JSON.parse(done.body).file, bytes);
  });

  it("is announced in the version of its client, and only to one that knows 104", async () => {
    const known = ["6", "7", "8"];
    for (const version of [...known, "5", "9", "x", undefined]) {
      for (const completes of [more, last]) {
        const fields = { ...whole(3), ...completes, ...draft(version ?? "") };
        const lines = Object.entries(fields)
          .filter(([, value]) => value !== "")
          .map(([name, value]) => `${name}: ${value}\r\n`);
        const request = `POST /scans HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${lines.join("")}\r\nabc`;
        const { responses } = await send(app.port, request);
        assert.deepEqual(
          responses.map(({ status }) => status),
          known.includes(version ?? "") ? [104, 201] : [201],
          `${version}`,
        );
        if (responses.length === 2)
          assert.equal(responses[0]?.headers["upload-draft-interop-version"], version);
        const path = responses.at(-1)?.headers.location ?? "";
        assert.equal((await uploads.send("DELETE", path)).status, 204);
      }
    }
  });

  it("gets no interim response over HTTP/1.0", async () => {
    const fields = Object.entries(whole(3)).map(([name, value]) => `${name}: ${value}\r\n`);
    const { responses } = await send(app.port, `POST /scans HTTP/1.0\r\n${fields.join("")}\r\nabc`);
    assert.deepEqual(
      responses.map(({ status }) => status),
      [201],
    );
  });
});

describe("a wrong request", () => {
  const abc = Buffer.from("abc");

  it("at another offset gets the right one", async () => {
    const path = await uploads.begin("/scans", png, abc);
    for (const offset of [0, 2, 4, 999]) {
      const answer = await uploads.patch(path, offset, abc);
      const problem = assertProblem(answer, "mismatching-upload-offset");
      assert.equal(
        problem.type,
        "https://iana.org/assignments/http-problem-types#mismatching-upload-offset",
      );
      assert.equal(answer.headers.get("upload-offset"), "3");
      const members = JSON.parse(answer.body);
      assert.deepEqual([members["expected-offset"], members["provided-offset"]], [3, offset]);
    }
    assert.equal(await uploads.offset(path), 3);
    assert.equal((await uploads.send("DELETE", path)).status, 204);
  });

  it("without its fields, or of another type, changes nothing", async () => {
    const path = await uploads.begin("/scans", png);
    const wrong = [
      { ...partial, ...more },
      { ...partial, ...at(0) },
      { ...partial, ...at(0), "upload-complete": "yes" },
      { ...partial, ...more, "upload-offset": "-1" },
    ];
    for (const headers of wrong)
      assertProblem(await uploads.send("PATCH", path, headers, abc), "malformed-request");
    for (const headers of [
      { ...png, ...more, ...at(0) },
      { ...partial, ...more, ...at(0), "content-encoding": "gzip" },
    ])
      assertProblem(await uploads.send("PATCH", path, headers, abc), "unsupported-media-type");
    assertProblem(await uploads.send("HEAD", `${path}?x=1`).then(withBody), "invalid-parameter");
    assert.equal(await uploads.offset(path), 0);
    await uploads.send("DELETE", path);
  });

  it("for an upload that does not exist is 404", async () => {
    const path = await uploads.begin("/scans", png);
    await uploads.send("DELETE", path);
    for (const each of [path, unknown, "/-/uploads/x", "/-/uploads/..%2fincoming"]) {
      assert.equal((await uploads.send("HEAD", each)).status, 404, each);
      assertProblem(await uploads.send("GET", each), "not-found");
      assertProblem(await uploads.patch(each, 0, abc), "not-found");
      assertProblem(await uploads.send("DELETE", each), "not-found");
    }
  });

  it("after the end is rejected", async () => {
    const path = await uploads.begin("/scans", png, abc);
    assert.equal((await uploads.patch(path, 3, abc, last)).status, 201);
    assertProblem(await uploads.patch(path, 6, new Uint8Array(), last), "completed-upload");
    assertProblem(await uploads.patch(path, 6, abc, last), "inconsistent-upload-length");
    assert.equal((await uploads.send("DELETE", path)).status, 204);
    assertProblem(await uploads.send("GET", path), "not-found");
  });

  it("with contradicting lengths is rejected", async () => {
    const length = (bytes: number) => ({ "upload-length": String(bytes) });
    const begun = await uploads.send("POST", "/scans", { ...png, ...more, ...length(2) }, abc);
    assertProblem(begun, "inconsistent-upload-length");
    const path = await uploads.begin("/scans", { ...png, ...length(5) }, abc);
    const bodies: readonly (readonly [Uint8Array, Readonly<Record<string, string>>])[] = [
      [abc, more],
      [abc, last],
      [abc.subarray(1), { ...last, ...length(6) }],
      [abc.subarray(2), last],
    ];
    for (const [body, headers] of bodies)
      assertProblem(await uploads.patch(path, 3, body, headers), "inconsistent-upload-length");
    assert.equal(await uploads.offset(path), 3);
    assert.equal((await uploads.patch(path, 3, abc.subarray(1), last)).status, 201);
  });

  it("with more bytes than it announced ends the upload", async () => {
    const path = await uploads.begin("/scans", { ...png, "upload-length": "5" });
    const head = [
      ...[`PATCH ${path} HTTP/1.1`, "Host: x", `Authorization: Bearer ${app.admin}`],
      ...["Content-Type: application/partial-upload", "Transfer-Encoding: chunked"],
      ...["Upload-Offset: 0", "Upload-Complete: ?0", "", ""],
    ].join("\r\n");
    const { responses } = await send(app.port, `${head}9\r\n123456789\r\n0\r\n\r\n`);
    assert.equal(responses.at(-1)?.status, 400);
    assert.equal((await uploads.send("HEAD", path)).status, 404);
  });

  it("with JSON is not begun", async () => {
    const headers = { "content-type": "application/json", ...more };
    assertProblem(await uploads.send("POST", "/scans", headers, "{}"), "malformed-request");
  });
});

/** HEAD has no body, so the same problem is read with GET. */
const withBody = async ({ status }: { status: number }) => {
  const answer = await uploads.send("GET", `${unknown}?x=1`);
  assert.equal(answer.status, status);
  return answer;
};

describe("digests", () => {
  const digestOf = (bytes: Uint8Array) =>
    `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;

  it("of a request are checked, and a wrong one adds nothing", async () => {
    const bytes = randomBytes(50_000);
    const path = await uploads.begin("/scans", png);
    const wrong = { ...more, "content-digest": digestOf(Buffer.from("x")) };
    assertProblem(await uploads.patch(path, 0, bytes, wrong), "invalid-body");
    assert.equal(await uploads.offset(path), 0);
    const right = { ...last, "content-digest": digestOf(bytes) };
    const done = await uploads.patch(path, 0, bytes, right);
    assert.equal(done.status, 201, done.body);
    await assertStored(JSON.parse(done.body).file, bytes);
  });

  it("of the whole are checked at the end", async () => {
    const bytes = randomBytes(1_000);
    for (const isRight of [true, false]) {
      const digest = digestOf(isRight ? bytes : bytes.subarray(1));
      const headers = { ...png, "repr-digest": digest };
      const path = await uploads.begin("/scans", headers, bytes.subarray(0, 10));
      const done = await uploads.patch(path, 10, bytes.subarray(10), last);
      assert.equal(done.status, isRight ? 201 : 400, done.body);
      assert.equal(done.headers.get("upload-complete"), "?1");
    }
  });
});

describe("limits", () => {
  it("of the size hold at the beginning and while bytes arrive", async () => {
    const long = { ...png, ...more, "upload-length": String(maxUploadBytes + 1) };
    const begun = await uploads.send("POST", "/scans", long);
    assertProblem(begun, "content-too-large");
    assert.match(begun.headers.get("upload-limit") ?? "", /max-size=4000000/);
    await client.put("/-/collections/tiny", { maxBytes: 10 });
    const path = await uploads.begin("/tiny", png, Buffer.from("12345678"));
    const answer = await uploads.patch(path, 8, Buffer.from("abc"));
    assertProblem(answer, "content-too-large");
    assert.match(answer.headers.get("upload-limit") ?? "", /max-size=10/);
    await uploads.send("DELETE", path);
  });

  it("are shown by OPTIONS", async () => {
    for (const path of ["/scans", "/scans/1", unknown]) {
      const { headers } = await app.request(path, { method: "OPTIONS" });
      assert.match(headers.get("accept-patch") ?? "", /application\/partial-upload/);
      assert.match(headers.get("upload-limit") ?? "", /^max-size=4000000$/);
    }
    const { headers } = await app.request("/-/tokens", { method: "OPTIONS" });
    assert.equal(headers.get("upload-limit"), null);
  });

  it("of all unfinished uploads hold for their announced lengths", async () => {
    const long = { ...png, "upload-length": String(maxUploadBytes) };
    const newCaller = async () => new UploadClient(app, await app.token("scans:create"));
    const [one, two] = [uploads, await newCaller()];
    const [three, four] = [await newCaller(), await newCaller()];
    const paths: (readonly [UploadClient, string])[] = [];
    const begin = async (caller: UploadClient, headers: Record<string, string>) =>
      paths.push([caller, await caller.begin("/scans", headers)]);
    const rejected = async (caller: UploadClient) =>
      assertProblem(await caller.send("POST", "/scans", { ...long, ...more }), "storage-full")
        .detail;
    const perCaller = Math.floor(maxUnfinishedBytes / 2 / maxUploadBytes);
    for (const caller of [one, two]) {
      for (let count = 0; count < perCaller; count++) await begin(caller, long);
      assert.match(await rejected(caller), /one subject may have 25000000 bytes/);
    }
    const left = maxUnfinishedBytes - 2 * perCaller * maxUploadBytes;
    await begin(three, { ...png, "upload-length": String(left) });
    // It is not left behind: its client learns no address.
    const before = await namesIn("partial");
    assertProblem(await four.send("POST", "/scans", { ...png, ...more }, "abc"), "storage-full");
    assert.deepEqual(await namesIn("partial"), before);
    assert.match(await rejected(four), /50000000 bytes/);
    assert.equal((await uploads.send("POST", "/scans", png, "abc")).status, 201);
    for (const [caller, path] of paths)
      assert.equal((await caller.send("DELETE", path)).status, 204);
    await uploads.send("DELETE", await uploads.begin("/scans", long));
    assert.deepEqual(await namesIn("partial"), []);
  });
});

describe("an upload that is begun and rejected", () => {
  it("leaves nothing when its client has not learned the address", async () => {
    await client.put("/-/collections/small", { maxBytes: 10 });
    const digest = createHash("sha256").update("other").digest("base64");
    for (const [path, fields, kind] of [
      ["/small", {}, "content-too-large"],
      ["/scans", { "content-digest": `sha-256=:${digest}:` }, "invalid-body"],
    ] as const) {
      const answer = await uploads.send(
        "POST",
        path,
        { ...png, ...more, ...fields },
        "hello world",
      );
      assertProblem(answer, kind);
      assert.deepEqual(await namesIn("partial"), []);
    }
  });

  it("leaves nothing when the connection is lost before its client has learned the address", async () => {
    const fields = {
      ...png,
      ...more,
      authorization: `Bearer ${app.admin}`,
      "content-length": "10",
    };
    const wire = await sendPart(app.port, ["POST", "/scans"], fields, Buffer.from("abc"));
    while ((await namesIn("partial")).length === 0) await sleep(5);
    wire.destroy();
    while ((await namesIn("partial")).length > 0) await sleep(5);
    assert.deepEqual(await namesIn("partial"), []);
  });

  it("does not keep others from uploading, when anyone may begin one", async () => {
    const nobody = new UploadClient(app, null);
    const long = { ...png, ...more, "upload-length": String(maxUploadBytes) };
    const paths: string[] = [];
    const quarter = Math.floor(maxUnfinishedBytes / 4 / maxUploadBytes);
    for (let count = 0; count < quarter; count++)
      paths.push(await nobody.begin("/open", { ...png, "upload-length": String(maxUploadBytes) }));
    const { detail } = assertProblem(await nobody.send("POST", "/open", long), "storage-full");
    assert.match(detail, /without a token may have 12500000 bytes together/);
    paths.push(await uploads.begin("/scans", { ...png, "upload-length": String(maxUploadBytes) }));
    for (const path of paths) assert.equal((await uploads.send("DELETE", path)).status, 204);
  });
});

describe("the caller", () => {
  const abc = Buffer.from("abc");

  it("needs the right to make the request", async () => {
    const reader = new UploadClient(app, await app.token("scans:read"));
    const begun = await reader.send("POST", "/scans", { ...png, ...more }, abc);
    assertProblem(begun, "insufficient-scope");
    const nobody = new UploadClient(app, null);
    assertProblem(await nobody.send("POST", "/scans", { ...png, ...more }), "unauthenticated");
    assert.deepEqual(await namesIn("partial"), []);
  });

  it("is the only one who can continue", async () => {
    const owner = new UploadClient(app, await app.token("scans:create"));
    const path = await owner.begin("/scans", png, abc);
    const others = [app.admin, await app.token("scans:create"), null];
    for (const token of others) {
      const other = new UploadClient(app, token);
      assertProblem(await other.send("GET", path), "not-found");
      assertProblem(await other.patch(path, 3, abc), "not-found");
      assertProblem(await other.send("DELETE", path), "not-found");
    }
    assert.equal((await owner.patch(path, 3, abc, last)).status, 201);
  });

  it("is not interrupted by others", async () => {
    const bytes = randomBytes(100_000);
    const token = await app.token("scans:create");
    const path = await new UploadClient(app, token).begin("/scans", png);
    const headers = {
      ...{ ...partial, ...last, ...at(0), "content-length": "100000" },
      authorization: `Bearer ${token}`,
    };
    const wire = await sendPart(app.port, ["PATCH", path], headers, bytes.subarray(0, 50_000));
    await untilWritten(path, 50_000);
    for (const other of [new UploadClient(app, null), uploads]) {
      assertProblem(await other.send("GET", path), "not-found");
      assertProblem(await other.patch(path, 50_000, abc), "not-found");
      assertProblem(await other.send("DELETE", path), "not-found");
    }
    wire.write(bytes.subarray(50_000));
    assert.equal((await wire.response())?.status, 201);
    wire.destroy();
  });

  it("creates one resource, also when another of its tokens sends the end once more", async () => {
    const scopes = ["scans:create"];
    const tokens = await Promise.all(
      ["phone", "tablet"].map(async (name) => {
        const made = await client.post("/-/tokens", { name, subject: "ann", scopes });
        return JSON.parse(made.body).token as string;
      }),
    );
    const [phone, tablet] = tokens.map((token) => new UploadClient(app, token));
    assert.ok(phone && tablet);
    for (const key of [{}, { "idempotency-key": '"own"' }]) {
      const path = await phone.begin("/scans", { ...png, ...key });
      const headers = {
        ...{ ...partial, ...last, ...at(0), "content-length": "3" },
        authorization: `Bearer ${tokens[0]}`,
      };
      const wire = await sendPart(app.port, ["PATCH", path], headers, abc.subarray(0, 2));
      await untilWritten(path, 2);
      // The end cannot be noted, as when the server is killed at that moment.
      const note = join(files, "finished", idOf(path));
      await mkdir(note, { recursive: true });
      wire.write(abc.subarray(2));
      const first = await wire.response();
      assert.equal(first?.status, 201);
      await rmdir(note);
      const again: Answer = await tablet.patch(path, 3, new Uint8Array(), last);
      assert.equal(again.status, 201, again.body);
      assert.equal(again.headers.get("location"), first?.headers.location);
      wire.destroy();
    }
  });

  it("cannot continue with a token that was revoked", async () => {
    const made = await client.post("/-/tokens", { name: "phone", scopes: ["scans:create"] });
    const { id, token } = JSON.parse(made.body);
    const phone = new UploadClient(app, token);
    const path = await phone.begin("/scans", png, abc);
    assert.equal((await client.remove(`/-/tokens/${id}`)).status, 204);
    assertProblem(await phone.patch(path, 3, abc, last), "unauthenticated");
  });

  it("needs the rights of the moment when the upload is complete", async () => {
    await client.put("/-/collections/closing", { access: { create: "public" } });
    const nobody = new UploadClient(app, null);
    const path = await nobody.begin("/closing", png, abc);
    await client.put("/-/collections/closing", {});
    const done = await nobody.patch(path, 3, abc, last);
    assertProblem(done, "unauthenticated");
    assert.equal(done.headers.get("upload-complete"), "?1");
    assert.equal(await app.total("closing"), 0);
  });

  it("without a token continues by the address of the upload", async () => {
    const nobody = new UploadClient(app, null);
    const path = await nobody.begin("/open", png, abc);
    assert.equal((await nobody.patch(path, 3, abc, last)).status, 201);
    await log.settled();
    assert.ok(log.text().includes("/-/uploads/"));
    assert.ok(!log.text().includes(idOf(path)), "the log has the id of an upload");
  });
});
