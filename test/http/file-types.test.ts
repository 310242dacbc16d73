// Other media types: a POST of an image, a document or a table creates a resource with one file.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { send } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";
import { filesIn, hashOf, type Shown } from "./multipart.ts";

let app: TestApp;
let client: Client;
let files: string;
before(async () => {
  files = await mkdtemp(join(tmpdir(), "restante-"));
  app = await startApp({ files, maxUploadBytes: 100_000, maxBodyBytes: 1000 });
  client = new Client(app);
  await app.post("scans", {});
});
after(async () => {
  await app.stop();
  await rm(files, { recursive: true, force: true });
});

type Fields = Readonly<Record<string, string>>;

const post = (body: string | Uint8Array, headers: Fields): Promise<Answer> =>
  answerOf(app.request("/scans", { method: "POST", headers, body: Buffer.from(body as string) }));

async function made(body: string | Uint8Array, headers: Fields): Promise<Shown> {
  const answer = await post(body, headers);
  assert.equal(answer.status, 201, answer.body);
  const { file, id, createdAt, updatedAt, ...rest } = JSON.parse(answer.body);
  assert.deepEqual([Object.keys(rest), file.url], [[], `/scans/${id}/file`]);
  assert.ok(createdAt === updatedAt);
  return file;
}

async function rejects(kind: Parameters<typeof assertProblem>[1], ask: () => Promise<Answer>) {
  const before = await filesIn(files);
  const problem = await client.rejects("scans", kind, ask);
  assert.deepEqual(await filesIn(files), before);
  return problem;
}

