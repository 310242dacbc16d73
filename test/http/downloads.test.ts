// Downloads: whole files and ranges, permissions, and headers that keep browsers safe.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { readRanges } from "../../src/http/headers/range.ts";
import { openConnection } from "../runtime/raw-connection.ts";
import { newSeed, randomNumbers } from "../seeds.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { answerOf, assertProblem, expectProblem } from "./expect.ts";
import { file, form, hashOf, type Shown } from "./multipart.ts";

let app: TestApp;
let client: Client;
const bytes = randomBytes(200_000);
let photo: Shown;
before(async () => {
  app = await startApp();
  client = new Client(app);
  photo = await upload("people", "a.bin", bytes);
});
after(() => app.stop());

/** The one file of a new resource. */
async function upload(
  collection: string,
  name: string,
  content: Uint8Array | string,
  type?: string,
  token = app.admin,
): Promise<Shown> {
  const sent = form([file("photo", name, content, type)]);
  const response = await app.request(`/${collection}`, { method: "POST", ...sent, token });
  assert.equal(response.status, 201);
  return ((await response.json()) as { photo: Shown }).photo;
}

type Fields = Readonly<Record<string, string>>;
const get = (headers: Fields = {}, { url } = photo, method = "GET") =>
  app.request(url, { method, headers });

const define = async (name: string, definition: unknown) =>
  assert.ok((await client.put(`/-/collections/${name}`, definition)).status < 300);

