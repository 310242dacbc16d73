// Bearer tokens (RFC 6750): authentication, challenges, and secrets that never appear in a response.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { routes } from "../../src/http/routes.ts";
import { hashSecret, newSecret } from "../../src/model/secret.ts";
import { withClockMoved } from "../clock.ts";
import { send } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { type Answer, answerOf, assertProblem, expectProblem, readLinks } from "./expect.ts";

const json = { "content-type": "application/json" };
const missing = 'Bearer realm="restante"';
const hourMs = 3_600_000;
const invalid = `${missing}, error="invalid_token"`;

let app: TestApp;
let id: string;
before(async () => {
  app = fromManyAddresses(await startApp({ trustProxy: ["127.0.0.1"] }));
  ({ id } = (await app.post("people", { name: "Ada" })) as { id: string });
});
after(() => app.stop());

/** Each request comes from another address, because one that sends many wrong tokens is answered 429. */
function fromManyAddresses(one: TestApp): TestApp {
  let count = 0;
  const request: TestApp["request"] = (path, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("x-forwarded-for", `198.51.${++count >> 8}.${count & 255}`);
    return one.request(path, { ...init, headers });
  };
  return { ...one, request };
}

/** Every route that needs a token, as a method and a path. */
const guarded = Object.values(routes)
  .filter(({ permission }) => permission !== "anyone" && permission !== "optional-token")
  .flatMap(({ method, path }) => {
    const methods = method === "GET" ? ["GET", "HEAD"] : [method];
    return methods.map((each) => [each, path.replaceAll(/\{\w+\}/g, "people")] as const);
  });

const withAuthorization = (authorization: string, path = "/people") =>
  answerOf(app.request(path, { headers: { authorization } }));

/** The 401 response. HEAD has its headers and no body. */
function assertChallenge(answer: Answer, expected: string): void {
  assert.equal(answer.status, 401, answer.body);
  assert.equal(answer.headers.get("www-authenticate"), expected);
  assert.equal(answer.headers.get("cache-control"), "no-store");
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
}

describe("a request without a valid token", () => {
  it("gets a challenge with a realm and without an error", async () => {
    for (const [method, path] of guarded) {
      const answer = await answerOf(app.request(path, { method, token: null }));
      assertChallenge(answer, missing);
      if (method !== "HEAD") assertProblem(answer, "unauthenticated");
    }
  });

  it("gets the same response for an unknown, mistyped, revoked or expired token", async () => {
    const revoked = await makeToken({ name: "old", scopes: ["admin"] });
    await app.request(`/-/tokens/${revoked.id}`, { method: "DELETE" });
    const typo = app.admin.replace(/.$/, (last) => (last === "0" ? "1" : "0"));
    const expired = await expiredToken();

    const reported = new Set<string>();
    for (const secret of [newSecret(), typo, revoked.token, expired, "x", "rst_"]) {
      const answer = await withAuthorization(`Bearer ${secret}`);
      assertChallenge(answer, invalid);
      const { requestId, ...words } = assertProblem(answer, "unauthenticated");
      assert.ok(requestId);
      reported.add(JSON.stringify(words));
      // A request id may end with a short one.
      if (secret.length > 4)
        assert.ok(!JSON.stringify([answer.body, ...answer.headers]).includes(secret));
    }
    assert.equal(reported.size, 1);
  });

  it("gets invalid_token when the token has another format", async () => {
    const faulty = [
      "Bearer",
      "Bearer a b",
      "Bearer ä",
      'Bearer "a"',
      "Bearer a=b",
      "Bearer =",
      "Bearer\ta",
    ];
    for (const value of faulty) assertChallenge(await withAuthorization(value), invalid);
  });

  it("gets a challenge without an error for another scheme", async () => {
    const digest = 'Digest username="a, b c", realm="d", qop=auth, nc=00000001';
    for (const value of [
      "Basic YWRtaW46YWRtaW4=",
      "Negotiate",
      "Bearerx abc",
      "Token abc",
      digest,
    ]) {
      assertChallenge(await withAuthorization(value), missing);
    }
    assertChallenge(await withAuthorization(`Basic ${app.admin}`), missing);
    assertChallenge(await withAuthorization(app.admin), missing);
  });

  it("is not authenticated by a form field", async () => {
    const body = new URLSearchParams({ access_token: app.admin });
    const answer = await answerOf(app.request("/people", { method: "POST", token: null, body }));
    assertChallenge(answer, missing);
  });

  it("gets 401 before anything else is checked", async () => {
    const total = await app.total("people");
    const requests: [string, RequestInit][] = [
      ["/people", { method: "POST", headers: json, body: "{not json" }],
      ["/people", { method: "POST", headers: { "content-type": "text/csv" }, body: "a" }],
      ["/people", { method: "POST", headers: json, body: `"${"a".repeat(2 ** 20)}"` }],
      ["/no-such-collection", { method: "POST", headers: json, body: "{}" }],
      ["/no-such-collection", {}],
      ["/people?page=0&nonsense=1", {}],
      ["/people", { headers: { accept: "image/png" } }],
      [`/people/${id}`, { headers: { "if-none-match": "*" } }],
      ["/people/no-such-id", {}],
      [`/people/${id}`, { method: "PUT", headers: { ...json, "if-match": '"x"' }, body: "{}" }],
      [`/people/${id}`, { method: "PATCH", headers: { "content-type": "text/csv" }, body: "a" }],
      ["/people/no-such-id", { method: "DELETE" }],
      ["/people", { method: "POST", headers: { ...json, "idempotency-key": "" }, body: "{}" }],
      ["/-/batch", { method: "POST", headers: json, body: "[]" }],
      ["/-/collections/no-such", {}],
      ["/-/tokens/no-such-id", { method: "DELETE" }],
    ];
    for (const [path, init] of requests) {
      for (const authorization of [undefined, "Bearer wrong"]) {
        const headers = new Headers(init.headers);
        if (authorization !== undefined) headers.set("authorization", authorization);
        const answer = await answerOf(app.request(path, { ...init, headers, token: null }));
        assertChallenge(answer, authorization === undefined ? missing : invalid);
      }
    }
    assert.equal(await app.total("people"), total);
  });
});

