// Uploads: files are on disk before their resource is created, and never without it.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { BodyError } from "../../src/http/body/decoding.ts";
import { withTimeouts } from "../../src/http/body/upload.ts";
import { pulledStream } from "../../src/lib/pulled-stream.ts";
import { Clock } from "../clock.ts";
import { openConnection, send } from "../runtime/raw-connection.ts";
import type { TestApp } from "./app.ts";
import { type Client, pointersOf } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";
import { type FilesApp, startFilesApp } from "./files-app.ts";
import {
  type Form,
  file,
  filesIn,
  form,
  hashOf,
  type Piece,
  type Shown,
  text,
} from "./multipart.ts";
import { startServerProcess } from "./server-process.ts";

const maxUploadBytes = 8_000_000;
const maxBodyBytes = 20_000;

let app: TestApp;
let client: Client;
let files: string;
let running: FilesApp;
before(async () => {
  running = await startFilesApp({ maxUploadBytes, maxBodyBytes });
  ({ app, client, files } = running);
});
after(() => running.stop());

const post = (
  { headers, body }: Form,
  extra: Readonly<Record<string, string>> = {},
  path = "/people",
): Promise<Answer> =>
  answerOf(app.request(path, { method: "POST", headers: { ...headers, ...extra }, body }));

async function made(pieces: readonly Piece[], path = "/people"): Promise<Record<string, unknown>> {
  const { status, body } = await post(form(pieces), {}, path);
  assert.equal(status, 201, body);
  return JSON.parse(body);
}

async function bytesAt({ url }: Shown): Promise<Buffer> {
  return Buffer.from(await (await app.request(url)).arrayBuffer());
}

/** Expects this problem, and no new resource or file. */
async function rejects(
  kind: Parameters<typeof assertProblem>[1],
  ask: () => Promise<Answer>,
  collection = "people",
) {
  const before = await filesIn(files);
  const problem = await client.rejects(collection, kind, ask);
  assert.deepEqual(await filesIn(files), before);
  return problem;
}

const define = async (name: string, definition: unknown) => {
  const { status, body } = await client.put(`/-/collections/${name}`, definition);
  assert.ok(status < 300, body);
};

