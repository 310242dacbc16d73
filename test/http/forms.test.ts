// Forms: fields are stored like JSON, browsers get pages, and bots are rejected.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startApp, type TestApp } from "./app.ts";
import { captureLog } from "./captured-log.ts";
import { Client, pointersOf } from "./client.ts";
import { type Answer, answerOf, assertProblem } from "./expect.ts";

type Fields = Readonly<Record<string, string>>;

const form = { "content-type": "application/x-www-form-urlencoded" };
/** As Firefox and Chromium ask when a form is posted. */
const asBrowser = {
  ...form,
  accept: "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8",
};

const contact = {
  schema: {
    type: "object",
    required: ["email", "message"],
    properties: {
      email: { type: "string", format: "email" },
      message: { type: "string", minLength: 1, maxLength: 1000 },
      age: { type: "integer", minimum: 0 },
      news: { type: "boolean" },
      topics: { type: "array", items: { type: "string" } },
      address: { type: "object", properties: { city: { type: "string" } } },
      born: { type: "string", format: "date" },
    },
    additionalProperties: false,
  },
  access: { create: "public" },
};
const good = "email=ann%40example.com&message=Hello";

const captured = captureLog();
let app: TestApp;
let client: Client;
before(async () => {
  app = await startApp({ logLevel: "info" }, captured.log);
  client = new Client(app);
  await client.putAndReadTag("/-/collections/open", {});
  const define = (name: string, more: object) =>
    client.put(`/-/collections/${name}`, { ...contact, ...more });
  await define("contact", {});
  await define("elsewhere", { redirect: "https://example.org/thanks?a=b&c=d" });
  await define("here", { redirect: "/thanks" });
  await define("trap", { honeypot: "website" });
  await define("keyed", { idempotencyKey: "required" });
  await define("limited", { rateLimit: { perMinute: 2 } });
});
after(() => app.stop());

/** Without a token, as from a page of somebody else. */
const post = (name: string, body: string, headers: Fields = form): Promise<Answer> =>
  answerOf(app.request(`/${name}`, { method: "POST", headers, body, token: null }));

async function last(name: string): Promise<Record<string, unknown>> {
  const { data } = await client.json<{ data: Record<string, unknown>[] }>(
    `/${name}?sort=-createdAt&limit=1`,
  );
  const { id, createdAt, updatedAt, ...fields } = data[0] ?? {};
  return fields;
}

/** The response must be a page without scripts that no cache stores. */
function assertPage({ status, headers, body }: Answer, expected: number): void {
  assert.equal(status, expected, body);
  assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
  assert.equal(headers.get("cache-control"), "no-store");
  assert.match(headers.get("vary") ?? "", /\bAccept\b/);
  assert.match(headers.get("content-security-policy") ?? "", /^default-src 'none'/);
  assert.ok(body.startsWith("<!doctype html>"));
}