describe("the Authorization header", () => {
  it("accepts its scheme in any case, followed by any number of spaces", async () => {
    for (const scheme of ["bearer ", "BEARER  ", "Bearer    ", "bEARER "]) {
      assert.equal((await withAuthorization(scheme + app.admin)).status, 200, scheme);
    }
  });

  it("may be sent once, with one credential", async () => {
    const line = (value: string) => `Authorization: ${value}\r\n`;
    const bearer = `Bearer ${app.admin}`;
    const doubles = [
      line(bearer) + line(bearer),
      line(bearer) + line("Basic YWRtaW46YWRtaW4="),
      line("Bearer wrong") + line(bearer),
      line("Basic YWRtaW46YWRtaW4=") + line("Basic YWRtaW46YWRtaW4="),
      line("Basic YWRtaW46YWRtaW4=") + line(bearer),
      line(`${bearer}, ${bearer}`),
      line(`${bearer},`),
    ];
    for (const lines of doubles) {
      const { responses } = await send(
        app.port,
        `GET /people HTTP/1.1\r\nHost: localhost\r\n${lines}\r\n`,
      );
      const [answer] = responses;
      assert.ok(answer !== undefined);
      assertProblem({ ...answer, headers: new Headers(answer.headers) }, "malformed-request");
      assert.equal(answer.headers["www-authenticate"], `${missing}, error="invalid_request"`);
      assert.ok(!JSON.stringify(answer).includes(app.admin));
    }
  });
});