describe("a file in a form", () => {
  const contents: readonly [name: string, bytes: Buffer][] = [
    ["nothing", Buffer.alloc(0)],
    ["one byte", Buffer.from([0])],
    ["5 MB", randomBytes(5_000_000)],
    [
      "what looks like boundaries",
      Buffer.from("\r\n--a-boundar\r\n--a-bound\r\r\n--\n".repeat(5000)),
    ],
    ["only line ends", Buffer.from("\r\n".repeat(40_000))],
  ];
  for (const [name, bytes] of contents) {
    it(`is returned byte for byte: ${name}`, async () => {
      const { photo } = (await made([file("photo", "a.bin", bytes)])) as { photo: Shown };
      assert.deepEqual([photo.size, photo.sha256], [bytes.length, hashOf(bytes)]);
      assert.equal(hashOf(await bytesAt(photo)), hashOf(bytes));
    });
  }

  it("is a member next to the texts, as an object with its address", async () => {
    const sent = [
      text("name", "Ada"),
      file("photo", "ada.png", "png", "image/png"),
      text("age", "36"),
    ];
    const { photo, ...rest } = (await made(sent)) as { photo: Shown; id: string };
    assert.deepEqual(photo, {
      ...{ name: "ada.png", type: "image/png", size: 3, sha256: hashOf("png") },
      url: `/people/${rest.id}/photo`,
    });
    const { createdAt: _, updatedAt: __, ...fields } = rest as Record<string, unknown>;
    assert.deepEqual(fields, { id: rest.id, name: "Ada", age: "36" });
    assert.deepEqual(await client.json(`/people/${rest.id}`), { ...rest, photo });
  });

  it("is in a list when there are several, in their order", async () => {
    const sent = ["a", "b", "c"].map((name) => file("docs", `${name}.txt`, name));
    const { id, docs } = (await made(sent)) as { id: string; docs: readonly Shown[] };
    assert.deepEqual(
      docs.map(({ name, url }) => [name, url]),
      ["a", "b", "c"].map((name, index) => [`${name}.txt`, `/people/${id}/docs.${index + 1}`]),
    );
    for (const [index, one] of docs.entries())
      assert.equal(String(await bytesAt(one)), ["a", "b", "c"][index]);
  });

  it("is one of a hundred at most", async () => {
    const pieces = Array.from({ length: 101 }, (_, index) => file("f", `${index}`, `${index}`));
    const { f } = (await made(pieces.slice(1))) as { f: readonly Shown[] };
    assert.equal(f.length, 100);
    assert.equal(String(await bytesAt(f.at(-1) as Shown)), "100");
    const problem = await rejects("invalid-body", () => post(form(pieces)));
    assert.match(problem.errors?.[0]?.detail ?? "", /more than 100 files/);
  });

  it("may arrive in chunks of any size", async () => {
    const content = "\r\n--a-boundar\r\n--\r\n";
    const { headers, body } = form([text("name", "Ada"), file("photo", "x", content)]);
    const fields = [
      "Host: x",
      `Authorization: Bearer ${app.admin}`,
      `Content-Type: ${headers["content-type"]}`,
      "Transfer-Encoding: chunked",
    ];
    const head = `POST /people HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`;
    for (const size of [1, 2, 3, 7, 64]) {
      const chunks: string[] = [];
      for (let at = 0; at < body.length; at += size) {
        const chunk = body.subarray(at, at + size).toString("latin1");
        chunks.push(`${chunk.length.toString(16)}\r\n${chunk}\r\n`);
      }
      const middle = Math.floor(chunks.length / 2);
      const segments = [chunks.slice(0, middle), chunks.slice(middle)].map((few) => few.join(""));
      const { responses } = await send(app.port, [head, ...segments, "0\r\n\r\n"]);
      const { photo } = JSON.parse(responses.at(-1)?.body ?? "") as { photo: Shown };
      assert.equal(photo.sha256, hashOf(content));
    }
  });

  it("is omitted where none was chosen", async () => {
    const sent = [text("name", "Ada"), file("photo", "", ""), file("named", "empty.txt", "")];
    const { photo, named } = (await made(sent)) as { photo?: Shown; named: Shown };
    assert.equal(photo, undefined);
    assert.deepEqual([named.name, named.size], ["empty.txt", 0]);
  });

  it("may come with a preamble and an epilogue", async () => {
    const { headers, body } = form([file("photo", "a", "abc")]);
    const wrapped = [Buffer.from("hello\r\n"), body, Buffer.from("bye\r\n--a-boundary\r\nx")];
    const { status } = await post({ headers, body: Buffer.concat(wrapped) });
    assert.equal(status, 201);
  });
});

describe("the chunks of a body", () => {
  it("stay with a caller that made them, and are stored as often as they come", async () => {
    const chunk = new Uint8Array(100_000).fill(7);
    const body = async function* () {
      for (let count = 0; count < 3; count++) yield chunk;
    };
    const request = new Request("http://localhost/people", {
      ...{ method: "POST", body: pulledStream(body()), duplex: "half" },
      headers: {
        ...{ authorization: `Bearer ${app.admin}`, "content-type": "image/png" },
        "content-length": "300000",
      },
    } as RequestInit);
    const { status, body: answer } = await answerOf(app.direct(request));
    assert.equal(status, 201, answer);
    const { file: shown } = JSON.parse(answer);
    assert.equal(shown.sha256, hashOf(Buffer.alloc(300_000, 7)));
    assert.equal(chunk.byteLength, 100_000);
  });
});

