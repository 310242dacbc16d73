// POST /{collection} with JSON: what is created, what is rejected, and that a rejection leaves nothing behind.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { openConnection, type RawResponse, send } from "../runtime/raw-connection.ts";
import { passTurns } from "../turns-of.ts";
import { startApp, type TestApp } from "./app.ts";
import { type Answer, answerOf, assertProblem, expectProblem } from "./expect.ts";

const limitBytes = 16_384;
const json = { "content-type": "application/json" };

let app: TestApp;
before(async () => {
  app = await startApp({ maxBodyBytes: limitBytes });
});
after(() => app.stop());

type Body = string | Uint8Array<ArrayBuffer>;

const post = (path: string, body: Body, headers: Record<string, string> = json): Promise<Answer> =>
  answerOf(app.request(path, { method: "POST", headers, body }));

/** The head of a POST, for bodies that no client library would send. */
const postHead = (path: string, ...fields: string[]): string =>
  [`POST ${path} HTTP/1.1`, "Host: localhost", `Authorization: Bearer ${app.admin}`, ...fields]
    .join("\r\n")
    .concat("\r\n\r\n");

/** The response to raw bytes. */
async function speak(...segments: string[]): Promise<RawResponse> {
  const { responses } = await send(app.port, segments);
  const [answer] = responses;
  assert.ok(answer !== undefined, "there is no answer");
  return answer;
}

