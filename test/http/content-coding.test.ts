// Content codings of responses and of request bodies.
// @runtimes both

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import * as zlib from "node:zlib";
import { encodeStream } from "../../src/http/headers/content-coding.ts";
import { startApp, type TestApp } from "./app.ts";
import { Client } from "./client.ts";
import { assertProblem } from "./expect.ts";
import { type RawRequest, type RawResponse, rawRequest } from "./raw-request.ts";

const quick = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } };
const codings = {
  gzip: [zlib.gzipSync, zlib.gunzipSync],
  br: [
    (text: string | Uint8Array) => zlib.brotliCompressSync(text, quick),
    zlib.brotliDecompressSync,
  ],
  zstd: [zlib.zstdCompressSync, zlib.zstdDecompressSync],
} as const;
type Coding = keyof typeof codings;
const names = Object.keys(codings) as Coding[];

const encode = (coding: Coding, text: string | Uint8Array): Buffer => codings[coding][0](text);

/** The body, decoded by its Content-Encoding. */
function decoded({ headers, bytes }: RawResponse): string {
  const coding = headers.get("content-encoding");
  return (coding === null ? bytes : codings[coding as Coding][1](bytes)).toString();
}

const limitBytes = 100_000;
/** Over what is coded on another thread. */
const long = "Lorem ipsum dolor sit amet. ".repeat(3_000);

let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp({ maxBodyBytes: limitBytes });
  client = new Client(app);
  await client.putAndReadTag("/texts/small", { text: "Lorem" });
  await client.putAndReadTag("/texts/large", { text: "Lorem ipsum ".repeat(200) });
  await client.putAndReadTag("/texts/huge", { text: long });
});
after(() => app.stop());

const get = (path: string, accepted?: string, more: RawRequest = {}) =>
  rawRequest(app, path, {
    ...more,
    headers: {
      ...(accepted === undefined ? {} : { "accept-encoding": accepted }),
      ...more.headers,
    },
  });