describe("a body of another type", () => {
  const types: readonly [sent: string, kept: string, name: string][] = [
    ["image/png", "image/png", "file.png"],
    ["application/pdf", "application/pdf", "file.pdf"],
    ["text/html; charset=iso-8859-1", "text/html; charset=iso-8859-1", "file.html"],
    ["TEXT/Plain", "text/plain", "file.txt"],
    ["text/plain;charset=UTF8", "text/plain", "file.txt"],
    ["application/xml", "application/xml", "file.xml"],
    ["application/octet-stream", "application/octet-stream", "file"],
    ["application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text", "file"],
  ];
  for (const [sent, kept, name] of types) {
    it(`becomes the file of a new resource: ${sent}`, async () => {
      const bytes = randomBytes(50_000);
      const file = await made(bytes, { "content-type": sent });
      assert.deepEqual([file.name, file.type, file.size], [name, kept, 50_000]);
      assert.equal(file.sha256, hashOf(bytes));
      const response = await app.request(file.url);
      const served = kept === "text/plain" ? "text/plain; charset=utf-8" : kept;
      assert.equal(response.headers.get("content-type"), served);
      assert.equal(hashOf(new Uint8Array(await response.arrayBuffer())), hashOf(bytes));
    });
  }

  it("has the type that a schema names, whatever the client adds: UTF-8 is the default of texts", async () => {
    const cover = { type: "object", properties: { type: { enum: ["text/plain"] } } };
    await client.put("/-/collections/covers", { schema: { properties: { cover } } });
    const form = new FormData();
    form.set("cover", new File(["a"], "a.txt", { type: "text/plain;charset=utf-8" }));
    const response = await app.request("/covers", { method: "POST", body: form });
    const { cover: file } = (await response.json()) as { readonly cover: Shown };
    assert.equal(file.type, "text/plain");
  });

  const names: readonly [field: string, name: string][] = [
    ['attachment; filename="scan 1.png"', "scan 1.png"],
    ["attachment; filename=scan.png", "scan.png"],
    ["inline; filename=\"fallback.png\"; filename*=UTF-8''gr%C3%BC%C3%9Fe.png", "grüße.png"],
    ["attachment; FileName*=utf-8'de'%e2%82%ac.png", "€.png"],
    ["attachment; filename*=UTF-8''%ff; filename=good.png", "good.png"],
    ["attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "passwd"],
    ["attachment; filename*=UTF-8''a%0D%0Ab", "ab"],
    ['attachment; filename="a; b\\"c.png" ; x=y;', 'a; b"c.png'],
    ["attachment ; filename = plain.png ", "plain.png"],
    [`attachment;${" ".repeat(4_000)}filename=a.png`, "a.png"],
    ["attachment", "file.png"],
  ];
  for (const [field, name] of names) {
    it(`has the file name of the header: ${field.slice(0, 80)}`, async () => {
      const headers = { "content-type": "image/png", "content-disposition": field };
      assert.equal((await made("x", headers)).name, name);
    });
  }

  it("may be empty, but must be present", async () => {
    const { responses } = await send(app.port, head("Content-Length: 0"));
    const [answer] = responses;
    assert.equal(answer?.status, 201);
    assert.equal((JSON.parse(answer?.body ?? "") as { file: Shown }).file.size, 0);
    const before = await app.total("scans");
    const { responses: none } = await send(app.port, head("X-Nothing: 1"));
    assert.equal(none[0]?.status, 400);
    assert.equal(await app.total("scans"), before);
  });

  const head = (field: string) =>
    `POST /scans HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${app.admin}\r\nContent-Type: image/png\r\n${field}\r\n\r\n`;

  it("may be encoded, and is stored decoded", async () => {
    const text = "a,b\n".repeat(500);
    const headers = { "content-type": "text/html", "content-encoding": "gzip" };
    const file = await made(gzipSync(text), headers);
    assert.deepEqual([file.size, file.sha256], [text.length, hashOf(text)]);
    await rejects("content-too-large", () => post(gzipSync(Buffer.alloc(200_000)), headers));
    await rejects("invalid-body", () => post(gzipSync(text).subarray(0, 20), headers));
  });

  it("is not stored twice with the same key", async () => {
    const key = { "content-type": "image/png", "idempotency-key": `"${crypto.randomUUID()}"` };
    const first = await post("one", key);
    const before = await filesIn(files);
    assert.equal((await post("one", key)).body, first.body);
    await rejects("key-reused", () => post("two", key));
    await rejects("key-reused", () => post("one", { ...key, "content-type": "image/gif" }));
    assert.deepEqual(await filesIn(files), before);
  });
});

describe("a rejected body leaves nothing behind", () => {
  it("when it is too large, with or without a length", async () => {
    const large = Buffer.alloc(100_001);
    await rejects("content-too-large", () => post(large, { "content-type": "image/png" }));
    const init = {
      method: "POST",
      headers: { "content-type": "image/png" },
      body: new Blob([large]).stream(),
      duplex: "half",
    };
    await rejects("content-too-large", () => answerOf(app.request("/scans", init as RequestInit)));
  });

  it("without a type, of an unknown JSON type, or another multipart type", async () => {
    const types = ["", "*/*", "image/*", "image", "text/json", "application/merge-patch+json"];
    for (const type of [...types, "multipart/mixed; boundary=x", "image/png, image/png"]) {
      const fields: Fields = type === "" ? {} : { "content-type": type };
      const answer = await post("x", fields);
      assert.ok([400, 415].includes(answer.status), `${type}: ${answer.status}`);
    }
    const { detail } = assertProblem(
      await post("x", { "content-type": "text/json" }),
      "unsupported-media-type",
    );
    assert.match(detail, /^text\/json is not accepted\. Send `Content-Type: application\/json`; /);
  });

  it("with an invalid name, a wrong digest, or when JSON is not acceptable", async () => {
    const png = { "content-type": "image/png" };
    for (const field of [
      'a; filename="',
      'a; filename="b" c',
      'a; filename=b"',
      "a; filename",
      "a; =b",
      "a b",
      `a; filename=${" ".repeat(4_000)}b"`,
      `a;${" ".repeat(4_000)}"`,
    ])
      await rejects("malformed-request", () => post("x", { ...png, "content-disposition": field }));
    const digest = `sha-256=:${Buffer.alloc(32).toString("base64")}:`;
    await rejects("invalid-body", () => post("x", { ...png, "content-digest": digest }));
    await rejects("not-acceptable", () => post("x", { ...png, accept: "image/png" }));
  });

  it("that the schema of the collection does not allow", async () => {
    const schema = {
      type: "object",
      properties: { file: { type: "object", properties: { type: { pattern: "^image/" } } } },
    };
    assert.ok((await client.put("/-/collections/scans", { schema })).status < 300);
    await rejects("invalid-body", () => post("x", { "content-type": "text/html" }));
    await made("x", { "content-type": "image/png" });
    assert.ok((await client.put("/-/collections/scans", {})).status < 300);
  });
});

describe("JSON with a text type", () => {
  const long = "x".repeat(2_000);
  const rejected: readonly string[] = [
    "{}",
    '{"name":"Ada"}',
    ' \r\n\t{"name": "Ada",\n "age": 36}\n',
    '\ufeff{"name":"Ada"}',
    '[{"name":"Ada"}]',
    "[]",
    '{"name":"Ada"}\n{"name":"Bob"}\n',
    '{"a":1,"a":2}',
    // Longer than a JSON body may be.
    `{"name":"${long}"}`,
    `[ {"name":"${long}"}]`,
  ];
  for (const type of ["text/plain;charset=UTF-8", "text/plain", "Text/Plain; charset=iso-8859-1"])
    it(`is rejected like JSON with a form type: ${type}`, async () => {
      for (const body of rejected) {
        const ask = () => post(body, { "content-type": type });
        const problem = await rejects("unsupported-media-type", ask);
        assert.match(problem.detail, /Send `Content-Type: application\/json`/);
        assert.match((await ask()).headers.get("accept-post") ?? "", /^application\/json,/);
      }
    });

  it("is rejected when it is chunked or encoded", async () => {
    const body = '{"name":"Ada"}';
    const fields = ["Host: x", `Authorization: Bearer ${app.admin}`, "Content-Type: text/plain"];
    const head = `POST /scans HTTP/1.1\r\n${fields.join("\r\n")}\r\nTransfer-Encoding: chunked\r\n\r\n`;
    const chunks = [" ", ...body].map((character) => `1\r\n${character}\r\n`);
    const { responses } = await send(app.port, [`${head}${chunks.join("")}0\r\n\r\n`]);
    assert.equal(responses.at(-1)?.status, 415);
    const encoded = { "content-type": "text/plain", "content-encoding": "gzip" };
    await rejects("unsupported-media-type", () => post(gzipSync(body), encoded));
  });

  it("is rejected as fetch sends it, without a Content-Type", async () => {
    await rejects("unsupported-media-type", () =>
      answerOf(app.request("/scans", { method: "POST", body: JSON.stringify({ name: "Ada" }) })),
    );
  });

  it("is a file when it only looks like JSON, or has a binary type", async () => {
    const texts = [
      "",
      " ",
      "{name} was here",
      "[INFO] started",
      '{"name":"Ada"',
      '{"name":"Ada"} and more',
      '"a text"',
      "12",
      "null",
      `{${long}}`,
      `[1, ${long}]`,
      `${" ".repeat(2_000)}{}`,
    ];
    for (const body of texts) {
      const { sha256 } = await made(body, { "content-type": "text/plain" });
      assert.equal(sha256, hashOf(body), body.slice(0, 30));
    }
    for (const type of ["application/octet-stream", "text/markdown"]) {
      const { sha256 } = await made('{"name":"Ada"}', { "content-type": type });
      assert.equal(sha256, hashOf('{"name":"Ada"}'));
    }
  });
});