describe("POST /{collection}", () => {
  it("returns 201 with Location, validators and the representation", async () => {
    const { status, headers, body } = await post("/people", '{"name":"Ada","born":1815}');
    assert.equal(status, 201);
    const made = JSON.parse(body) as Record<string, string>;
    assert.deepEqual(Object.keys(made), ["id", "name", "born", "createdAt", "updatedAt"]);
    assert.equal(headers.get("location"), `/people/${made.id}`);
    assert.equal(headers.get("content-location"), headers.get("location"));
    assert.match(headers.get("etag") ?? "", /^"[!#-~]+"$/);
    assert.match(made.createdAt ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(made.updatedAt, made.createdAt);
    const modified = new Date(headers.get("last-modified") ?? "").getTime();
    assert.equal(modified, Math.floor(Date.parse(made.updatedAt ?? "") / 1000) * 1000);
  });

  it("rejects a Content-Type with a repeated parameter, and stores nothing", async () => {
    const before = await app.total("people");
    const types = [
      "application/json; charset=utf-8; charset=iso-8859-1",
      "application/json; charset=iso-8859-1; charset=utf-8",
      'application/json;CHARSET="utf-8";charset=utf-8',
      "application/x-www-form-urlencoded; charset=utf-8; charset=utf-16",
      "application/x-ndjson; charset=utf-8; charset=utf-16",
      "multipart/form-data; boundary=a; boundary=b",
    ];
    for (const type of types) {
      const answer = app.request("/people", {
        method: "POST",
        headers: { "content-type": type },
        body: "{}",
      });
      const { detail } = await expectProblem(answer, "malformed-request");
      assert.match(detail, /charset|boundary/);
    }
    assert.equal(await app.total("people"), before);
  });

  it("returns JSON without a charset, which no cache stores", async () => {
    const { headers, body } = await post("/people", "{}");
    assert.equal(headers.get("content-type"), "application/json");
    assert.equal(headers.get("content-length"), `${Buffer.byteLength(body)}`);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("x-content-type-options"), "nosniff");
  });

  it("returns the same bytes and validators as a later GET of Location", async () => {
    const made = await post("/people", '{"name":"Ada","ü":"ß\\u00df"}');
    const read = await answerOf(app.request(made.headers.get("location") ?? ""));
    assert.equal(read.status, 200);
    assert.equal(read.body, made.body);
    for (const name of ["etag", "last-modified", "content-type", "vary"])
      assert.equal(read.headers.get(name), made.headers.get(name), name);
  });

  it("never builds Location from the Host header", async () => {
    const body = '{"a":1}';
    const head = [
      "POST /people HTTP/1.1",
      "Host: evil.example",
      "X-Forwarded-Host: evil.example",
      "X-Forwarded-Proto: https",
      'Forwarded: host="evil.example"',
      `Authorization: Bearer ${app.admin}`,
      "Content-Type: application/json",
      `Content-Length: ${body.length}`,
    ].join("\r\n");
    const answer = await speak(`${head}\r\n\r\n${body}`);
    assert.equal(answer.status, 201);
    assert.match(answer.headers.location ?? "", /^\/people\/[0-9a-f-]{36}$/);
    assert.ok(!JSON.stringify(answer).includes("evil"));
  });

  it("puts the base URL and its path prefix before Location and the problem type", async () => {
    const base = "https://api.example.org/v1";
    const prefixed = await startApp({ baseUrl: base });
    try {
      const init = { method: "POST", headers: json };
      const made = await prefixed.request("/people", { ...init, body: "{}" });
      const { id } = (await made.json()) as { id: string };
      assert.equal(made.headers.get("location"), `${base}/people/${id}`);
      assert.equal(made.headers.get("content-location"), `${base}/people/${id}`);
      const rejected = prefixed.request("/people", { ...init, body: "[]" });
      const problem = await expectProblem(rejected, "invalid-body", base);
      assert.equal(problem.instance, `${base}/people`);
    } finally {
      await prefixed.stop();
    }
  });

  it("creates two resources for two identical POSTs", async () => {
    const [first, second] = [await post("/twins", '{"a":1}'), await post("/twins", '{"a":1}')];
    assert.notEqual(first.headers.get("location"), second.headers.get("location"));
    assert.notEqual(first.headers.get("etag"), second.headers.get("etag"));
    assert.equal(await app.total("twins"), 2);
  });

  it("stores all of many concurrent POSTs, also when they create the collection", async () => {
    const numbers = Array.from({ length: 100 }, (_, index) => index);
    const made = await Promise.all(numbers.map((n) => app.post("crowd", { n })));
    assert.equal(new Set(made.map(({ id }) => id)).size, numbers.length);
    const listed = await app.request(`/crowd?limit=${numbers.length + 1}`);
    const { data, total } = (await listed.json()) as { data: { n: number }[]; total: number };
    assert.equal(total, numbers.length);
    assert.deepEqual(
      data.map(({ n }) => n).sort((a, b) => a - b),
      numbers,
    );
  });

  it("creates ids that are UUIDv7 and strictly increase", async () => {
    let last = "";
    for (let count = 0; count < 20; count++) {
      const { id } = (await app.post("ordered", {})) as { id: string };
      assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
      assert.ok(id > last, `${id} after ${last}`);
      last = id;
    }
  });

  it("ignores X-HTTP-Method-Override", async () => {
    const headers = { ...json, "x-http-method-override": "DELETE" };
    assert.equal((await post("/override", "{}", headers)).status, 201);
    assert.equal(await app.total("override"), 1);
  });
});