describe("a response", () => {
  const choices: readonly (readonly [accepted: string | undefined, coding: Coding | null])[] = [
    [undefined, null],
    ["", null],
    ["identity", null],
    ["deflate, compress", null],
    ["gzip", "gzip"],
    ["GZip", "gzip"],
    ["x-gzip", "gzip"],
    ["br", "br"],
    ["zstd", "zstd"],
    ["gzip, deflate, br, zstd", "zstd"],
    ["gzip, br", "br"],
    ["br;q=0.1, gzip", "gzip"],
    ["gzip;q=0.5, br;q=0.4, zstd;q=0.3", "gzip"],
    ["gzip;q=0", null],
    ["*", "gzip"],
    ["*, br", "br"],
    ["br;q=0.5, *", "gzip"],
    ["*, zstd;q=0, br;q=0", "gzip"],
    ["gzip, *;q=0", "gzip"],
    ["identity, gzip;q=0.5", null],
    ["identity;q=0.5, gzip", "gzip"],
    ["identity;q=0, gzip;q=0.001", "gzip"],
    ["gzip;q=2, br;q=0.5", "br"],
    ["gzip;level=9", null],
  ];
  for (const [accepted, coding] of choices) {
    it(`for ${accepted === undefined ? "no Accept-Encoding" : `"${accepted}"`} is ${coding ?? "not encoded"}`, async () => {
      const plain = await get("/texts/large");
      const answer = await get("/texts/large", accepted);
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("content-encoding"), coding);
      assert.equal(decoded(answer), plain.body);
      assert.equal(answer.headers.get("content-length"), `${answer.bytes.length}`);
      assert.ok(coding === null || answer.bytes.length < plain.bytes.length / 2);
    });
  }

  it("is 406 when no coding is acceptable", async () => {
    for (const path of ["/texts/small", "/texts/large", "/texts", "/-/openapi.json", "/"]) {
      for (const accepted of ["identity;q=0", "*;q=0", "identity;q=0, gzip;q=0"]) {
        assertProblem(await get(path, accepted), "not-acceptable");
      }
    }
  });

  it("is encoded when it is large enough, or when identity is not acceptable", async () => {
    assert.equal((await get("/texts/small", "gzip")).headers.get("content-encoding"), null);
    const forced = await get("/texts/small", "gzip, identity;q=0");
    assert.equal(forced.headers.get("content-encoding"), "gzip");
    assert.equal(JSON.parse(decoded(forced)).text, "Lorem");
  });

  it("with a problem is never encoded", async () => {
    const wrong = Array.from({ length: 50 }, (_, index) => `wrong${index}=1`).join("&");
    const answer = await get(`/-/health?${wrong}`, "gzip");
    assertProblem(answer, "invalid-parameter");
    assert.ok(answer.bytes.length > 2_000);
    assert.equal(answer.headers.get("content-encoding"), null);
  });

  it("has a strong ETag for each coding, and Vary", async () => {
    for (const path of ["/texts/large", "/texts/huge", "/texts", "/-/openapi.json"]) {
      const answers = await Promise.all([undefined, ...names].map((coding) => get(path, coding)));
      const tags = answers.map(({ headers }) => headers.get("etag") ?? "");
      assert.equal(new Set(tags).size, 4, path);
      for (const tag of tags) assert.match(tag, /^"[!#-~]+"$/);
      for (const { headers } of answers) {
        assert.match(headers.get("vary") ?? "", /\bAccept-Encoding\b/, path);
      }
      assert.deepEqual(new Set(answers.map(decoded)).size, 1, path);
    }
  });

  it("has the same bytes each time, as its ETag promises", async () => {
    for (const path of ["/texts/large", "/texts/huge", "/texts?limit=2"]) {
      const [one, other] = [await get(path, "zstd"), await get(path, "zstd")];
      assert.equal(one.headers.get("etag"), other.headers.get("etag"));
      assert.deepEqual(one.bytes, other.bytes);
    }
  });

  it("to HEAD has the headers of GET", async () => {
    for (const path of ["/texts/large", "/texts", "/-/openapi.json"]) {
      const asked = await get(path, "gzip");
      const reported = await get(path, "gzip", { method: "HEAD" });
      assert.equal(reported.bytes.length, 0);
      for (const name of ["etag", "content-encoding", "content-length", "vary", "content-type"]) {
        assert.equal(reported.headers.get(name), asked.headers.get(name), `${path} ${name}`);
      }
    }
  });

  it("to QUERY is encoded, too", async () => {
    const query = { method: "QUERY", headers: { "content-type": "application/json" }, body: "{}" };
    const answer = await get("/texts", "br", query);
    assert.equal(answer.headers.get("content-encoding"), "br");
    assert.equal(answer.headers.get("etag"), null);
    assert.equal(JSON.parse(decoded(answer)).total, 3);
  });
});