describe("a file", () => {
  it("has its type, length, name and an ETag that is its hash", async () => {
    const response = await get();
    const { headers } = response;
    assert.equal(response.status, 200);
    assert.equal(hashOf(new Uint8Array(await response.arrayBuffer())), hashOf(bytes));
    assert.equal(headers.get("content-type"), "application/octet-stream");
    assert.equal(headers.get("content-length"), `${bytes.length}`);
    assert.equal(headers.get("content-disposition"), 'attachment; filename="a.bin"');
    assert.equal(headers.get("etag"), `"${hashOf(bytes)}"`);
    assert.equal(headers.get("accept-ranges"), "bytes");
    assert.equal(headers.get("cache-control"), "private, no-cache");
    assert.ok(
      Date.parse(headers.get("last-modified") ?? "") <= Date.parse(headers.get("date") ?? ""),
    );
  });

  it("has the same headers for HEAD, with any range", async () => {
    for (const fields of [{}, { range: "bytes=0-1" }] as readonly Fields[]) {
      const [of, whole] = [await get(fields, photo, "HEAD"), await get()];
      assert.equal(of.status, 200);
      for (const name of "content-length content-type etag last-modified accept-ranges".split(" "))
        assert.equal(of.headers.get(name), whole.headers.get(name), name);
      await whole.body?.cancel();
    }
  });

  it("has its digest, which a client can decline", async () => {
    const digest = `sha-256=:${Buffer.from(hashOf(bytes), "hex").toString("base64")}:`;
    const digestsOf = async (fields: Fields, method = "GET") => {
      const { headers, body } = await get(fields, photo, method);
      await body?.cancel();
      return [headers.get("content-digest"), headers.get("repr-digest")];
    };
    assert.deepEqual(await digestsOf({}), [digest, digest]);
    assert.deepEqual(await digestsOf({}, "HEAD"), [null, digest]);
    assert.deepEqual(await digestsOf({ range: "bytes=0-9" }), [null, digest]);
    assert.deepEqual(await digestsOf({ range: "bytes=0-9, 20-29" }), [null, digest]);
    assert.deepEqual(await digestsOf({ "if-none-match": "*" }), [null, null]);
    for (const field of ["sha-512=3, sha-256=10", "sha-256=1", "md5=1", "unreadable"])
      assert.deepEqual(await digestsOf({ "want-repr-digest": field }), [digest, digest]);
    for (const field of ["sha-256=0", "sha-512=3,  sha-256=0;a=1", "sha-256=0 , md5=1"]) {
      assert.deepEqual(await digestsOf({ "want-repr-digest": field }), [digest, null]);
      assert.deepEqual(await digestsOf({ "want-content-digest": field }), [null, digest]);
    }
  });

  it("has a charset when it is text, so that no browser guesses one", async () => {
    const types: readonly [sent: string, served: string][] = [
      ["text/plain", "text/plain; charset=utf-8"],
      ["text/csv; header=present", "text/csv; header=present; charset=utf-8"],
      ["text/html; charset=iso-8859-1", "text/html; charset=iso-8859-1"],
      ["Text/Plain; Charset=UTF-16", "text/plain; charset=UTF-16"],
      ["application/xml", "application/xml"],
      ["image/png", "image/png"],
    ];
    for (const [sent, served] of types) {
      const shown = await upload("people", "a", "Grüße", sent);
      assert.equal((await get({}, shown)).headers.get("content-type"), served);
      assert.equal((await get({}, shown, "HEAD")).headers.get("content-type"), served);
      assert.ok(served.startsWith(shown.type), "the representation shows what was sent");
    }
  });

  it("is never encoded, whatever the client accepts", async () => {
    const long = await upload("people", "a.txt", "a".repeat(50_000), "text/plain");
    const { headers } = await get({ "accept-encoding": "gzip, br, zstd" }, long);
    assert.equal(headers.get("content-encoding"), null);
    assert.equal(headers.get("content-length"), "50000");
  });

  it("runs no script, and is shown inline only where that is safe", async () => {
    const types: readonly [type: string, isShown: boolean][] = [
      ["image/png", true],
      ["image/jpeg", true],
      ["audio/mpeg", true],
      ["video/mp4", true],
      ["text/plain", true],
      ["text/plain; charset=utf-8", true],
      ["image/svg+xml", false],
      ["IMAGE/SVG+XML", false],
      ["image/x+xml", false],
      ["text/html", false],
      ["text/css", false],
      ["application/pdf", false],
      ["application/xhtml+xml", false],
      ["application/javascript", false],
      ["application/octet-stream", false],
    ];
    for (const [type, isShown] of types) {
      const { headers } = await get({}, await upload("people", "a", "<script>", type));
      const kind = isShown ? "inline" : "attachment";
      assert.equal(headers.get("content-disposition"), `${kind}; filename="a"`, type);
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.match(headers.get("content-security-policy") ?? "", /^sandbox; default-src 'none'/);
    }
  });

  it("has a file name that is preserved and cannot add other parameters", async () => {
    const names: readonly [sent: string, said: string][] = [
      ["Grüße.txt", "filename=\"Gru_e.txt\"; filename*=UTF-8''Gr%C3%BC%C3%9Fe.txt"],
      ["a%22b;c=d.txt", "filename=\"a_b;c=d.txt\"; filename*=UTF-8''a%22b%3Bc%3Dd.txt"],
      ["100%.txt", "filename=\"100_.txt\"; filename*=UTF-8''100%25.txt"],
      ["😀.png", "filename=\"_.png\"; filename*=UTF-8''%F0%9F%98%80.png"],
      ["it's (1).png", 'filename="it\'s (1).png"'],
      ["日本.png", "filename=\"__.png\"; filename*=UTF-8''%E6%97%A5%E6%9C%AC.png"],
    ];
    for (const [sent, said] of names) {
      const { headers } = await get({}, await upload("people", sent, "x"));
      assert.equal(headers.get("content-disposition"), `attachment; ${said}`);
    }
    const { headers } = await get({}, await upload("people", "/", "x"));
    assert.equal(headers.get("content-disposition"), "attachment");
  });

  it("is 404 when it does not exist", async () => {
    const [, , id] = photo.url.split("/");
    const nowhere = ["other", "photo.1", "photo.", "PHOTO", "id", "__proto__", "constructor"];
    for (const slot of nowhere) {
      const answer = await answerOf(app.request(`/people/${id}/${slot}`));
      assert.ok([400, 404].includes(answer.status), `${slot}: ${answer.status}`);
    }
    await expectProblem(app.request("/people/nobody/photo"), "not-found");
    await expectProblem(app.request("/nothing/nobody/photo"), "not-found");
    await expectProblem(app.request(`${photo.url}?x=1`), "invalid-parameter");
    for (const method of ["POST", "PATCH"])
      await expectProblem(app.request(photo.url, { method }), "method-not-allowed");
  });

  it("is reported as damaged when its bytes are missing on disk, and unavailable when the disk fails", async () => {
    const files = join(await mkdtemp(join(tmpdir(), "restante-")), "files");
    const other = await startApp({ files });
    try {
      const sent = form([file("photo", "a", "x")]);
      const made = await other.request("/people", { method: "POST", ...sent });
      const { id, photo: lost } = (await made.json()) as { id: string; photo: Shown };
      await rm(files, { recursive: true });
      const { detail } = await expectProblem(other.request(lost.url), "damaged");
      assert.match(detail, new RegExp(`"${id}" in the collection "people"`));
      assert.equal((await other.request(`/people/${id}`)).status, 200);
      await writeFile(files, "");
      const problem = await expectProblem(other.request(lost.url), "unavailable");
      assert.match(problem.detail, /^The storage of files does not answer now. Requests without/);
      await rm(files);
    } finally {
      await other.stop();
    }
  });
});