describe("the stored text", () => {
  const kept: readonly (readonly [title: string, sent: string, fields: string])[] = [
    ["no fields at all", "{}", ""],
    ["number literals", '{"a":1.0,"b":1e2,"c":-0,"d":1E+2,"e":0.10,"f":-1.5e-7}', ""],
    ["the largest safe integers", '{"a":9007199254740991,"b":-9007199254740991}', ""],
    ["escapes", String.raw`{"a":"\u0041\/\"\\\b\f\n\r\t","\u0062":"é\u00e9"}`, ""],
    ["NUL", String.raw`{"a":"x\u0000y"}`, ""],
    ["surrogate pairs, escaped and plain", '{"a":"😀\\ud83d\\ude00"}', ""],
    ["the order of members, integer-like ones too", '{"b":1,"2":2,"a":3,"1":4,"":5}', ""],
    ["constructor and prototype as plain data", '{"constructor":{"prototype":1}}', ""],
    ["nesting and empty containers", '{"a":[{},[],[[null,true,false]]],"b":{"c":{}}}', ""],
    [
      "no whitespace between tokens, all of it inside strings",
      '\r\n\t{ "a b" : [ 1 , 2 ] ,\n "c" : " d " } ',
      '"a b":[1,2],"c":" d "',
    ],
    [
      "not the client's createdAt and updatedAt",
      '{"createdAt":"1999","a":1,"updatedAt":null}',
      '"a":1',
    ],
    ["what follows a byte order mark", '\ufeff{"a":1}', '"a":1'],
  ];
  for (const [title, sent, fields] of kept) {
    it(`is returned byte for byte: ${title}`, async () => {
      const { status, body } = await post("/kept", sent);
      assert.equal(status, 201, body);
      const made = JSON.parse(body) as { id: string; createdAt: string };
      const inner = fields || sent.slice(1, -1);
      const own = inner === "" ? "" : `${inner},`;
      const times = `"createdAt":"${made.createdAt}","updatedAt":"${made.createdAt}"`;
      assert.equal(body, `{"id":"${made.id}",${own}${times}}`);
      assert.equal(await (await app.request(`/kept/${made.id}`)).text(), body);
    });
  }
});