describe("a credential in the URL", () => {
  const names = [
    "access_token",
    "token",
    "api_key",
    "apikey",
    "API-Key",
    "password",
    "pwd",
    "secret",
  ];
  const others = ["client_secret", "auth", "jwt", "refresh_token", "access%5Ftoken", "%74oken"];

  it("never authenticates, and the problem names it", async () => {
    for (const name of [...names, ...others]) {
      const answer = await answerOf(app.request(`/people?${name}=${app.admin}`, { token: null }));
      assertChallenge(answer, missing);
      const { detail } = assertProblem(answer, "unauthenticated");
      assert.ok(detail.includes(decodeURIComponent(name)), detail);
      assert.ok(!JSON.stringify([answer.body, ...answer.headers]).includes(app.admin));
    }
  });

  it("next to the header is rejected with 400, and the problem names it", async () => {
    for (const name of [...names, ...others]) {
      const answer = await answerOf(app.request(`/people?page=1&${name}=hunter2`));
      const { detail } = assertProblem(answer, "credential-in-url");
      assert.ok(detail.includes(decodeURIComponent(name)), detail);
      const challenge = `${missing}, error="invalid_request"`;
      assert.equal(answer.headers.get("www-authenticate"), challenge);
      assert.ok(!JSON.stringify([answer.body, ...answer.headers]).includes("hunter2"));
    }
  });

  it("is rejected on public pages too", async () => {
    for (const path of ["/", "/-/health", "/-/openapi.json", "/-/problems"]) {
      await expectProblem(app.request(`${path}?token=hunter2`, { token: null }), "unauthenticated");
    }
  });

  it("in the path or in a parameter's name does not appear in the response", async () => {
    const { admin } = app;
    for (const target of [`/people/${admin}`, `/${admin}/${admin}`, `/people?${admin}=1`]) {
      const answer = await answerOf(app.request(target));
      assert.ok(answer.status >= 400, target);
      assert.ok(!JSON.stringify([answer.body, ...answer.headers]).includes(admin), target);
    }
  });
});

describe("scopes", () => {
  const ofPeople = ["GET /people", "POST /people", "PUT new", "PUT old", "PATCH old", "DELETE old"];
  const ofPlaces = ["GET /places", "POST /places"];
  const tried = [
    { scopes: ["people:read"], may: ["GET /people"] },
    { scopes: ["people:create"], may: ["POST /people", "PUT new"] },
    { scopes: ["people:update"], may: ["PUT old", "PATCH old"] },
    { scopes: ["people:delete"], may: ["DELETE old"] },
    {
      scopes: ["people:read", "people:create"],
      may: ["GET /people", "POST /people", "PUT new"],
    },
    { scopes: ["*:read"], may: ["GET /people", "GET /places"] },
    { scopes: ["people:*"], may: ofPeople },
    { scopes: ["peop:read", "people2:read", "places2:*"], may: [] },
    { scopes: ["*:*"], may: [...ofPeople, ...ofPlaces] },
    {
      scopes: ["admin"],
      may: [...ofPeople, ...ofPlaces, "GET /-/tokens", "GET /-/collections"],
    },
  ];
  /** The scope that a 403 names. For PUT without both scopes it is one of them. */
  const needs: Record<string, RegExp> = {
    "GET /people": /^people:read$/,
    "POST /people": /^people:create$/,
    "PUT new": /^people:(?:create|update)$/,
    "PUT old": /^people:update$/,
    "PATCH old": /^people:update$/,
    "DELETE old": /^people:delete$/,
    "GET /places": /^places:read$/,
    "POST /places": /^places:create$/,
    "GET /-/tokens": /^admin$/,
    "GET /-/collections": /^admin$/,
  };

  before(() => app.post("places", { name: "Turin" }));

  for (const { scopes, may } of tried) {
    it(`${scopes.join(" ")} allows ${may.join(", ") || "nothing here"}`, async () => {
      const token = await app.token(...scopes);
      const places: Record<string, string> = {
        new: `/people/${crypto.randomUUID()}`,
        old: `/people/${(await app.post("people", {})).id}`,
      };
      for (const [operation, scope] of Object.entries(needs)) {
        const [method = "", place = ""] = operation.split(" ");
        const body = /^P/.test(method) ? { headers: json, body: "{}" } : {};
        const path = places[place] ?? place;
        const answer = await answerOf(app.request(path, { method, token, ...body }));
        if (may.includes(operation)) {
          assert.ok(answer.status < 300, `${operation}: ${answer.body}`);
          continue;
        }
        const { detail } = assertProblem(answer, "insufficient-scope");
        const challenge = answer.headers.get("www-authenticate") ?? "";
        const [, named = ""] =
          /^Bearer realm="restante", error="insufficient_scope", scope="(.+)"$/.exec(challenge) ??
          [];
        assert.match(named, scope, operation);
        assert.ok(detail.includes(named), operation);
      }
      const isLeft = (await app.request(places.old ?? "")).status === 200;
      assert.equal(isLeft, !may.includes("DELETE old"));
    });
  }

  it("that do not include a collection give the same response whether it exists or not", async () => {
    const token = await app.token("places:read");
    const reported = new Set<string>();
    for (const path of ["/people", `/people/${id}`, "/people/no-such-id"]) {
      const { requestId, instance, ...words } = await expectProblem(
        app.request(path, { token }),
        "insufficient-scope",
      );
      assert.ok(requestId && instance);
      reported.add(JSON.stringify(words));
    }
    const unknown = await expectProblem(
      app.request("/no-such-collection", { token }),
      "insufficient-scope",
    );
    reported.add(JSON.stringify(unknown).replaceAll("no-such-collection", "people"));
    assert.equal(reported.size, 2);
  });

  it("without admin do not create a collection", async () => {
    const token = await app.token("*:*");
    const init = { method: "POST", headers: json, body: "{}", token };
    await expectProblem(app.request("/new-collection", init), "not-found");
    await expectProblem(app.request("/new-collection"), "not-found");
  });
});

