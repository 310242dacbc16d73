// Invalid and unusual multipart forms: each gets a response, and a rejected one leaves nothing behind.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openConnection } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { answerOf } from "./expect.ts";
import { file, filesIn, form, hashOf, type Shown, text } from "./multipart.ts";

let app: TestApp;
let client: Client;
let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "restante-"));
  app = await startApp({ files: folder });
  client = new Client(app);
  await client.put("/-/collections/drop", { access: { create: "public", read: "public" } });
});
after(async () => {
  await app.stop();
  await rm(folder, { recursive: true, force: true });
});

const post = (body: string | Uint8Array, type = "multipart/form-data; boundary=b") =>
  answerOf(
    app.request("/drop", {
      method: "POST",
      token: null,
      headers: { "content-type": type },
      body: Buffer.from(body as Uint8Array),
    }),
  );

const latin1 = (body: string) => Buffer.from(body, "latin1");
const aFile = '--b\r\nContent-Disposition: form-data; name="f"; filename="f"\r\n\r\nbytes\r\n';
const field = 'Content-Disposition: form-data; name="a"';

describe("an invalid form", () => {
  const broken: readonly (readonly [name: string, body: string | Uint8Array, detail: RegExp])[] = [
    ["whose last part has an unterminated header", `${aFile}--b\r\n${field}`, /ends before/],
    ["whose last header meets the boundary", `${aFile}--b\r\n${field}\r\n--b--\r\n`, /name: value/],
    ["whose last part has half a header line", `${aFile}--b\r\nContent-Dispo`, /ends before/],
    ["without a closing boundary", `${aFile}--b\r\n${field}\r\n\r\nx\r\n`, /ends before/],
    ["that ends within a file", aFile.slice(0, -4), /ends before/],
    [
      "with a name that is not UTF-8",
      latin1(`${aFile}--b\r\n${field}\xff\r\n\r\n\r\n--b--`),
      /UTF-8/,
    ],
    [
      "with a file name that is not UTF-8",
      latin1(
        '--b\r\nContent-Disposition: form-data; name="f"; filename="\xe9.txt"\r\n\r\nx\r\n--b--',
      ),
      /UTF-8/,
    ],
    ["with two names", `${aFile}--b\r\n${field}; name="b"\r\n\r\nx\r\n--b--`, /no valid/],
    [
      "with headers that repeat beyond the limit",
      `${aFile}--b\r\n${"X: y\r\n".repeat(2_000)}${field}\r\n\r\nx\r\n--b--`,
      /longer than 8192 bytes/,
    ],
    [
      "with two dispositions",
      `${aFile}--b\r\n${field}\r\n${field}2\r\n\r\nx\r\n--b--`,
      /more than one/,
    ],
  ];
  for (const [name, body, detail] of broken) {
    it(`${name} is 400 and leaves nothing behind`, async () => {
      const problem = await client.rejects("drop", "invalid-body", () => post(body));
      assert.match(problem.errors?.[0]?.detail ?? "", detail);
      assert.deepEqual(await filesIn(folder), []);
    });
  }
});

describe("a form with an error at its beginning", () => {
  for (const framing of ["Content-Length: 20000000", "Transfer-Encoding: chunked"])
    it(`gets its response before the end of the body, and leaves nothing behind (${framing})`, async () => {
      const wire = await openConnection(app.port);
      const type = "Content-Type: multipart/form-data; boundary=b";
      wire.write(`POST /drop HTTP/1.1\r\nHost: localhost\r\n${type}\r\n${framing}\r\n\r\n`);
      const filling = `${aFile}--b\r\nbroken\r\n${"x".repeat(100_000)}`;
      const chunk = `${filling.length.toString(16)}\r\n${filling}\r\n`;
      wire.write(framing.startsWith("Content") ? filling : chunk);
      assert.equal((await wire.response())?.status, 400);
      wire.destroy();
      assert.deepEqual(await filesIn(folder), []);
    });
});

describe("an unusual form", () => {
  it("may have white space after its boundaries", async () => {
    const { status, body } = await post(`--b \t\r\n${field}\r\n\r\nx\r\n--b-- \t`);
    assert.equal(status, 201, body);
    assert.equal(JSON.parse(body).a, "x");
  });

  it("keeps a leading U+FEFF, in texts, names and files", async () => {
    const mark = "\ufeff";
    const { headers, body } = form([
      text("a", `${mark}x`),
      text(`${mark}b`, "y"),
      file("f", "f", mark),
    ]);
    const answer = await post(body, headers["content-type"]);
    assert.equal(answer.status, 201, answer.body);
    const { a, f, ...rest } = JSON.parse(answer.body) as { a: string; f: Shown };
    assert.equal(a, `${mark}x`);
    assert.equal(f.sha256, hashOf(mark));
    assert.equal((rest as Record<string, unknown>)[`${mark}b`], "y");
    await client.remove(`/drop/${(rest as { id?: string }).id}`);
  });

  it("keeps it in a form without files as well", async () => {
    const answer = await post("\ufeffa=\ufeffx", "application/x-www-form-urlencoded");
    assert.equal(answer.status, 201, answer.body);
    assert.equal(JSON.parse(answer.body)["\ufeffa"], "\ufeffx");
  });

  it("may have file names without quotes, and names that cannot be decoded", async () => {
    for (const [parameter, name] of [
      ["filename=à", "à"],
      ["filename*=ISO-8859-1''%e9.txt", ""],
      ["filename*=UTF-8''%ff", ""],
    ] as const) {
      const head = `Content-Disposition: form-data; name="f"; ${parameter}`;
      const { status, body } = await post(`--b\r\n${head}\r\n\r\nx\r\n--b--`);
      assert.equal(status, 201, body);
      assert.equal((JSON.parse(body) as { f: Shown }).f.name, name);
    }
  });

  it("may have a name with U+FFFD, which is valid UTF-8", async () => {
    const { headers, body } = form([file("f", "\ufffd.txt", "x")]);
    const answer = await post(body, headers["content-type"]);
    assert.equal((JSON.parse(answer.body) as { f: Shown }).f.name, "\ufffd.txt");
  });
});