describe("an invalid body is 400 and leaves nothing behind", () => {
  const rejected = async (body: Body) => {
    const problem = assertProblem(await post("/faulty", body), "invalid-body");
    assert.equal(await app.total("faulty"), 0);
    return problem.errors ?? [];
  };

  const malformed: readonly (readonly [text: string, line: number, column: number])[] = [
    ['{"a":1,}', 1, 8],
    ['{"a":1\n"b":2}', 2, 1],
    ['{\n  "a": 1,\n  "b": nul\n}', 3, 8],
    ['{\r\n"a":\r\n x}', 3, 2],
    ["{'a':1}", 1, 2],
    ["{a:1}", 1, 2],
    ['{"a":NaN}', 1, 6],
    ['{"a":-Infinity}', 1, 7],
    ['{"a":01}', 1, 6],
    ['{"a":.5}', 1, 6],
    ['{"a":1.}', 1, 8],
    ['{"a":+1}', 1, 6],
    ['{"a":1} x', 1, 9],
    ['{"a":1}{"b":2}', 1, 8],
    ['{"a":1', 1, 7],
    ['{"a":[1 2]}', 1, 9],
    ['{"a" 1}', 1, 6],
    ["// why\n{}", 1, 1],
    ['{"a":"\u0001"}', 1, 7],
    ['{"a":"x', 1, 8],
    [" \n ", 2, 2],
  ];
  for (const [text, line, column] of malformed) {
    it(`malformed JSON, with line and column: ${JSON.stringify(text)}`, async () => {
      const errors = await rejected(text);
      assert.equal(errors.length, 1);
      assert.match(errors[0]?.detail ?? "", new RegExp(`line ${line}\\b.*column ${column}\\b`));
    });
  }

  const deep = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
  const members = (count: number) =>
    Array.from({ length: count }, (_, index) => `"${index}":0`).join(",");
  const rules: readonly (readonly [title: string, body: Body, ...pointers: string[]])[] = [
    ["a duplicate member", '{"a":1,"b":2,"a":1}', "/a"],
    ["a duplicate behind an escape", String.raw`{"a":1,"\u0061":2}`, "/a"],
    ["a duplicate deep inside", '{"a":[0,{"b":1,"b":2}]}', "/a/1/b"],
    ["names that a pointer escapes", '{"a/b~c":1,"a/b~c":2}', "/a~1b~0c"],
    ["an integer that loses digits", '{"a":12345678901234567890}', "/a"],
    ["a fraction that loses digits", '{"a":0.1234567890123456789}', "/a"],
    ["a number that overflows", '{"a":1e400}', "/a"],
    ["a number that becomes zero", '{"a":1e-400}', "/a"],
    ["a lone surrogate in a value", String.raw`{"a":["\ud800"]}`, "/a/0"],
    ["surrogates in the wrong order", String.raw`{"a":"\ude00\ud83d"}`, "/a"],
    ["__proto__", '{"a":{"__proto__":{"admin":true}}}', "/a/__proto__"],
    ["__proto__ behind an escape", String.raw`{"\u005f_proto__":1}`, "/__proto__"],
    ["an id", '{"id":"mine","a":1}', "/id"],
    ["an id that is none", '{"id":null}', "/id"],
    ["more members than anyone needs", `{${members(1001)}}`, ""],
    ["an array", "[]", ""],
    ["a string", '"text"', ""],
    ["a number", "1", ""],
    ["null", "null", ""],
    ["an empty body", "", ""],
    ["invalid UTF-8", Buffer.from('{"a":"\xff"}', "latin1"), ""],
    ["truncated UTF-8", Buffer.from('{"a":"\xc3"}', "latin1"), ""],
    ["overlong UTF-8", Buffer.from('{"a":"\xc0\xaf"}', "latin1"), ""],
    ["a surrogate in UTF-8", Buffer.from('{"a":"\xed\xa0\x80"}', "latin1"), ""],
    ["UTF-16", Buffer.from('\ufeff{"a":1}', "utf16le"), ""],
    [
      "several errors at once",
      String.raw`{"a":1e400,"b":{"c":1,"c":2},"d":"\udfff","e":[12345678901234567890]}`,
      "/a",
      "/b/c",
      "/d",
      "/e/0",
    ],
  ];
  for (const [title, body, ...pointers] of rules) {
    it(title, async () => {
      const errors = await rejected(body);
      assert.deepEqual(errors.map(({ pointer }) => pointer).sort(), pointers);
      for (const { detail } of errors) assert.ok(detail.length > 5, detail);
    });
  }

  it("an id, and the problem says to use PUT", async () => {
    const [error] = await rejected('{"id":"mine"}');
    assert.match(error?.detail ?? "", /PUT/);
  });

  it("more than 64 levels of nesting, however deep, while 64 are accepted", async () => {
    assert.match((await rejected(deep(65)))[0]?.detail ?? "", /64/);
    assert.match((await rejected(`{"a":${"[".repeat(4000)}`))[0]?.detail ?? "", /64/);
    assert.equal((await post("/deep", deep(64))).status, 201);
  });

  for (const fields of [[], ["Content-Type: application/json"], ["Content-Length: 0"]]) {
    it(`no body, without waiting for one [${fields}]`, async () => {
      const answer = await speak(postHead("/faulty", ...fields));
      assert.equal(answer.status, 400);
      assert.equal(JSON.parse(answer.body).type, "/-/problems/invalid-body");
      assert.equal(await app.total("faulty"), 0);
    });
  }

  it("an empty chunked body", async () => {
    const head = postHead(
      "/faulty",
      "Content-Type: application/json",
      "Transfer-Encoding: chunked",
    );
    const answer = await speak(`${head}0\r\n\r\n`);
    assert.equal(answer.status, 400);
    assert.equal(await app.total("faulty"), 0);
  });
});