interface TokenBody {
  readonly id: string;
  readonly token: string;
  readonly [member: string]: unknown;
}

const postToken = (wish: unknown) =>
  answerOf(app.request("/-/tokens", { method: "POST", headers: json, body: JSON.stringify(wish) }));

async function makeToken(wish: unknown): Promise<TokenBody> {
  const { status, body } = await postToken(wish);
  assert.equal(status, 201, body);
  return JSON.parse(body) as TokenBody;
}

function assertBetween(from: number, time: unknown, to: number): void {
  const at = Date.parse(String(time));
  assert.ok(from <= at && at <= to, `${time}`);
}

/** A secret that was good, until its time was over. */
async function expiredToken(): Promise<string> {
  return withClockMoved(-2 * hourMs, async () => {
    const expiresAt = new Date(Date.now() + hourMs).toISOString();
    const { token } = await makeToken({ name: "short", scopes: ["admin"], expiresAt });
    assert.equal((await app.request("/people", { token })).status, 200);
    return token;
  });
}

interface TokenPage {
  readonly data: readonly TokenBody[];
  readonly page: number;
  readonly limit: number;
  readonly pages: number;
  readonly total: number;
}

async function tokenPage(path: string) {
  const { status, headers, body } = await answerOf(app.request(path));
  assert.equal(status, 200, body);
  return { body: JSON.parse(body) as TokenPage, links: readLinks(headers.get("link")) };
}