describe("a conditional download", () => {
  it("of an unchanged file is 304", async () => {
    const { headers } = await get({}, photo, "HEAD");
    const known: readonly Fields[] = [
      { "if-none-match": photo && `"${photo.sha256}"` },
      { "if-none-match": "*" },
      { "if-modified-since": headers.get("last-modified") ?? "" },
    ];
    for (const fields of known) {
      const { status, headers: again, body } = await answerOf(get(fields));
      assert.deepEqual([status, body], [304, ""]);
      assert.equal(again.get("etag"), headers.get("etag"));
      assert.equal(again.get("cache-control"), headers.get("cache-control"));
    }
    assert.equal((await get({ "if-none-match": '"other"', range: "bytes=0-0" })).status, 206);
  });

  it("of another file is 412", async () => {
    assertProblem(await answerOf(get({ "if-match": '"other"' })), "precondition-failed");
    assert.equal((await get({ "if-match": `"${photo.sha256}"`, range: "bytes=0-0" })).status, 206);
  });
});

describe("a range", () => {
  const { length } = bytes;
  const ranges: readonly [field: string, start: number, end: number][] = [
    ["bytes=0-99", 0, 100],
    ["bytes=0-0", 0, 1],
    ["bytes=100-199", 100, 200],
    [`bytes=${length - 1}-`, length - 1, length],
    ["bytes=-500", length - 500, length],
    ["bytes=-1", length - 1, length],
    [`bytes=-${length + 5}`, 0, length],
    [`bytes=10-${length + 100}`, 10, length],
    ["bytes=0-", 0, length],
    ["BYTES=65535-65537", 65_535, 65_538],
    ["bytes= 1-2 ", 1, 3],
    ["bytes=5-99999999999999999999", 5, length],
    ["bytes=0-9, 5-20", 0, 21],
    ["bytes=,0-9, ,10-20,", 0, 21],
    ["bytes=10-19,0-9", 0, 20],
    [`bytes=7-7, ${length}-, -0`, 7, 8],
    [`bytes=${"0-1,".repeat(9)}0-1`, 0, 2],
  ];
  for (const [field, start, end] of ranges) {
    it(`${field} returns exactly these bytes`, async () => {
      const response = await get({ range: field });
      assert.equal(response.status, 206);
      const { headers } = response;
      assert.equal(headers.get("content-range"), `bytes ${start}-${end - 1}/${length}`);
      assert.equal(headers.get("content-length"), `${end - start}`);
      assert.equal(headers.get("etag"), `"${photo.sha256}"`);
      const got = Buffer.from(await response.arrayBuffer());
      assert.ok(got.equals(bytes.subarray(start, end)));
    });
  }

  const ignored = [
    ..."bytes=2-1 bytes=a-b bytes=1-2-3 bytes bytes= bytes=- lines=0-1".split(" "),
    `bytes=${"0-1,".repeat(1000)}5-6`,
    `bytes=${",".repeat(1000)}0-1`,
    "bytes=, ,",
    "bytes=0-1, 5-4",
    "bytes=1.5-2",
  ];
  for (const field of ignored) {
    it(`${field.slice(0, 40)} returns the whole file`, async () => {
      const response = await get({ range: field });
      assert.equal(response.status, 200);
      assert.equal(response.headers.get("content-range"), null);
      assert.equal((await response.arrayBuffer()).byteLength, length);
    });
  }

  for (const field of [
    `bytes=${length}-`,
    "bytes=99999999999999999999-",
    "bytes=99999999999999999999-99999999999999999999",
    "bytes=-0",
    "bytes=-0, 300000-",
  ]) {
    it(`${field} is not satisfiable`, async () => {
      const answer = await answerOf(get({ range: field }));
      assertProblem(answer, "range-not-satisfiable");
      assert.equal(answer.headers.get("content-range"), `bytes */${length}`);
    });
  }

  it("of an empty file is not satisfiable, but the whole file can be read", async () => {
    const empty = await upload("people", "e", "");
    for (const range of ["bytes=0-", "bytes=0-0", "bytes=-5"])
      assertProblem(await answerOf(get({ range }, empty)), "range-not-satisfiable");
    const whole = await get({}, empty);
    assert.equal(whole.headers.get("content-length"), "0");
    assert.equal((await whole.arrayBuffer()).byteLength, 0);
  });

  it("with If-Range needs the same file", async () => {
    const range = "bytes=0-0";
    const modified = (await get({}, photo, "HEAD")).headers.get("last-modified") ?? "";
    const statusOf = async (field: string) => {
      const response = await get({ range, "if-range": field });
      await response.arrayBuffer();
      return response.status;
    };
    assert.equal(await statusOf(`"${photo.sha256}"`), 206);
    assert.equal(await statusOf(modified), 206);
    const others = [
      '"other"',
      `W/"${photo.sha256}"`,
      photo.sha256,
      "Sun, 06 Nov 1994 08:49:37 GMT",
    ];
    for (const other of others) assert.equal(await statusOf(other), 200, other);
  });

  it("is always within the file", () => {
    const random = randomNumbers(newSeed("ranges"));
    for (let round = 0; round < 2000; round++) {
      const number = () => (random() < 0.2 ? "" : `${Math.floor(random() * 30)}`);
      const size = Math.floor(random() * 20);
      const field = `bytes=${number()}-${number()}, ${number()}-${number()}`;
      const ranges = readRanges(new Headers({ range: field }), size);
      if (typeof ranges !== "object") continue;
      for (const { start, end } of ranges) assert.ok(0 <= start && start < end && end <= size);
    }
  });

  it("over a plain socket has its length, and the connection stays open", async () => {
    const ask = `GET ${photo.url} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.admin}\r\nRange: bytes=5-9\r\n\r\n`;
    const wire = await openConnection(app.port);
    for (let round = 0; round < 3; round++) {
      wire.write(ask);
      const answer = await wire.response();
      assert.deepEqual([answer?.status, answer?.headers["content-length"]], [206, "5"]);
      assert.ok(answer?.bytes.equals(bytes.subarray(5, 10)));
    }
    wire.destroy();
  });
});