describe("a form", () => {
  it("is stored with the types of the schema", async () => {
    const { status, headers, body } = await post(
      "contact",
      "_charset_=utf-8&email=ann%40example.com&message=a+%26+b%0D%0A%C3%A9+%F0%9F%98%80&age=42&news=on&topics=x&address%5Bcity%5D=Rome&born=",
    );
    assert.equal(status, 201, body);
    const fields = {
      email: "ann@example.com",
      message: "a & b\r\né 😀",
      age: 42,
      news: true,
      topics: ["x"],
      address: { city: "Rome" },
    };
    // Everyone may post, and not everyone may read.
    assert.equal(body, "");
    assert.match(headers.get("location") ?? "", /^\/contact\/[0-9a-f-]{36}$/);
    assert.match(headers.get("vary") ?? "", /\bAccept\b/);
    assert.deepEqual(await last("contact"), fields);
  });

  const decodings: readonly [body: string, fields: object][] = [
    ["", {}],
    ["&&", {}],
    [`a=1${"&".repeat(5000)}b=2`, { a: "1", b: "2" }],
    ["a", { a: "" }],
    ["a=b=c&=&d=", { a: "b=c", "": "", d: "" }],
    ["a+b=c+d%2B", { "a b": "c d+" }],
    ["é=ü", { é: "ü" }],
    ["a=1&a=2&a=3", { a: ["1", "2", "3"] }],
  ];
  for (const [body, fields] of decodings)
    it(`is parsed as browsers encode it: ${body.slice(0, 20) || "empty"}`, async () => {
      const answer = await answerOf(app.request("/open", { method: "POST", headers: form, body }));
      assert.equal(answer.status, 201, answer.body);
      assert.deepEqual(await last("open"), fields);
    });

  const broken: readonly [body: string | Uint8Array<ArrayBuffer>, pointer: string][] = [
    ["a=%zz", "/a"],
    ["a=%", "/a"],
    ["a=%C3", "/a"],
    ["a=%ED%A0%80", "/a"],
    ["b=1&%FF=1", ""],
    [Uint8Array.of(97, 61, 0xff), ""],
    ["__proto__=1", "/__proto__"],
    ["id=1", "/id"],
    [Array.from({ length: 1001 }, (_, n) => `f${n}=`).join("&"), ""],
  ];
  for (const [body, pointer] of broken)
    it(`is rejected when it is ${String(body).slice(0, 20)}`, async () => {
      const problem = await client.rejects("open", "invalid-body", () =>
        answerOf(app.request("/open", { method: "POST", headers: form, body })),
      );
      assert.deepEqual(pointersOf(problem), [pointer]);
    });

  it("is rejected like JSON, with every error at once", async () => {
    const body = "email=ann&age=-1&message=&topics=a&topics=b&news=perhaps&spam=1&born=soon";
    const problem = await client.rejects("contact", "invalid-body", () => post("contact", body));
    assert.deepEqual(pointersOf(problem).toSorted(), [
      "/age",
      "/born",
      "/email",
      "/message",
      "/news",
      "/spam",
    ]);
    const words = problem.errors?.find(({ pointer }) => pointer === "/message")?.detail;
    assert.equal(words, "message is required");
  });

  it("is rejected when it repeats a field that has one value", async () => {
    const problem = await client.rejects("contact", "invalid-body", () =>
      post("contact", `${good}&age=1&age=2`),
    );
    assert.deepEqual(pointersOf(problem), ["/age"]);
  });

  it("is UTF-8", async () => {
    for (const charset of ["utf-8", "UTF-8", '"utf-8"', "utf8"]) {
      const type = { "content-type": `application/x-www-form-urlencoded; charset=${charset}` };
      assert.equal((await post("contact", good, type)).status, 201);
    }
    const latin = { "content-type": "Application/X-WWW-Form-URLEncoded;charset=iso-8859-1" };
    await client.rejects("contact", "unsupported-media-type", () => post("contact", good, latin));
  });

  it("has a Content-Type whose quotes end", async () => {
    const bodies = {
      "application/x-www-form-urlencoded": good,
      "application/json": "{}",
      "text/csv": "a\n1\n",
      "application/x-ndjson": "{}\n",
      "multipart/form-data; boundary=b":
        '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--b--\r\n',
    };
    for (const [type, body] of Object.entries(bodies))
      for (const charset of ['"utf-8', '"utf-8\\"', 'utf-8; x="a', 'utf-8"']) {
        const headers = { "content-type": `${type}; charset=${charset}` };
        await client.rejects("open", "malformed-request", () =>
          answerOf(app.request("/open", { method: "POST", headers, body })),
        );
      }
    const escaped = { "content-type": 'application/x-www-form-urlencoded; x="a\\",b"' };
    assert.equal((await post("contact", good, escaped)).status, 201);
  });

  it("has parts of which the same is true", async () => {
    const headers = { "content-type": "multipart/form-data; boundary=b" };
    const fields =
      'Content-Disposition: form-data; name="a"\r\nContent-Type: text/plain; charset="utf-8';
    const body = `--b\r\n${fields}\r\n\r\n1\r\n--b--\r\n`;
    await client.rejects("open", "invalid-body", () =>
      answerOf(app.request("/open", { method: "POST", headers, body })),
    );
  });

  it("is not JSON without its type, as curl sends it", async () => {
    for (const body of ['{"a":1}', ' [{"a":1}]', "{"]) {
      const answer = await client.rejects("open", "unsupported-media-type", () =>
        answerOf(app.request("/open", { method: "POST", headers: form, body })),
      );
      assert.match(answer.detail, /Send `Content-Type: application\/json`/);
    }
    assert.equal((await post("contact", `${good}&address[city]={}`)).status, 201);
  });

  it("has the limits of every body, and the rules of every POST", async () => {
    const long = `${good}&a=${"a".repeat(2 ** 20)}`;
    await client.rejects("contact", "content-too-large", () => post("contact", long));
    await client.rejects("keyed", "key-required", () => post("keyed", good));
    const asImage = { ...form, accept: "image/png" };
    await client.rejects("contact", "not-acceptable", () => post("contact", good, asImage));
    // The key of a caller without a token counts for one form alone.
    const authorization = `Bearer ${app.admin}`;
    const keyed = { ...form, authorization, "idempotency-key": '"form-1"' };
    const first = await post("keyed", good, keyed);
    const again = await post("keyed", good, keyed);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.equal(again.headers.get("location"), first.headers.get("location"));
    await client.rejects("keyed", "key-reused", () => post("keyed", `${good}!`, keyed));
  });

  it("needs a token unless create is public", async () => {
    await client.rejects("open", "unauthenticated", () => post("open", "a=1"));
    // RFC 6750 §2.2 is not offered.
    const withToken = `access_token=${app.admin}`;
    await client.rejects("open", "unauthenticated", () => post("open", withToken));
  });

  it("is accepted by collections only", async () => {
    const options = await app.request("/contact", { method: "OPTIONS", token: null });
    assert.match(options.headers.get("accept-post") ?? "", /application\/x-www-form-urlencoded/);
    for (const path of ["/-/tokens", "/-/batch"]) {
      const rejected = await answerOf(
        app.request(path, { method: "POST", headers: form, body: "name=a" }),
      );
      assertProblem(rejected, "unsupported-media-type");
      assert.equal(rejected.headers.get("accept-post"), "application/json");
    }
    const put = await answerOf(
      app.request("/open/a", { method: "PUT", headers: form, body: "name=a" }),
    );
    assertProblem(put, "unsupported-media-type");
  });

  it("may be sent from any page, and its script can read the response", async () => {
    const answer = await post("contact", good, { ...form, origin: "https://example.org" });
    assert.equal(answer.status, 201);
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
  });
});