describe("a file's name", () => {
  const names: readonly [sent: string, kept: string][] = [
    ["naïve “quotes” 😀.png", "naïve “quotes” 😀.png"],
    ["a%22b%0D%0A.png", 'a"b.png'],
    ['a \\"b\\" \\\\.png', 'a "b" .png'.replace('a "b" ', "")],
    ["../../etc/passwd", "passwd"],
    ["C:\\photos\\ada.png", "ada.png"],
    ["/", ""],
    ["..", ""],
    [".", ""],
    ["a\tb\u0001c\u007f.txt", "abc.txt"],
    ["100%25.txt", "100%25.txt"],
    ["; name=evil; filename*=x", "; name=evil; filename*=x"],
    ["gnp.\u202etxt", "gnp.txt"],
    [`${"ü".repeat(300)}.txt`, "ü".repeat(255)],
  ];
  for (const [sent, kept] of names) {
    it(`is stored as it is displayed: ${JSON.stringify(sent.slice(0, 40))}`, async () => {
      const { photo } = (await made([file("photo", sent, "x")])) as { photo: Shown };
      assert.equal(photo.name, kept);
      const answer = await app.request(photo.url);
      assert.equal(await answer.text(), "x");
      const [, extended] =
        /filename\*=UTF-8''(.*)$/.exec(answer.headers.get("content-disposition") ?? "") ?? [];
      if (extended !== undefined) assert.equal(decodeURIComponent(extended), kept);
    });
  }

  it("may be encoded as in RFC 8187, and its type may be missing or invalid", async () => {
    const head = "Content-Disposition: form-data; name=photo; filename*=UTF-8''%e2%82%ac.txt";
    const { photo } = (await made([{ head: [head], bytes: "x" }])) as { photo: Shown };
    assert.deepEqual([photo.name, photo.type], ["€.txt", "application/octet-stream"]);
    const nonsense = [
      file("photo", "a", "x", "nonsense"),
      file("other", "b", "x", "Text/HTML; charset=UTF-16"),
    ];
    const made2 = (await made(nonsense)) as { photo: Shown; other: Shown };
    assert.equal(made2.photo.type, "application/octet-stream");
    assert.equal(made2.other.type, "text/html; charset=UTF-16");
  });
});