describe("permission to read a file", () => {
  it("is that of its resource", async () => {
    await expectProblem(app.request(photo.url, { token: null }), "unauthenticated");
    const other = await app.token("places:read");
    await expectProblem(app.request(photo.url, { token: other }), "insufficient-scope");
    const reader = await app.token("people:read");
    assert.equal((await app.request(photo.url, { token: reader })).status, 200);
  });

  it("is public when the collection is, and then shared caches may store the file", async () => {
    await define("posters", { access: { read: "public" }, cache: { maxAge: 60 } });
    const { url } = await upload("posters", "a", "x");
    const response = await app.request(url, { token: null });
    assert.equal(await response.text(), "x");
    assert.equal(response.headers.get("cache-control"), "public, max-age=60");
  });

  it("belongs to the owner only when the collection says so", async () => {
    await define("diaries", { access: { read: "owner", create: "token" } });
    const [mine, others] = [await app.token("diaries:*"), await app.token("diaries:*")];
    const { url } = await upload("diaries", "a", "secret", undefined, mine);
    assert.equal(await (await app.request(url, { token: mine })).text(), "secret");
    await expectProblem(app.request(url, { token: others }), "not-found");
    await expectProblem(
      app.request(url, { token: others, headers: { range: "bytes=99-" } }),
      "not-found",
    );
    await expectProblem(app.request(url, { token: null }), "unauthenticated");
  });
});