describe("tokens over HTTP", () => {
  it("are created with a secret that is shown once", async () => {
    const begun = Date.now();
    const answer = await postToken({ name: "backup", scopes: ["people:read", "people:read"] });
    assert.equal(answer.status, 201);
    const made = JSON.parse(answer.body) as TokenBody;
    assert.equal(answer.headers.get("location"), `/-/tokens/${made.id}`);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    assert.match(made.token, /^rst_[0-9A-Za-z]{49}$/);
    const { token, createdAt, ...rest } = made;
    assert.deepEqual(rest, {
      id: made.id,
      name: "backup",
      subject: made.id,
      scopes: ["people:read"],
      roles: [],
      expiresAt: null,
      usedAt: null,
      revokedAt: null,
    });
    assertBetween(begun, createdAt, Date.now());
    assert.equal((await app.request("/people", { token })).status, 200);
  });

  it("are listed and read without secret or hash, and never cached", async () => {
    const { token, ...made } = await makeToken({ name: "shown", scopes: ["admin"] });
    const one = await answerOf(app.request(`/-/tokens/${made.id}`));
    assert.deepEqual(JSON.parse(one.body), made);
    const all = await answerOf(app.request("/-/tokens"));
    const { data } = JSON.parse(all.body) as { data: TokenBody[] };
    assert.deepEqual(
      data.find(({ id }) => id === made.id),
      made,
    );
    for (const { status, headers, body } of [one, all]) {
      assert.equal(status, 200);
      assert.equal(headers.get("cache-control"), "no-store");
      for (const secret of [token, app.admin]) {
        assert.ok(!body.includes(secret) && !body.includes(hashSecret(secret)));
      }
      assert.ok(!/hash|secret/i.test(body));
    }
  });

  it("stop working when they are revoked, and stay in the list", async () => {
    const { id, token } = await makeToken({ name: "gone", scopes: ["*:read"] });
    assert.equal((await app.request("/people", { token })).status, 200);
    const revoked = await answerOf(app.request(`/-/tokens/${id}`, { method: "DELETE" }));
    assert.deepEqual([revoked.status, revoked.body], [204, ""]);
    assertChallenge(await answerOf(app.request("/people", { token })), invalid);

    const read = async () => (await (await app.request(`/-/tokens/${id}`)).json()) as TokenBody;
    const { revokedAt } = await read();
    assert.ok(typeof revokedAt === "string");
    const again = await app.request(`/-/tokens/${id}`, { method: "DELETE" });
    assert.equal(again.status, 204);
    assert.equal((await read()).revokedAt, revokedAt);
  });

  it("can revoke themselves", async () => {
    const { id, token } = await makeToken({ name: "last act", scopes: ["admin"] });
    const revoked = await app.request(`/-/tokens/${id}`, { method: "DELETE", token });
    assert.equal(revoked.status, 204);
    assertChallenge(await answerOf(app.request("/-/tokens", { token })), invalid);
  });

  it("record when they were last used", async () => {
    const { id, token } = await makeToken({ name: "used", scopes: ["*:read"] });
    const begun = Date.now();
    await app.request("/people", { token });
    let usedAt: unknown = null;
    // The last use is written after the response.
    while (usedAt === null) {
      ({ usedAt } = (await (await app.request(`/-/tokens/${id}`)).json()) as TokenBody);
    }
    assertBetween(begun, usedAt, Date.now());
  });

  it("accept an expiry, which is shown in UTC", async () => {
    const made = await makeToken({
      name: "until",
      scopes: ["*:read"],
      expiresAt: "2999-12-31T23:00:00+02:00",
    });
    assert.equal(made.expiresAt, "2999-12-31T21:00:00.000Z");
  });

  it("are rejected with all errors at once", async () => {
    const pointers = async (wish: unknown) => {
      const { errors = [] } = assertProblem(await postToken(wish), "invalid-body");
      return errors.map(({ pointer }) => pointer);
    };
    const before = await (await app.request("/-/tokens")).text();
    const everything = { name: 1, scopes: "admin", expiresAt: "soon", "a/b~": 1 };
    assert.deepEqual((await pointers(everything)).sort(), [
      "/a~1b~0",
      "/expiresAt",
      "/name",
      "/scopes",
    ]);
    const rules = {
      name: " ",
      scopes: ["admin", "people", "A:read"],
      expiresAt: "2000-01-01T00:00Z",
    };
    assert.deepEqual(await pointers(rules), ["/name", "/scopes/1", "/scopes/2", "/expiresAt"]);
    assert.deepEqual(await pointers({}), ["/name", "/scopes"]);
    assert.deepEqual(await pointers({ name: "n", scopes: [] }), ["/scopes"]);
    assert.deepEqual(await pointers({ name: "n", scopes: ["admin"], id: "mine" }), ["/id"]);
    assert.deepEqual(await pointers([]), [""]);
    for (const expiresAt of [1, "2030-01-01", "2030-13-01T00:00:00Z", "2030-02-30T00:00:00Z"]) {
      assert.deepEqual(await pointers({ name: "n", scopes: ["admin"], expiresAt }), ["/expiresAt"]);
    }
    assert.equal(await (await app.request("/-/tokens")).text(), before);
  });

  it("are created from JSON only", async () => {
    const body = '{"name":"n","scopes":["admin"]}';
    for (const headers of [{}, { "content-type": "text/plain" }]) {
      const init = { method: "POST", headers, body: new TextEncoder().encode(body) };
      const answer = await answerOf(app.request("/-/tokens", init));
      assertProblem(answer, "unsupported-media-type");
      assert.equal(answer.headers.get("accept-post"), "application/json");
    }
    await expectProblem(app.request("/-/tokens", { method: "POST" }), "invalid-body");
  });

  it("that do not exist are 404", async () => {
    for (const method of ["GET", "DELETE"]) {
      for (const name of ["no-such-id", "019a8448-5a3c-7c31-9d41-6f2f3f0c9a11", "%00"]) {
        await expectProblem(app.request(`/-/tokens/${name}`, { method }), "not-found");
      }
    }
  });

  it("are listed page by page", async () => {
    for (let made = 0; made < 3; made++) await makeToken({ name: "paged", scopes: ["*:read"] });
    const whole = await tokenPage("/-/tokens");
    const { data, ...rest } = whole.body;
    const total = data.length;
    assert.deepEqual(rest, { page: 1, limit: 1_000, total, pages: 1 });
    const found: unknown[] = [];
    let count = 0;
    for (let next: string | undefined = "/-/tokens?limit=2"; next !== undefined; count++) {
      const { body, links } = await tokenPage(next);
      found.push(...body.data);
      const pages = Math.ceil(total / 2);
      assert.deepEqual([body.page, body.limit, body.pages], [count + 1, 2, pages]);
      assert.equal(links.first, "/-/tokens?page=1&limit=2");
      assert.equal(links.last, `/-/tokens?page=${pages}&limit=2`);
      assert.equal(links.prev, count === 0 ? undefined : `/-/tokens?page=${count}&limit=2`);
      next = links.next;
    }
    assert.equal(count, Math.ceil(total / 2));
    assert.deepEqual(found, data);
    const beyond = await tokenPage("/-/tokens?page=999999999999999&limit=1000");
    assert.deepEqual([beyond.body.data, beyond.links.prev], [[], "/-/tokens?page=1&limit=1000"]);
  });

  it("are listed by their subject", async () => {
    const subject = "ann & bob/#+%";
    for (let made = 0; made < 3; made++)
      await makeToken({ name: "hers", scopes: ["*:read"], subject });
    await makeToken({ name: "another", scopes: ["*:read"], subject: "ann" });
    const path = `/-/tokens?subject=${encodeURIComponent(subject)}`;
    const { body, links } = await tokenPage(`${path}&limit=2`);
    assert.deepEqual([body.total, body.pages, body.data.length], [3, 2, 2]);
    const { body: rest } = await tokenPage(links.next ?? "");
    const subjects = [...body.data, ...rest.data].map((token) =>
      Reflect.get(Object(token), "subject"),
    );
    assert.deepEqual(subjects, [subject, subject, subject]);
    assert.equal((await tokenPage("/-/tokens?subject=nobody")).body.total, 0);
  });

  it("reject parameters that are wrong", async () => {
    for (const query of [
      "subject=",
      "subject=%00",
      "subject=a&subject=a",
      "limit=0",
      "limit=1001",
      "limit=x",
      "page=0",
      "page=-1",
      "page=1e3",
      "a",
    ])
      await expectProblem(app.request(`/-/tokens?${query}`), "invalid-parameter");
    await expectProblem(app.request("/-/tokens/x?a", { method: "DELETE" }), "invalid-parameter");
  });
});

describe("every challenge", () => {
  it("consists of well-formed attributes, each at most once", async () => {
    const scoped = await app.token("people:read");
    const answers = [
      await app.request("/people", { token: null }),
      await app.request("/people", { token: "wrong" }),
      await app.request("/people?token=x"),
      await app.request("/-/tokens", { token: scoped }),
      await app.request("/a_b-c9", { token: scoped }),
    ];
    for (const { headers } of answers) {
      const challenge = headers.get("www-authenticate") ?? "";
      assert.match(challenge, /^Bearer (?:[a-z_]+="[\x20\x21\x23-\x5b\x5d-\x7e]+"(?:, (?=.)|$))+$/);
      const attributes = [...challenge.matchAll(/([a-z_]+)="/g)].map(([, name]) => name);
      assert.equal(attributes[0], "realm");
      assert.equal(new Set(attributes).size, attributes.length);
    }
  });
});