describe("an ETag", () => {
  const tagOf = async (path: string, coding?: Coding) =>
    (await get(path, coding)).headers.get("etag") ?? "";

  it("of any coding that the client accepts matches If-None-Match", async () => {
    for (const path of [
      "/texts/large",
      "/texts/huge",
      "/texts",
      "/-/openapi.json",
      "/-/problems",
    ]) {
      for (const coding of names) {
        const tag = await tagOf(path, coding);
        const ask = (accepted: string, field: string) =>
          get(path, accepted, { headers: { "if-none-match": field } });
        const same = await ask(coding, tag);
        assert.equal(same.status, 304, path);
        assert.equal(same.headers.get("etag"), tag);
        assert.equal(same.headers.get("content-encoding"), null);
        assert.equal(same.bytes.length, 0);
        const plain = await tagOf(path);
        const listed = await ask("gzip, br, zstd", `"x", W/${tag}`);
        assert.deepEqual([listed.status, listed.headers.get("etag")], [304, tag]);
        assert.equal((await ask(coding, plain)).headers.get("etag"), plain);
        // A cache may ask for one who cannot read what it has.
        for (const others of ["identity", `${coding};q=0`]) {
          assert.equal((await ask(others, tag)).status, 200);
        }
      }
    }
  });

  it("of any coding of the current state matches If-Match, and no other does", async () => {
    for (const coding of names) {
      const path = `/texts/changed-${coding}`;
      const old = await client.putAndReadTag(path, { text: long });
      await client.putAndReadTag(path, { text: long, n: 1 });
      const stale = `${old.slice(0, -1)}.${coding}"`;
      const tag = await tagOf(path, coding);
      for (const wrong of [stale, `W/${tag}`, `${tag.slice(0, -1)}x"`, `"${coding}"`]) {
        const answer = await client.patch(path, { n: 2 }, { "if-match": wrong });
        assertProblem(answer, "precondition-failed");
      }
      assertProblem(await client.put(path, {}, { "if-none-match": tag }), "precondition-failed");
      assert.equal((await get(path, "br", { headers: { "if-match": tag } })).status, 200);
      assertProblem(
        await get(path, "br", { headers: { "if-match": stale } }),
        "precondition-failed",
      );
      assert.equal((await client.patch(path, { n: 2 }, { "if-match": tag })).status, 200);
      assertProblem(await client.remove(path, { "if-match": tag }), "precondition-failed");
      const now = await tagOf(path, coding);
      assert.equal((await client.remove(path, { "if-match": now })).status, 204);
    }
  });
});

describe("a stream", () => {
  async function* pieces(count: number) {
    for (let n = 0; n < count; n++) yield `${n} Lorem ipsum `.repeat(2_000);
  }

  it("that is zstd is one frame, because some clients do not accept more", async () => {
    for (const count of [0, 1, 2, 20]) {
      const bytes = Buffer.concat(await Array.fromAsync(encodeStream(pieces(count), "zstd")));
      const text = (await Array.fromAsync(pieces(count))).join("");
      assert.equal(zlib.zstdDecompressSync(bytes).toString(), text);
      assert.equal(bytes.indexOf("28b52ffd", 1, "hex"), -1, `${count} pieces`);
    }
  });

  for (const coding of names)
    it(`that is ${coding} ends its source when the client has left, and with its error`, async () => {
      const ended = Promise.withResolvers<void>();
      async function* endless() {
        try {
          for (;;) yield randomBytes(200_000);
        } finally {
          ended.resolve();
        }
      }
      const left = encodeStream(endless(), coding);
      await left.next();
      await left.return(undefined);
      await ended.promise;
      async function* failing() {
        yield* pieces(1);
        throw new Error("no more");
      }
      await assert.rejects(Array.fromAsync(encodeStream(failing(), coding)), /no more/);
    });
});