describe("the response to a form", () => {
  const programs = [
    "application/json",
    "*/*",
    "application/json, text/plain, */*",
    "application/json, text/html;q=0.9",
    "text/html, application/json",
    "application/json, text/html",
    "text/html;q=0.5, */*",
    "text/html;q=0",
    "text/html;q=0, */*",
  ];
  for (const accept of programs)
    it(`is JSON for ${accept}`, async () => {
      const answer = await post("contact", good, { ...form, accept });
      if (accept === "text/html;q=0") assertProblem(answer, "not-acceptable");
      else assert.equal(answer.status, 201, answer.body);
    });

  const browsers = [asBrowser.accept, "text/html", "text/html, */*", "TEXT/HTML, */*;q=0.1"];
  for (const accept of browsers)
    it(`is a page for ${accept}`, async () => {
      const before = await app.total("contact");
      const answer = await post("contact", good, { ...form, accept });
      assertPage(answer, 303);
      assert.equal(answer.headers.get("location"), "/-/created");
      assert.equal(await app.total("contact"), before + 1);
    });

  it("does not reveal what was stored, nor where", async () => {
    const answer = await post("contact", good, asBrowser);
    assert.doesNotMatch(answer.body, /ann|Hello|contact/);
    assert.equal(answer.headers.get("etag"), null);
    assert.equal(answer.headers.get("content-location"), null);
  });

  it("redirects to a page that exists", async () => {
    const page = await answerOf(
      app.request("/-/created", { headers: { accept: asBrowser.accept }, token: null }),
    );
    assert.equal(page.status, 200);
    assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
    assert.match(page.headers.get("content-security-policy") ?? "", /^default-src 'none'/);
    assert.match(page.body, /received/);
  });

  it("redirects as the definition says", async () => {
    const away = await post("elsewhere", good, asBrowser);
    assertPage(away, 303);
    assert.equal(away.headers.get("location"), "https://example.org/thanks?a=b&c=d");
    assert.match(away.body, /href="https:\/\/example\.org\/thanks\?a=b&amp;c=d"/);
    const here = await post("here", good, asBrowser);
    assert.equal(here.headers.get("location"), "/thanks");
    assert.equal((await post("here", good)).status, 201);
  });

  it("redirects below the base URL", async () => {
    const based = await startApp({ baseUrl: "http://api.example.org/v1" });
    try {
      await new Client(based).put("/-/collections/contact", contact);
      const init = { method: "POST", headers: asBrowser, body: good, token: null };
      const { status, headers } = await based.request("/contact", init);
      assert.equal(status, 303);
      assert.equal(headers.get("location"), "http://api.example.org/v1/-/created");
    } finally {
      await based.stop();
    }
  });

  it("is JSON when JSON was sent, whatever Accept prefers", async () => {
    const json = { "content-type": "application/json", accept: asBrowser.accept };
    const body = '{"email":"ann@example.com","message":"Hello"}';
    assert.equal((await post("contact", body, json)).status, 201);
    assertProblem(await post("contact", "{}", json), "invalid-body");
  });

  it("says when it is a replay", async () => {
    const keyed = { ...asBrowser, "idempotency-key": '"page-1"' };
    assert.equal((await post("keyed", good, keyed)).headers.get("idempotency-replayed"), null);
    const again = await post("keyed", good, keyed);
    assertPage(again, 303);
    assert.equal(again.headers.get("idempotency-replayed"), "true");
  });
});