describe("a rejected upload leaves nothing behind", () => {
  const photo = file("photo", "a.png", "bytes");
  const raw = (...head: readonly string[]): Piece => ({ head, bytes: "x" });
  const rejected: readonly [name: string, pieces: readonly Piece[], pointer: string][] = [
    ["a text and a file under one name", [text("a", "1"), file("a", "b", "c")], "/a"],
    ["a file as id", [photo, file("id", "b", "c")], "/id"],
    ["a file as createdAt", [photo, file("createdAt", "b", "c")], "/createdAt"],
    ["a text as id", [photo, text("id", "mine")], "/id"],
    ["a file as __proto__", [photo, file("__proto__", "b", "c")], "/__proto__"],
    ["a text as __proto__", [photo, text("__proto__", "b")], "/__proto__"],
    ["a file field with a dot", [photo, file("a.b", "b", "c")], "/a.b"],
    ["a file field with brackets", [photo, file("a[]", "b", "c")], "/a[]"],
    ["a file field without a name", [photo, file("", "b", "c")], "/"],
    ["a part without a header", [photo, raw(), photo], ""],
    ["a boundary within a file", [file("photo", "x", "\r\n--a-boundary")], ""],
    ["a part without a disposition", [photo, raw("Content-Type: text/plain")], ""],
    ["a part without a name", [photo, raw("Content-Disposition: form-data")], ""],
    ["another disposition", [photo, raw('Content-Disposition: attachment; name="a"')], ""],
    [
      "a disposition that cannot be read",
      [photo, raw('Content-Disposition: form-data; name="a')],
      "",
    ],
    [
      "a long header",
      [photo, raw(`Content-Disposition: form-data; name="${"a".repeat(9000)}"`)],
      "",
    ],
    [
      "a very long header",
      [photo, raw(`X: ${"a".repeat(90_000)}`, 'Content-Disposition: form-data; name="a"')],
      "",
    ],
    [
      "a multipart part",
      [
        photo,
        raw(
          'Content-Disposition: form-data; name="a"',
          "Content-Type: multipart/mixed; boundary=b",
        ),
      ],
      "",
    ],
    [
      "another charset",
      [
        photo,
        raw('Content-Disposition: form-data; name="a"', "Content-Type: text/plain; charset=latin1"),
      ],
      "/a",
    ],
    ["a text that is no UTF-8", [photo, { ...text("a", ""), bytes: Buffer.from([0xff]) }], "/a"],
  ];
  for (const [name, pieces, pointer] of rejected) {
    it(name, async () => {
      const problem = await rejects("invalid-body", () => post(form(pieces)));
      assert.deepEqual(pointersOf(problem), [pointer]);
    });
  }

  it("when the body ends too soon, wherever it does", async () => {
    const { headers, body } = form([text("name", "Ada"), photo]);
    for (const length of [0, 5, 20, 60, 100, body.length - 20, body.length - 4]) {
      const cut = { headers, body: body.subarray(0, length) as Form["body"] };
      await rejects("invalid-body", () => post(cut));
    }
  });

  it("when the boundary does not match, is missing, or is invalid", async () => {
    const { body } = form([photo]);
    await rejects("invalid-body", () =>
      post({ headers: { "content-type": "multipart/form-data; boundary=other" }, body }),
    );
    for (const parameter of [
      "",
      "; boundary=",
      `; boundary=${"a".repeat(71)}`,
      '; boundary="a\u00fc"',
      '; boundary="a "',
    ]) {
      const headers = { "content-type": `multipart/form-data${parameter}` };
      await rejects("malformed-request", () => post({ headers, body }));
    }
  });

  it("when it has more than a thousand texts, or too large ones", async () => {
    const many = Array.from({ length: 1001 }, (_, index) => text(`t${index}`, "1"));
    await rejects("invalid-body", () => post(form([photo, ...many])));
    const long = form([
      photo,
      text("a", "x".repeat(maxBodyBytes / 2)),
      text("b", "x".repeat(maxBodyBytes / 2)),
    ]);
    const problem = await rejects("content-too-large", () => post(long));
    assert.match(problem.detail, /text fields of the form are larger than 20000 bytes/);
  });

  it("when it is too large, with or without a Content-Length", async () => {
    const large = form([photo, file("b", "b", Buffer.alloc(maxUploadBytes))]);
    const problem = await rejects("content-too-large", () => post(large));
    assert.match(problem.detail, /larger than 8000000 bytes/);
    const { headers, body } = large;
    const stream = () => new Blob([body]).stream();
    const streamed = () =>
      answerOf(
        app.request("/people", {
          method: "POST",
          headers,
          body: stream(),
          duplex: "half",
        } as RequestInit),
      );
    await rejects("content-too-large", streamed);
  });

  it("when it exceeds the limit of the collection", async () => {
    await define("small", { maxBytes: 1000 });
    assert.equal((await post(form([file("a", "a", "x".repeat(500))]), {}, "/small")).status, 201);
    const large = form([file("a", "a", "x".repeat(1000))]);
    await rejects("content-too-large", () => post(large, {}, "/small"), "small");
  });

  it("when it violates the schema or a unique field, or the caller may not create", async () => {
    const photoSchema = {
      type: "object",
      properties: { type: { const: "image/png" }, size: { maximum: 10 } },
    };
    const schema = {
      type: "object",
      required: ["photo"],
      properties: { photo: photoSchema },
      additionalProperties: false,
    };
    await define("photos", {
      schema: { ...schema, properties: { ...schema.properties, name: { type: "string" } } },
      unique: ["name"],
    });
    const png = (bytes: string) => file("photo", "a.png", bytes, "image/png");
    assert.equal((await post(form([png("1"), text("name", "a")]), {}, "/photos")).status, 201);
    const refusedBySchema: readonly [readonly Piece[], string][] = [
      [[text("name", "b")], "/photo"],
      [[png("12345678901")], "/photo/size"],
      [[file("photo", "a.gif", "1", "image/gif")], "/photo/type"],
      [[png("1"), file("other", "x", "x")], "/other"],
      [[png("1"), png("2")], "/photo"],
    ];
    for (const [pieces, pointer] of refusedBySchema) {
      const problem = await rejects(
        "invalid-body",
        () => post(form(pieces), {}, "/photos"),
        "photos",
      );
      assert.ok(pointersOf(problem).includes(pointer), pointer);
    }
    await rejects(
      "conflict",
      () => post(form([png("1"), text("name", "a")]), {}, "/photos"),
      "photos",
    );
    const reader = await app.token("photos:read");
    await rejects(
      "insufficient-scope",
      () => post(form([png("1")]), { authorization: `Bearer ${reader}` }, "/photos"),
      "photos",
    );
  });

  it("when its coding is unknown, or its digest does not match", async () => {
    await rejects("unsupported-media-type", () =>
      post(form([photo]), { "content-encoding": "compress" }),
    );
    const digest = { "content-digest": `sha-256=:${Buffer.alloc(32).toString("base64")}:` };
    await rejects("invalid-body", () => post(form([photo]), digest));
  });

  it("when it fills in a honeypot, which looks like success", async () => {
    await define("contact", { honeypot: "url" });
    const before = await filesIn(files);
    for (const filled of [text("url", "http://spam.test"), file("url", "spam.txt", "spam")]) {
      const { status } = await post(form([photo, filled]), {}, "/contact");
      assert.equal(status, 201);
      assert.equal(await app.total("contact"), 0);
      assert.deepEqual(await filesIn(files), before);
    }
  });
});