describe("a request body", () => {
  const json = { "content-type": "application/json" };
  const sendBody = (
    method: string,
    path: string,
    coding: string,
    body: RawRequest["body"],
    headers = json,
  ) =>
    rawRequest(app, path, {
      method,
      headers: { ...headers, "content-encoding": coding },
      ...(body === undefined ? {} : { body }),
    });

  for (const coding of names) {
    it(`may be encoded as ${coding} for any kind of request`, async () => {
      const text = JSON.stringify({ text: long });
      const path = `/bodies-${coding}`;
      const made = await sendBody("POST", path, coding, encode(coding, text));
      assert.equal(made.status, 201, made.body);
      assert.equal(JSON.parse(made.body).text, long);
      const put = await sendBody("PUT", `${path}/a`, coding, encode(coding, text));
      assert.equal(put.status, 201, put.body);
      const patch = { "content-type": "application/merge-patch+json" };
      const patched = await sendBody(
        "PATCH",
        `${path}/a`,
        coding,
        encode(coding, '{"n":1}'),
        patch,
      );
      assert.equal(JSON.parse(patched.body).n, 1);
      const asked = await sendBody("QUERY", path, coding, encode(coding, '{"where":{"n":1}}'));
      assert.equal(JSON.parse(asked.body).total, 1);
      const batch = { operations: [{ method: "POST", path, body: {} }] };
      const done = await sendBody(
        "POST",
        "/-/batch",
        coding,
        encode(coding, JSON.stringify(batch)),
      );
      assert.equal(done.status, 200, done.body);
      const form = { "content-type": "application/x-www-form-urlencoded" };
      const filled = await sendBody("POST", path, coding, encode(coding, "a=b"), form);
      assert.equal(JSON.parse(filled.body).a, "b");
    });

    it(`may be ${coding} in chunks, without a length`, async () => {
      const bytes = encode(coding, JSON.stringify({ text: long }));
      const pieces = Array.from({ length: Math.ceil(bytes.length / 50) }, (_, index) =>
        bytes.subarray(index * 50, (index + 1) * 50),
      );
      assert.equal((await sendBody("POST", "/pieces", coding, pieces)).status, 201);
    });

    it(`that ${coding} expands is rejected at the limit`, async () => {
      const path = `/bomb-${coding}`;
      for (const bytes of [limitBytes + 20, 100 * limitBytes]) {
        const text = Buffer.alloc(bytes, " ");
        const bomb = encode(coding, text);
        assert.ok(bomb.length < limitBytes);
        assertProblem(await sendBody("POST", path, coding, bomb), "content-too-large");
      }
      assert.equal((await client.get(path)).status, 404);
      const fits = encode(coding, JSON.stringify({}).padEnd(limitBytes, " "));
      assert.equal((await sendBody("POST", path, coding, fits)).status, 201);
    });

    it(`that is not valid ${coding} is rejected, and nothing is stored`, async () => {
      const path = `/wrong-${coding}`;
      const whole = encode(coding, JSON.stringify({ text: long }));
      const wrong: Readonly<Record<string, Uint8Array>> = {
        "not coded": Buffer.from('{"a":1}'),
        empty: Buffer.alloc(0),
        "cut off": whole.subarray(0, whole.length - 5),
        "cut off early": whole.subarray(0, 3),
        "with more behind": Buffer.concat([whole, Buffer.from("more")]),
        "with another behind": Buffer.concat([whole, encode(coding, '{"a":1}')]),
      };
      for (const [what, bytes] of Object.entries(wrong)) {
        const answer = await sendBody("POST", path, coding, bytes);
        assertProblem(answer, "invalid-body");
        assert.equal((await client.get(path)).status, 404, what);
      }
    });
  }

  it("without a byte is not an encoded body of any type", async () => {
    const types = ["image/png", "application/x-www-form-urlencoded", "application/x-ndjson"];
    for (const coding of names) {
      const path = `/none-${coding}`;
      for (const type of types) {
        const headers = { "content-type": type };
        const answer = await sendBody("POST", path, coding, Buffer.alloc(0), headers);
        if (answer.status === 400) assertProblem(answer, "invalid-body");
        else assert.match(answer.body, /"problem":\{"type":"[^"]*\/invalid-body"/, coding);
        assert.equal(await app.total(path.slice(1)), 0, type);
      }
    }
  });

  it("may have one coding, and identity next to it", async () => {
    const once = encode("gzip", '{"a":1}');
    for (const field of ["x-gzip", "identity, GZip", "gzip,", "gzip , identity"]) {
      assert.equal((await sendBody("POST", "/once", field, once)).status, 201, field);
    }
    assert.equal((await sendBody("POST", "/once", "identity", '{"a":1}')).status, 201);
    assert.equal(await app.total("once"), 5);
  });

  it("in an unknown coding is rejected with the known ones", async () => {
    for (const coding of [
      "compress",
      "deflate",
      "gzip, lzma",
      "gzip, br",
      "zstd, gzip",
      "aes128gcm",
    ]) {
      for (const [method, path] of [
        ["POST", "/texts"],
        ["PUT", "/texts/large"],
        ["PATCH", "/texts/large"],
        ["QUERY", "/texts"],
        ["POST", "/-/batch"],
      ] as const) {
        const answer = await sendBody(method, path, coding, "{}");
        assertProblem(answer, "unsupported-media-type");
        assert.equal(answer.headers.get("accept-encoding"), "zstd, br, gzip, identity");
      }
    }
  });
});