describe("the rejection of a form", () => {
  it("is a page for a browser, with each error, and nothing is stored", async () => {
    const before = await client.state("contact");
    const answer = await post("contact", "email=ann&age=old&address.city=Rome&b=1", asBrowser);
    assertPage(answer, 400);
    for (const field of ["email", "age", "message", "b"])
      assert.match(answer.body, new RegExp(`<li><strong>${field}</strong>: `));
    assert.match(answer.body, /message is required/);
    assert.ok(answer.body.includes(answer.headers.get("x-request-id") ?? "none"));
    assert.deepEqual(await client.state("contact"), before);
  });

  it("escapes whatever was sent", async () => {
    const name = `<script>alert("1")</script>&'`;
    const body = new URLSearchParams({ [name]: "1", email: "<img src=x>" }).toString();
    const answer = await post("contact", body, asBrowser);
    assertPage(answer, 400);
    assert.doesNotMatch(answer.body, /<script|<img/);
    assert.match(answer.body, /&lt;script&gt;alert\(&quot;1&quot;\)/);
  });

  it("contains no secrets", async () => {
    const answer = await post("contact", `${app.admin}=1`, asBrowser);
    assertPage(answer, 400);
    assert.ok(!answer.body.includes(app.admin));
  });

  it("has the status and the headers of the problem", async () => {
    const nobody = await post("open", "a=1", asBrowser);
    assertPage(nobody, 401);
    assert.match(nobody.headers.get("www-authenticate") ?? "", /^Bearer/);
    assertPage(await post("no-such-form", "a=1", asBrowser), 401);
    assertPage(await post("contact", `${good}&a=${"a".repeat(2 ** 20)}`, asBrowser), 413);
    const latin = { ...asBrowser, "content-type": `${form["content-type"]}; charset=latin1` };
    assertPage(await post("contact", good, latin), 415);
  });

  it("is a problem for other clients, with Vary", async () => {
    const answer = await post("contact", "a=1");
    assertProblem(answer, "invalid-body");
    assert.match(answer.headers.get("vary") ?? "", /\bAccept\b/);
  });
});

