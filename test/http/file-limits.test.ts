// Limits of files: of one, of a resource, of a subject and of all together, also when many arrive at once.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openConnection, send } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { answerOf, assertProblem } from "./expect.ts";
import { file, filesIn, form, text } from "./multipart.ts";
import { last, more, UploadClient } from "./upload-client.ts";

const limits = {
  ...{ maxFileBytes: 4_000, maxResourceFileBytes: 6_000 },
  ...{ maxSubjectFileBytes: 10_000, maxTotalFileBytes: 15_000 },
};

let app: TestApp;
let files: string;
let ann: string;
let bob: string;
before(async () => {
  files = await mkdtemp(join(tmpdir(), "restante-"));
  app = await startApp({ files, ...limits });
  const owned = { access: { read: "owner", create: "token", update: "owner", delete: "owner" } };
  assert.ok((await new Client(app).put("/-/collections/docs", owned)).status < 300);
  [ann, bob] = [await app.token("docs:*"), await app.token("docs:*")];
});
after(async () => {
  await app.stop();
  await rm(files, { recursive: true, force: true });
});

/** Without the records of finished uploads. */
const storedFiles = async () =>
  (await filesIn(files)).filter((path) => !path.includes("/finished/"));

const one = (bytes: number, token: string, isChunked = false) => {
  const body = Buffer.alloc(bytes, "x");
  const sent = isChunked ? new Blob([body]).stream() : body;
  const headers = { "content-type": "image/png" };
  const init = { method: "POST", headers, body: sent, token, duplex: "half" };
  return answerOf(app.request("/docs", init as RequestInit));
};

const several = (sizes: readonly number[], token: string) => {
  const parts = sizes.map((size, index) => file(`f${index}`, "a", Buffer.alloc(size, "x")));
  return answerOf(app.request("/docs", { method: "POST", ...form(parts), token }));
};

const made = async (answer: ReturnType<typeof one>): Promise<string> => {
  const { status, body } = await answer;
  assert.equal(status, 201, body);
  return (JSON.parse(body) as { id: string }).id;
};

const removeAll = async (token: string, ids: readonly string[]) => {
  for (const id of ids)
    assert.equal((await app.request(`/docs/${id}`, { method: "DELETE", token })).status, 204);
};

/** Nothing is left of a rejected upload. */
async function rejects(
  kind: "content-too-large" | "storage-full",
  ask: () => ReturnType<typeof one>,
) {
  const [total, stored] = [await app.total("docs"), await storedFiles()];
  const problem = assertProblem(await ask(), kind);
  assert.deepEqual([await app.total("docs"), await storedFiles()], [total, stored]);
  return problem.detail;
}