describe("media types", () => {
  const taken = [
    "application/json",
    'APPLICATION/JSON ; charset="UTF-8"',
    "application/json;charset=utf-8",
    "application/json; charset=UTF8",
    'application/json; profile="a, b"',
    "application/ld+json",
    "application/vnd.example.person+json; version=1",
    "model/gltf+json",
  ];
  for (const type of taken) {
    it(`accepts ${type}`, async () => {
      const { status, body } = await post("/typed", '{"a":1}', { "content-type": type });
      assert.equal(status, 201, body);
    });
  }

  const unsupported = [
    "text/json",
    "multipart/mixed; boundary=x",
    "application/merge-patch+json",
    "application/jsonx",
    "application/json+xml",
    "application/json x",
    "application/a b+json",
    "json",
    "*/*",
    "application/json; charset=latin1",
    "application/json; charset=utf-16",
  ];
  for (const type of unsupported) {
    it(`rejects ${type} with 415 and the supported types, and leaves nothing behind`, async () => {
      const answer = await post("/untyped", '{"a":1}', { "content-type": type });
      assertProblem(answer, "unsupported-media-type");
      assert.match(answer.headers.get("accept-post") ?? "", /^application\/json, .*\*\/\*$/);
      assert.equal(answer.headers.get("accept-encoding"), null);
      assert.equal(await app.total("untyped"), 0);
    });
  }

  it("rejects a body without a type", async () => {
    const answer = await post("/untyped", Buffer.from('{"a":1}'), {});
    assertProblem(answer, "unsupported-media-type");
    assert.match(answer.headers.get("accept-post") ?? "", /^application\/json, .*\*\/\*$/);
    assert.equal(await app.total("untyped"), 0);
  });

  it("rejects two Content-Type lines", async () => {
    const type = "Content-Type: application/json";
    const head = postHead("/untyped", type, type, "Content-Length: 2");
    const answer = await speak(`${head}{}`);
    assert.equal(answer.status, 400);
    assert.equal(await app.total("untyped"), 0);
  });

  it("rejects an unknown content coding", async () => {
    for (const coding of ["compress", "deflate", "identity, lzma"]) {
      const answer = await post("/untyped", '{"a":1}', { ...json, "content-encoding": coding });
      assertProblem(answer, "unsupported-media-type");
      assert.equal(answer.headers.get("accept-encoding"), "zstd, br, gzip, identity");
    }
    assert.equal(await app.total("untyped"), 0);
    const headers = { ...json, "content-encoding": "identity" };
    assert.equal((await post("/typed", "{}", headers)).status, 201);
  });
});

describe("the size of a body", () => {
  const type = "Content-Type: application/json";
  const sized = (bytes: number) => `{"a":"${"x".repeat(bytes - 8)}"}`;
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  const half = "x".repeat(limitBytes / 2);

  it("accepts exactly the limit, and one byte more is 413", async () => {
    assert.equal((await post("/sized", sized(limitBytes))).status, 201);
    assertProblem(await post("/huge", sized(limitBytes + 1)), "content-too-large");
    assert.equal(await app.total("huge"), 0);
  });

  it("rejects by Content-Length before the body is sent", async () => {
    const head = postHead("/huge", type, `Content-Length: ${limitBytes + 1}`);
    const answer = await speak(head);
    assert.equal(answer.status, 413);
    assert.equal(JSON.parse(answer.body).type, "/-/problems/content-too-large");
    assert.equal(await app.total("huge"), 0);
  });

  it("rejects a chunked body as soon as it is too large, before it ends", async () => {
    const head = postHead("/huge", type, "Transfer-Encoding: chunked");
    const answer = await speak(head, chunk(`{"a":"${half}`), chunk(half));
    assert.equal(answer.status, 413);
    assert.equal(JSON.parse(answer.body).type, "/-/problems/content-too-large");
    assert.equal(await app.total("huge"), 0);
  });

  it("accepts a chunked body without a length, with chunk extensions", async () => {
    const head = postHead("/chunked", type, "Transfer-Encoding: chunked");
    const chunks = ['6;ext="a;b"\r\n{"a":"\r\n', chunk(half), '2\r\n"}\r\n', "0\r\n\r\n"];
    const answer = await speak(head, ...chunks);
    assert.equal(answer.status, 201, answer.body);
    assert.equal((JSON.parse(answer.body) as { a: string }).a, half);
    assert.equal(await app.total("chunked"), 1);
  });

  const cut: readonly (readonly [title: string, fields: string, part: string])[] = [
    ["short of its Content-Length", "Content-Length: 9", '{"a":1}'],
    ["before its first byte", "Content-Length: 7", ""],
    ["before the last chunk", "Transfer-Encoding: chunked", chunk('{"a":1}')],
    ["inside a chunk", "Transfer-Encoding: chunked", '9\r\n{"a":1}'],
  ];
  for (const [title, fields, part] of cut) {
    for (const way of ["destroy", "halfClose"] as const) {
      it(`creates nothing from a body that ends ${title} (${way})`, async () => {
        const wire = await openConnection(app.port);
        wire.write(postHead("/cut", type, fields) + part);
        // The server has to be reading the body when the end comes.
        await passTurns();
        wire[way]();
        await wire.untilClosed();
        await passTurns();
        const [answer] = wire.rest();
        assert.ok(answer === undefined || answer.status >= 400, `${answer?.status}`);
        wire.destroy();
        assert.equal(await app.total("cut"), 0);
      });
    }
  }
});