describe("a honeypot", () => {
  it("stores nothing of a form that fills in the hidden field", async () => {
    const before = await client.state("trap");
    const page = await post("trap", `${good}&website=spam`, asBrowser);
    const real = await post("contact", good, asBrowser);
    assertPage(page, 303);
    assert.equal(page.body, real.body);
    assert.deepEqual([...page.headers.keys()], [...real.headers.keys()]);
    assert.equal(page.headers.get("location"), "/-/created");
    const answer = await post("trap", `${good}&website=spam`);
    assert.equal(answer.status, 201);
    const stored = await post("contact", good);
    assert.deepEqual([answer.body, stored.body], ["", ""]);
    assert.deepEqual([...answer.headers.keys()], [...stored.headers.keys()]);
    assert.equal((await client.get(answer.headers.get("location") ?? "")).status, 404);
    assert.deepEqual(await client.state("trap"), before);
  });

  it("is logged", async () => {
    const { headers } = await post("trap", `${good}&website=spam`);
    await captured.settled();
    const requestId = headers.get("x-request-id");
    const lines = captured.lines().filter((line) => line.requestId === requestId);
    assert.ok(lines.some(({ detail }) => /honeypot/.test(String(detail))));
  });

  it("accepts forms that leave it empty, and is not stored", async () => {
    for (const body of [good, `${good}&website=`]) {
      const before = await app.total("trap");
      assertPage(await post("trap", body, asBrowser), 303);
      assert.equal(await app.total("trap"), before + 1);
      assert.deepEqual(await last("trap"), { email: "ann@example.com", message: "Hello" });
    }
  });

  it("applies to forms only, not to JSON", async () => {
    const body = '{"email":"ann@example.com","message":"Hello","website":"x"}';
    const json = { "content-type": "application/json" };
    const problem = await client.rejects("trap", "invalid-body", () => post("trap", body, json));
    assert.deepEqual(pointersOf(problem), ["/website"]);
  });
});

describe("a rate limit", () => {
  const json = { "content-type": "application/json" };

  const from = (server: TestApp, peer: string, headers: Fields = form, name = "limited") =>
    server
      .direct(
        new Request(`http://localhost/${name}`, {
          method: "POST",
          headers: { ...headers, "content-length": String(good.length) },
          body: good,
        }),
        peer,
      )
      .then(answerOf);

  it("rejects more requests from one address, and stores nothing", async () => {
    const before = await app.total("limited");
    assert.equal((await from(app, "192.0.2.1")).status, 201);
    assert.equal((await from(app, "192.0.2.1")).status, 201);
    const rejected = await from(app, "192.0.2.1");
    assertProblem(rejected, "too-many-requests");
    assert.match(rejected.headers.get("retry-after") ?? "", /^([1-9]|[1-3]\d)$/);
    assertPage(await from(app, "192.0.2.1", asBrowser), 429);
    assert.equal((await from(app, "192.0.2.2")).status, 201);
    assert.equal(await app.total("limited"), before + 3);
  });

  it("counts on a real socket, whatever is sent", async () => {
    const bad = await post("limited", "{}", json);
    assertProblem(bad, "invalid-body");
    assert.equal((await post("limited", good)).status, 201);
    assertProblem(await post("limited", good), "too-many-requests");
    const put = { method: "PUT", headers: json, body: "{}", token: null };
    assertProblem(await answerOf(app.request("/limited/a", put)), "too-many-requests");
    // Others have buckets of their own.
    assert.equal((await post("contact", good)).status, 201);
  });

  it("does not apply to a token", async () => {
    for (let count = 0; count < 4; count++) {
      const init = { method: "POST", headers: form, body: good };
      assert.equal((await app.request("/limited", init)).status, 201);
    }
  });

  it("counts a client behind a trusted proxy, and ignores headers of others", async () => {
    const server = await startApp({ trustProxy: ["10.0.0.1"] });
    try {
      await new Client(server).put("/-/collections/limited", {
        ...contact,
        rateLimit: { perMinute: 1 },
      });
      const behind = (peer: string, client: string) =>
        from(server, peer, { ...form, "x-forwarded-for": client });
      assert.equal((await behind("10.0.0.1", "203.0.113.1")).status, 201);
      assert.equal((await behind("10.0.0.1", "203.0.113.2")).status, 201);
      assertProblem(await behind("10.0.0.1", "203.0.113.1"), "too-many-requests");
      assert.equal((await behind("192.0.2.9", "203.0.113.3")).status, 201);
      assertProblem(await behind("192.0.2.9", "203.0.113.4"), "too-many-requests");
    } finally {
      await server.stop();
    }
  });
});