describe("a limit of files", () => {
  it("of one file is 413 with the number", async () => {
    for (const ask of [
      () => one(4_001, ann),
      () => one(4_001, ann, true),
      () => several([1, 4_001], ann),
    ])
      assert.match(await rejects("content-too-large", ask), /^A file may have 4000 bytes at most/);
    await removeAll(ann, [await made(one(4_000, ann)), await made(one(4_000, ann, true))]);
  });

  it("of a resource is 413 with the numbers", async () => {
    const detail = await rejects("content-too-large", () => several([3_000, 3_001], ann));
    assert.match(detail, /may have 6000 bytes together, and these have 6001/);
    await removeAll(ann, [await made(several([3_000, 3_000], ann))]);
  });

  it("of a subject is 507 with the numbers, and deletions give bytes back", async () => {
    const ids = [await made(several([3_000, 3_000], ann)), await made(one(2_000, ann))];
    for (const ask of [
      () => one(2_001, ann),
      () => one(2_001, ann, true),
      () => several([2_000, 1], ann),
    ])
      assert.match(
        await rejects("storage-full", ask),
        /may have 10000 bytes together, and those of this one have 8000\. Nothing was stored; delete/,
      );
    ids.push(await made(one(2_000, ann)));
    // Another subject has its own.
    await removeAll(bob, [await made(one(4_000, bob))]);
    // JSON without files is not limited.
    const plain = await app.request("/docs", {
      ...{ method: "POST", token: ann },
      headers: { "content-type": "application/json" },
      body: '{"a":1}',
    });
    ids.push(((await plain.json()) as { id: string }).id);
    await removeAll(ann, ids);
    await removeAll(ann, [await made(several([3_000, 3_000], ann))]);
  });

  it("of all files is 507 with the numbers", async () => {
    const ids = [await made(several([3_000, 3_000], ann)), await made(one(4_000, ann))];
    const others = [await made(one(4_000, bob))];
    const detail = await rejects("storage-full", () => one(1_001, bob));
    assert.match(detail, /All files together may have 15000 bytes, and have 14000\./);
    others.push(await made(one(1_000, bob)));
    await removeAll(ann, ids);
    await removeAll(bob, others);
  });

  it("applies to PUT of a file, which gives back what it replaces", async () => {
    const id = await made(several([3_000, 3_000], ann));
    const other = await made(one(4_000, ann));
    const put = (name: string, bytes: number, isChunked = false) => {
      const body = Buffer.alloc(bytes, "y");
      const sent = isChunked ? new Blob([body]).stream() : body;
      const init = { method: "PUT", body: sent, token: ann, duplex: "half" };
      const headers = { "content-type": "image/png" };
      return answerOf(app.request(`/docs/${name}`, { ...init, headers } as RequestInit));
    };
    const rejected = async (path: string, bytes: number, detail: RegExp) => {
      for (const isChunked of [false, true]) {
        const kind = detail.source.includes("of this one") ? "storage-full" : "content-too-large";
        assert.match(await rejects(kind, () => put(path, bytes, isChunked)), detail);
      }
    };
    // The subject has all that it may have: the same size fits, and less.
    for (const size of [3_000, 2_500, 2_000])
      assert.equal((await put(`${id}/f0`, size, size === 2_500)).status, 204);
    await rejected(`${id}/f0`, 3_001, /of this one have 9000\./);
    await removeAll(ann, [other]);
    await rejected(`${id}/f0`, 4_001, /^A file may have 4000 bytes/);
    await rejected(`${id}/f0`, 3_001, /may have 6000 bytes together, and these have 6001/);
    assert.equal(
      (await app.request(`/docs/${id}/f1`, { method: "DELETE", token: ann })).status,
      204,
    );
    const ids = [await made(one(4_000, ann)), await made(one(4_000, ann))];
    await rejects("storage-full", () => one(1, ann));
    await removeAll(ann, [id, ...ids]);
  });

  it("applies to resumable uploads, and a full one is completed later", async () => {
    const client = new UploadClient(app, ann);
    const type = { "content-type": "image/png" };
    const large = await client.send("POST", "/docs", { ...more, ...type, "upload-length": "4001" });
    assert.match(assertProblem(large, "content-too-large").detail, /4000 bytes/);
    const path = await client.begin("/docs", type, Buffer.alloc(1_000));
    const ids = [await made(several([3_000, 3_000], ann)), await made(one(3_500, ann))];
    const upload = new URL(path, `http://localhost:${app.port}`).pathname;
    const full = await client.patch(upload, 1_000, Buffer.alloc(1), last);
    assert.match(assertProblem(full, "storage-full").detail, /of this one have 9500\./);
    await removeAll(ann, ids);
    const done = await client.patch(upload, 1_001, Buffer.alloc(0), last);
    assert.equal(done.status, 201, done.body);
    await removeAll(ann, [(JSON.parse(done.body) as { id: string }).id]);
  });

  it("is known before the first byte of a file is sent", async () => {
    const wire = await openConnection(app.port);
    const id = await made(several([3_000, 3_000], ann));
    const more = await made(one(1_000, ann));
    const head = `POST /docs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann}\r\nContent-Type: image/png\r\n`;
    wire.write(`${head}Content-Length: 3001\r\n\r\n`);
    assert.equal((await wire.response())?.status, 507);
    wire.destroy();
    await removeAll(ann, [id, more]);
  });

  it("is not exceeded by 64 uploads at once", async () => {
    const answers = await Promise.all(
      Array.from({ length: 64 }, (_, index) => one(1_000, ann, index % 2 === 0)),
    );
    const created = answers.filter(({ status }) => status === 201);
    assert.ok(created.length > 0 && created.length <= 10, `${created.length}`);
    for (const answer of answers) if (answer.status !== 201) assertProblem(answer, "storage-full");
    // What was free because others were rejected can be used now.
    const ids = created.map(({ body }) => (JSON.parse(body) as { id: string }).id);
    while (ids.length < 10) ids.push(await made(one(1_000, ann)));
    await rejects("storage-full", () => one(1, ann));
    assert.equal((await storedFiles()).length, 10);
    await removeAll(ann, ids);
  });
});