describe("lists of files in the schema", () => {
  it("are lists also of one, and a name may end with brackets", async () => {
    await define("albums", {
      schema: {
        type: "object",
        properties: { photos: { type: "array", items: { type: "object" } } },
      },
    });
    for (const name of ["photos", "photos[]"]) {
      const { id, photos } = (await made([file(name, "a", "x")], "/albums")) as {
        id: string;
        photos: readonly Shown[];
      };
      assert.deepEqual(
        photos.map(({ url }) => url),
        [`/albums/${id}/photos.1`],
      );
    }
    const both = form([text("photos", "{}"), file("photos[]", "a", "x")]);
    await rejects("invalid-body", () => post(both, {}, "/albums"), "albums");
    const texts = [text("size", "12"), file("photos", "a", "x")];
    await define("albums", {
      schema: {
        type: "object",
        properties: { size: { type: "integer" }, photos: { type: "array" } },
      },
    });
    assert.equal(((await made(texts, "/albums")) as { size: unknown }).size, 12);
  });
});

describe("a retry with the same key", () => {
  it("creates nothing again, whatever its boundary, and stores no second file", async () => {
    const key = { "idempotency-key": `"${crypto.randomUUID()}"` };
    const pieces = [text("name", "Ada"), file("photo", "a", "once")];
    const first = await post(form(pieces), key);
    const before = await filesIn(files);
    const second = await post(form(pieces, "another-boundary"), key);
    assert.equal(second.headers.get("idempotency-replayed"), "true");
    assert.equal(second.body, first.body);
    await rejects("key-reused", () =>
      post(form([text("name", "Ada"), file("photo", "a", "twice")]), key),
    );
    assert.deepEqual(await filesIn(files), before);
    const { photo } = JSON.parse(first.body) as { photo: Shown };
    assert.equal(String(await bytesAt(photo)), "once");
  });
});