describe("permission to POST", () => {
  it("rejects an invalid token before the body is read", async () => {
    const init = { method: "POST", headers: json, body: "nonsense" };
    await expectProblem(app.request("/closed", { ...init, token: null }), "unauthenticated");
    await expectProblem(app.request("/closed", { ...init, token: "wrong" }), "unauthenticated");
    assert.equal(await app.total("closed"), 0);
  });

  it("creates a collection for an admin only; others get 404, whatever the body", async () => {
    const token = await app.token("*:create", "*:read");
    const sent = [
      { headers: json, body: "{}" },
      { headers: json, body: "nonsense" },
      { headers: { ...json, accept: "text/html" }, body: "{}" },
      { headers: { "content-type": "text/plain" }, body: "x".repeat(limitBytes + 1) },
    ];
    for (const { headers, body } of sent) {
      const init = { method: "POST", headers, body, token };
      const problem = await expectProblem(app.request("/unfounded", init), "not-found");
      assert.match(problem.detail, /unfounded/);
    }
    await expectProblem(app.request("/unfounded"), "not-found");
    await app.post("unfounded", {});
    const made = await app.request("/unfounded", {
      method: "POST",
      headers: json,
      body: "{}",
      token,
    });
    assert.equal(made.status, 201);
    assert.equal(await app.total("unfounded"), 2);
  });

  const nowhere = ["People", "-x", "_x", "a.b", "ü", "a%20b", "x".repeat(64), "-"];
  for (const name of nowhere) {
    it(`does not allow a collection called ${name}`, async () => {
      assertProblem(await post(`/${name}`, "{}"), "not-found");
      await expectProblem(app.request(`/${name}`), "not-found");
    });
  }

  it("allows every collection name that matches the rule", async () => {
    for (const name of ["0", "a-b_c", "x".repeat(63)]) {
      assert.equal((await post(`/${name}`, "{}")).status, 201);
    }
  });

  it("accepts no query parameters", async () => {
    const problem = assertProblem(await post("/asked?page=1&x=2", "{}"), "invalid-parameter");
    assert.deepEqual(
      problem.errors?.map(({ parameter }) => parameter),
      ["page", "x"],
    );
    assert.equal(await app.total("asked"), 0);
  });

  it("stores nothing for a client that does not accept JSON", async () => {
    const answer = await post("/unreadable", "{}", { ...json, accept: "text/html" });
    assertProblem(answer, "not-acceptable");
    assert.equal(await app.total("unreadable"), 0);
  });

  it("rejects by the headers alone, without waiting for the body: 415 before 413 before 406", async () => {
    const fields = [
      "Content-Type: text/json",
      `Content-Length: ${limitBytes + 1}`,
      "Accept: text/html",
    ];
    const expected = [415, 413, 406];
    const repaired = ["Content-Type: application/json", "Content-Length: 2"];
    for (const [index, status] of expected.entries()) {
      const head = postHead("/ranked", ...repaired.slice(0, index), ...fields.slice(index));
      const answer = await speak(head);
      assert.equal(answer.status, status, answer.body);
    }
    assert.equal(await app.total("ranked"), 0);
  });
});