describe("a limit tells a caller", () => {
  it("nothing about files that it may not change, and no figures of others", async () => {
    const definition = {
      access: {
        read: [
          { name: "all", to: "token", fields: ["title", "photo"] },
          { name: "own", to: "owner" },
        ],
        create: "token",
        update: [
          { name: "open", to: "token", where: { title: "open" }, fields: ["photo"] },
          { name: "own", to: "owner" },
        ],
      },
    };
    assert.ok((await new Client(app).put("/-/collections/shared", definition)).status < 300);
    const [ann, bob] = [await app.token("shared:*"), await app.token("shared:*")];
    const paths: string[] = [];
    const create = async (title: string, bytes: number) => {
      const parts = [text("title", title), file("hidden", "a", Buffer.alloc(bytes, "x"))];
      const made = await app.request("/shared", { method: "POST", ...form(parts), token: ann });
      assert.equal(made.status, 201);
      paths.push(made.headers.get("location") ?? "");
      return paths.at(-1) ?? "";
    };
    const put = (path: string, bytes: number, token: string) => {
      const headers = { "content-type": "image/png" };
      const body = Buffer.alloc(bytes, "y");
      return answerOf(app.request(path, { method: "PUT", headers, body, token }));
    };
    const patch = (path: string, bytes: number, token: string) => {
      const sent = form([file("photo", "a", Buffer.alloc(bytes, "y"))]);
      return answerOf(app.request(path, { method: "PATCH", ...sent, token }));
    };
    const [open, closed] = [await create("open", 3_500), await create("closed", 3_500)];
    const large = assertProblem(await put(`${open}/photo`, 2_600, bob), "content-too-large");
    assert.match(large.detail, /may have 6000 bytes together\. Nothing/);
    const own = assertProblem(await put(`${open}/photo`, 2_600, ann), "content-too-large");
    assert.match(own.detail, /and these have 6100\./);
    await create("more", 2_900);
    for (const name of ["photo", "hidden"])
      for (const bytes of [1, 100, 101, 3_500, 3_600, 3_601, 4_000])
        assertProblem(await put(`${closed}/${name}`, bytes, bob), "forbidden");
    for (const write of [() => put(`${open}/photo`, 200, bob), () => patch(open, 200, bob)]) {
      const { detail } = assertProblem(await write(), "storage-full");
      assert.match(detail, /may have 10000 bytes together\. Nothing/);
    }
    for (const token of [ann, app.admin])
      for (const write of [() => put(`${open}/photo`, 200, token), () => patch(open, 200, token)]) {
        const { detail } = assertProblem(await write(), "storage-full");
        assert.match(detail, /those of this one have 9900\./);
      }
    assert.equal((await put(`${open}/photo`, 100, bob)).status, 201);
    for (const path of paths)
      assert.equal((await app.request(path, { method: "DELETE" })).status, 204);
  });
});

describe("bad input", () => {
  it("with 10,000 files in one form says the limit", async () => {
    const parts = Array.from({ length: 10_000 }, (_, index) => file(`f${index}`, "a", ""));
    const answer = await answerOf(
      app.request("/docs", { method: "POST", ...form(parts), token: ann }),
    );
    const { errors } = assertProblem(answer, "invalid-body");
    assert.match(JSON.stringify(errors), /more than 100 files in one form/);
    assert.deepEqual(await storedFiles(), []);
  });

  it("with a Content-Length that lies stores nothing", async () => {
    const head = (fields: string) =>
      `POST /docs HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ann}\r\nContent-Type: image/png\r\n${fields}\r\n\r\n`;
    const total = await app.total("docs");
    // Longer than the body, which ends with the connection.
    await send(app.port, `${head("Content-Length: 500")}${"x".repeat(100)}`, { halfClose: true });
    // Shorter than the body: what follows is no request.
    const { responses } = await send(app.port, `${head("Content-Length: 5")}${"x".repeat(100)}`);
    assert.equal(responses[0]?.status, 201);
    assert.equal(JSON.parse(responses[0]?.body ?? "").file.size, 5);
    assert.ok(responses.slice(1).every(({ status }) => status === 400));
    assert.equal(await app.total("docs"), total + 1);
    for (const fields of [
      "Content-Length: 5\r\nContent-Length: 6",
      "Content-Length: -1",
      "Content-Length: 5, 6",
    ])
      assert.equal(
        (await send(app.port, `${head(fields)}${"x".repeat(6)}`)).responses[0]?.status ?? 400,
        400,
      );
    assert.equal(await app.total("docs"), total + 1);
  });

  it("with a name of `..` or 300 bytes is stored under a safe name", async () => {
    const names: readonly [sent: string, kept: string][] = [
      ["..", ""],
      ["../../etc/passwd", "passwd"],
      ["a".repeat(300), "a".repeat(255)],
    ];
    for (const [sent, kept] of names) {
      const parts = [text("title", "t"), file("photo", sent, "x")];
      const response = await app.request("/docs", { method: "POST", ...form(parts), token: ann });
      const body = await response.text();
      assert.equal(response.status, 201, `${JSON.stringify(sent)}: ${body}`);
      assert.equal((JSON.parse(body) as { photo: { name: string } }).photo.name, kept);
    }
  });

  it("with NUL in a name is 400", async () => {
    const parts = [file("photo", "a\0b", "x")];
    const sent = { method: "POST", ...form(parts), token: ann };
    assertProblem(await answerOf(app.request("/docs", sent)), "invalid-body");
  });
});