/** Interrupted uploads are removed a little later. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(25);
}

describe("an interrupted upload", () => {
  const { headers, body } = form([
    text("name", "Ada"),
    file("a", "a", randomBytes(300_000)),
    file("b", "b", randomBytes(300_000)),
  ]);
  const head = (port: number, admin: string) =>
    `POST /people HTTP/1.1\r\nHost: localhost:${port}\r\nAuthorization: Bearer ${admin}\r\nContent-Type: ${headers["content-type"]}\r\nContent-Length: ${body.length}\r\n\r\n`;

  for (const end of ["destroy", "reset", "halfClose"] as const) {
    it(`leaves no resource and no file (${end})`, async () => {
      const before = await filesIn(files);
      const total = await app.total("people");
      const wire = await openConnection(app.port);
      wire.write(head(app.port, app.admin));
      wire.write(body.subarray(0, 400_000));
      await until(async () => (await filesIn(files)).length === before.length + 2);
      wire[end]();
      await until(async () => (await filesIn(files)).length === before.length);
      wire.destroy();
      assert.deepEqual(await filesIn(files), before);
      assert.equal(await app.total("people"), total);
    });
  }

  it("leaves nothing after kill -9 and a restart; what was acknowledged is complete", async () => {
    const home = await mkdtemp(join(tmpdir(), "restante-"));
    const kept = join(home, "data", "files");
    try {
      const daemon = await startServerProcess(home);
      const answer = await daemon.request("/people", {
        method: "POST",
        ...form([file("a", "a", "kept")]),
      });
      const { a } = (await answer.json()) as { a: Shown };
      const [before] = [await filesIn(kept)];
      const { port, secret } = daemon;
      const wire = await openConnection(port);
      wire.write(head(port, secret));
      wire.write(body.subarray(0, 400_000));
      await until(async () => (await filesIn(kept)).length === before.length + 2);
      await daemon.end("SIGKILL");
      assert.equal((await filesIn(kept)).length, before.length + 2);
      const again = await startServerProcess(home);
      await until(async () => (await filesIn(kept)).length === before.length);
      assert.deepEqual(await filesIn(kept), before);
      assert.equal(await (await again.request(a.url)).text(), "kept");
      const page = (await (await again.request("/people")).json()) as { total: number };
      assert.equal(page.total, 1);
      await again.end("SIGTERM");
    } finally {
      await rm(home, { recursive: true, force: true });
    }
  });

  it("ends when nothing more arrives, or when it takes too long", async () => {
    async function* silent() {
      yield 1;
      await new Promise(() => {});
    }
    async function* endless() {
      for (;;) {
        await new Promise((resolve) => setTimeout(resolve, 1));
        yield 1;
      }
    }
    const clock = new Clock();
    clock.stop();
    try {
      for (const [source, quietMs, totalMs, detail] of [
        [silent(), 20, 60_000, /^No data of the body arrived/],
        [silent(), 60_000, 20, /^The body did not arrive within/],
        [endless(), 60_000, 20, /^The body did not arrive within/],
      ] as const) {
        const got: number[] = [];
        const reading = assert.rejects(
          async () => {
            for await (const one of withTimeouts(source, quietMs, totalMs)) got.push(one);
          },
          (thrown) =>
            thrown instanceof BodyError &&
            thrown.problem.kind === "timeout" &&
            detail.test(thrown.problem.detail),
        );
        await clock.pass(30);
        await reading;
        assert.equal(got[0], 1);
      }
    } finally {
      clock.go();
    }
  });

  it("does not end because the server was held up", async () => {
    const arrived = [Promise.withResolvers<number>(), Promise.withResolvers<number>()] as const;
    const rest = [arrived[0].promise, arrived[1].promise, new Promise<never>(() => {})];
    async function* source() {
      for (const next of rest) yield await next;
    }
    const got: number[] = [];
    const clock = new Clock();
    clock.stop();
    try {
      const reading = assert.rejects(async () => {
        for await (const one of withTimeouts(source(), 2_000, 1e9)) got.push(one);
      }, /^Error: No data of the body arrived/);
      await clock.pass(100);
      // Of this only a second counts.
      clock.holdUp(3_600_000);
      await clock.pass(500);
      arrived[0].resolve(1);
      await clock.pass(1_100);
      clock.holdUp(3_600_000);
      // What has arrived meanwhile is read after the timers.
      setImmediate(() => arrived[1].resolve(2));
      await clock.pass(10);
      assert.deepEqual(got, [1, 2]);
      await clock.pass(2_100);
      await reading;
    } finally {
      clock.go();
    }
  });
});

describe("a change to a resource with files", () => {
  const make = async () => {
    const pieces = [
      text("name", "Ada"),
      file("photo", "p", "photo"),
      ...["1", "2", "3"].map((n) => file("docs", n, `doc ${n}`)),
    ];
    const before = await filesIn(files);
    const resource = (await made(pieces)) as {
      id: string;
      name: string;
      photo: Shown;
      docs: readonly Shown[];
    };
    const own = (await filesIn(files)).filter((path) => !before.includes(path));
    assert.equal(own.length, 4);
    /** How many of its files there still are. */
    const left = async () => (await filesIn(files)).filter((path) => own.includes(path)).length;
    return { resource, path: `/people/${resource.id}`, left };
  };

  it("keeps the files that it still contains, at any address of the server", async () => {
    const { resource, path, left } = await make();
    const { id, createdAt, updatedAt, ...fields } = resource as Record<string, unknown>;
    const { status, body } = await client.put(path, {
      ...fields,
      photo: { ...resource.photo, url: "https://elsewhere.test/x" },
      name: "Bob",
    });
    assert.equal(status, 200);
    assert.deepEqual({ ...JSON.parse(body), updatedAt }, { ...resource, name: "Bob" });
    assert.equal((await client.patch(path, { age: 36 })).status, 200);
    assert.equal(
      (
        await client.jsonPatch(path, [
          { op: "test", path: "/photo", value: resource.photo },
          { op: "remove", path: "/age" },
        ])
      ).status,
      200,
    );
    assert.equal(await left(), 4);
    assert.equal(String(await bytesAt(resource.photo)), "photo");
    assert.deepEqual(
      [id, createdAt],
      [resource.id, (await client.json<{ createdAt: string }>(path)).createdAt],
    );
  });

  it("removes the files that it omits", async () => {
    const { resource, path, left } = await make();
    assert.equal((await client.put(path, { name: "Ada", docs: resource.docs })).status, 200);
    assert.equal(await left(), 3);
    assertProblem(await client.get(resource.photo.url), "not-found");
    assert.equal(
      (await client.patch(path, { docs: resource.docs.slice(1).reverse() })).status,
      200,
    );
    assert.equal(await left(), 2);
    const { docs } = await client.json<{ docs: readonly Shown[] }>(path);
    assert.deepEqual(docs, resource.docs.slice(1).reverse());
    assert.equal(String(await bytesAt(docs[0] as Shown)), "doc 3");
    assert.equal((await client.patch(path, { docs: null })).status, 200);
    assert.equal(await left(), 0);
  });

  it("stores anything else in their place as plain data", async () => {
    const { resource, path, left } = await make();
    const { url, type } = resource.photo;
    const fields = { photo: { url, type, name: "other" }, docs: [{ mine: true }, "text"] };
    const { body } = await client.put(path, fields);
    const { photo, docs } = JSON.parse(body) as typeof fields;
    assert.deepEqual({ photo, docs }, fields);
    assert.equal(await left(), 0);
    assertProblem(await client.get(resource.photo.url), "not-found");
  });

  it("that describes a file in another way than it is shown is rejected", async () => {
    const { resource, path, left } = await make();
    const { name, photo, docs } = resource;
    const { status } = await app.request(photo.url, {
      method: "PUT",
      headers: { "content-type": "image/png" },
      body: "new photo",
    });
    assert.equal(status, 204);
    const { photo: shown } = await client.json<typeof resource>(path);
    const wrong: readonly (readonly [string, Record<string, unknown>])[] = [
      ["/photo", { photo: { ...shown, name: "other" } }],
      ["/photo", { photo: { ...shown, type: "text/plain" } }],
      ["/photo", { photo: { ...shown, size: 1, mine: true } }],
      // As it was before it was replaced.
      ["/photo", { photo }],
      ["/photo", { photo: [shown] }],
      ["/docs", { docs: [...docs, { mine: true }] }],
      ["/docs", { docs: [docs[0], docs[0]] }],
      ["/docs", { docs: docs[0] }],
    ];
    for (const [pointer, fields] of wrong) {
      const whole = { name, photo: shown, docs, ...fields };
      for (const send of [() => client.put(path, whole), () => client.patch(path, fields)]) {
        const problem = await rejects("invalid-body", send);
        assert.deepEqual(pointersOf(problem), [pointer], JSON.stringify(fields));
      }
    }
    const body = { photo: { name: "other" }, docs: null };
    await rejects("invalid-body", () => client.patch(path, body));
    await rejects("invalid-body", () => client.batch([{ method: "PATCH", path, body }]));
    assert.equal(await left(), 3);
    assert.equal(String(await bytesAt(shown)), "new photo");
  });

  it("that is rejected changes nothing", async () => {
    const { resource, path, left } = await make();
    await rejects("precondition-failed", () => client.put(path, {}, { "if-match": '"other"' }));
    await rejects("precondition-failed", () => client.remove(path, { "if-match": '"other"' }));
    assert.equal(await left(), 4);
    assert.equal(String(await bytesAt(resource.photo)), "photo");
  });

  it("in a batch does the same", async () => {
    const { resource, path, left } = await make();
    const rejected = [
      { method: "DELETE", path },
      { method: "DELETE", path: "/people/nobody" },
    ];
    await rejects("not-found", () => client.batch(rejected));
    const { status } = await client.batch([
      { method: "PATCH", path, body: { photo: null } },
      { method: "PATCH", path, body: { name: "Bob" } },
    ]);
    assert.equal(status, 200);
    assert.equal(await left(), 3);
    assert.deepEqual((await client.json<{ docs: unknown }>(path)).docs, resource.docs);
    assert.equal((await client.batch([{ method: "DELETE", path }])).status, 200);
    assert.equal(await left(), 0);
  });

  it("that removes it removes its files", async () => {
    const { resource, path, left } = await make();
    assert.equal((await client.remove(path)).status, 204);
    assert.equal(await left(), 0);
    assertProblem(await client.get(resource.photo.url), "not-found");
  });

  it("keeps a file that is hidden from the caller, and shows it to nobody", async () => {
    const secret = { type: "object", writeOnly: true };
    await define("secrets", {
      schema: { type: "object", properties: { scan: secret, name: { type: "string" } } },
    });
    const before = await filesIn(files);
    const resource = await made([text("name", "a"), file("scan", "s", "secret")], "/secrets");
    assert.equal(Object.hasOwn(resource, "scan"), false);
    assertProblem(await client.get(`/secrets/${resource.id}/scan`), "not-found");
    assert.equal((await client.put(`/secrets/${resource.id}`, { name: "b" })).status, 200);
    assert.equal((await filesIn(files)).length, before.length + 1);
    assert.equal((await client.remove(`/secrets/${resource.id}`)).status, 204);
    assert.deepEqual(await filesIn(files), before);
  });
});
