// Checks before routing: targets, limits, methods, OPTIONS and HEAD.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTypes } from "../../src/http/headers/media-type.ts";
import { routes } from "../../src/http/routes.ts";
import { type RawResponse, send } from "../runtime/raw-connection.ts";
import { startApp, type TestApp } from "./app.ts";
import { answerOf, assertProblem, expectProblem } from "./expect.ts";

/** What Bun responds before the application is asserted as it is, so that a change in Bun is noticed. */
const onBun = process.versions.bun !== undefined;

let app: TestApp;
let id: string;
before(async () => {
  app = await startApp();
  ({ id } = (await app.post("people", { name: "Ada" })) as { id: string });
});
after(() => app.stop());

/** The response to a raw request line; undefined when the connection closes without one. */
async function ask(line: string, ...fields: string[]): Promise<RawResponse | undefined> {
  const head = [`${line} HTTP/1.1`, "Host: localhost", ...fields, "Connection: close"];
  const { responses } = await send(app.port, `${head.join("\r\n")}\r\n\r\n`, {
    head: line.startsWith("HEAD "),
  });
  return responses[0];
}

const authorized = () => `Authorization: Bearer ${app.admin}`;

async function askAs(line: string, ...fields: string[]): Promise<RawResponse> {
  const answer = await ask(line, authorized(), ...fields);
  assert.ok(answer !== undefined, `no answer to ${line}`);
  return answer;
}

const problemOf = (answer: RawResponse, kind: Parameters<typeof assertProblem>[1]) =>
  assertProblem({ ...answer, headers: new Headers(answer.headers) }, kind);

/** Every route as a path that can be requested. */
const paths = [...Map.groupBy(Object.values(routes), ({ path }) => path)].map(([route, some]) => ({
  route,
  path: route
    .replace("{collection}", "people")
    .replace("/-/tokens/{id}", "/-/tokens/019a8448-5a3c-7c31-9d41-6f2f3f0c9a11")
    .replace("{kind}", "not-found")
    .replace(/\{\w+\}/g, "ada"),
  methods: some.map(({ method }) => method as string),
}));

describe("the request target", () => {
  const targetOf = (bytes: number) => `/people/${"a".repeat(bytes - "/people/".length)}`;

  it("is accepted up to 8,192 bytes and rejected with 414 beyond", async () => {
    for (const bytes of [7990, 8192]) {
      const target = targetOf(bytes);
      assert.equal(problemOf(await askAs(`GET ${target}`), "not-found").instance, target);
      assert.equal((await ask(`OPTIONS ${target}`))?.status, 204);
    }
    problemOf(await askAs(`GET ${targetOf(8193)}`), "uri-too-long");
    problemOf(await askAs(`GET /people?${"a".repeat(8193)}`), "uri-too-long");
  });

  it("is rejected with 414 even when it is longer than the header limit", async () => {
    const answer = await askAs(`GET ${targetOf(20_000)}`);
    problemOf(answer, "uri-too-long");
  });

  it("with a header over the limit is rejected with 431, which names the header", async () => {
    const answer = await askAs("GET /people", `X-Large: ${"a".repeat(20_000)}`);
    assert.match(problemOf(answer, "header-too-large").detail, /X-Large/);
  });

  it("with more than 1,000 header lines is rejected, and no line is dropped", async () => {
    const lines = Array.from({ length: 1001 }, (_, n) => `a${n}: 1`);
    const answer = await askAs("GET /people", ...lines);
    problemOf(answer, "header-too-large");
  });

  it("with invalid percent-encoding is 400, with or without a token", async () => {
    for (const segment of ["%zz", "%ff", "%", "%c3%28", "a%2", "%ed%a0%80"]) {
      problemOf(await askAs(`GET /people/${segment}`), "malformed-request");
      problemOf(await askAs(`GET /${segment}`), "malformed-request");
    }
    for (const bytes of ["%ff", "M%FCller", "%c3%28", "%e2%82", "%ed%a0%80", "%&a=%ff"]) {
      problemOf(await askAs(`GET /people?name=${bytes}`), "malformed-request");
      problemOf(await askAs(`GET /people?${bytes}=1`), "malformed-request");
    }
    for (const kept of ["%", "%zz", "100%&limit=5", "%EF%BF%BD"])
      assert.equal((await askAs(`GET /people?name=${kept}`)).status, 200, kept);
  });

  it("with control characters or an encoded slash is 404", async () => {
    const scoped = await app.token("people:read");
    for (const name of ["%00", "%0d%0aX-Evil:%201", "%7f", "%22", "%c3%a9", `a%2F${id}`, "%2F"]) {
      problemOf(await askAs(`GET /people/${name}`), "not-found");
      for (const path of [`/${name}`, `/${name}/${id}`, `/people${name}/${id}`]) {
        const answer = await ask(`GET ${path}`, `Authorization: Bearer ${scoped}`);
        assert.ok(answer !== undefined);
        problemOf(answer, "not-found");
        assert.equal(answer.headers["x-evil"], undefined);
      }
    }
    problemOf(await askAs(`GET /people%2F${id}`), "not-found");
    problemOf(await askAs("GET /%2D/tokens"), "not-found");
  });

  it("with dot segments is rejected", async () => {
    const climbs = [
      ...[`/people/../people/${id}`, `/people/./${id}`, `/people/%2e%2e/people/${id}`],
      ...["/people/.%2E/-/tokens", "/../../etc/passwd", "/people/.."],
    ];
    for (const target of climbs) problemOf(await askAs(`GET ${target}`), "malformed-request");
    assert.equal((await askAs(`GET /people/..${id}`)).status, 404);
    assert.equal((await askAs("GET /people/%2e%2e%2f%2e%2e%2fetc")).status, 404);
  });

  it("is case-sensitive", async () => {
    for (const path of [`/People/${id}`, "/PEOPLE", `/people/${id.toUpperCase()}`, "/-/Health"]) {
      problemOf(await askAs(`GET ${path}`), "not-found");
    }
  });

  it("must not be * except for OPTIONS", async () => {
    const answer = await askAs("GET *");
    assert.equal(answer.status, 400);
    problemOf(answer, "malformed-request");
  });

  it("with an empty segment is 404", async () => {
    for (const path of [`/people//${id}`, "/people//", "//people", "//", "/-//tokens"]) {
      problemOf(await askAs(`GET ${path}`), "not-found");
    }
  });
});

describe("HTTP/1.0", () => {
  const askOld = async (line: string, ...fields: string[]) =>
    (await send(app.port, `${[`${line} HTTP/1.0`, ...fields].join("\r\n")}\r\n\r\n`)).responses[0];

  it("needs no Host, so that a plain health check works", async () => {
    assert.equal((await askOld("GET /-/health"))?.status, 200);
    assert.equal((await askOld("GET /-/ready"))?.status, 200);
    assert.equal((await askOld("OPTIONS /"))?.status, 204);
    const answer = await askOld(`GET /people/${id}`, authorized());
    assert.equal(answer?.status, 200);
  });

  it("without Host is handled like any other request", async () => {
    for (const target of ["/people/../x", "/people/x\\y", "/people/%2e%2e"]) {
      problemOf(
        (await askOld(`GET ${target}`, authorized())) ?? assert.fail(),
        "malformed-request",
      );
    }
    problemOf((await askOld("GET /people")) ?? assert.fail(), "unauthenticated");
  });
});

describe("a trailing slash", () => {
  const location = async (line: string) => (await askAs(line)).headers.location;

  it("is redirected with 308 to the address without it, for any method", async () => {
    for (const line of ["GET /people/", "POST /people/", "HEAD /people/", "DELETE /people/"]) {
      const answer = await ask(line);
      assert.equal(answer?.status, 308, line);
      assert.equal(answer?.headers.location, "/people");
      assert.equal(answer?.headers["cache-control"], "no-store");
    }
    assert.equal(await location(`GET /people/${id}/`), `/people/${id}`);
    assert.equal(await location("GET /people/?page=2&limit=5"), "/people?page=2&limit=5");
  });

  it("never redirects to another host", async () => {
    const targets = [
      "//evil.example/",
      "///evil.example/",
      "/\\evil.example/",
      "/%2Fevil.example/",
      "/%5Cevil.example/",
      "/.//evil.example/",
      "/people/..//evil.example/",
      "/%2e//evil.example/",
      "http://evil.example/people/",
    ];
    for (const target of targets) {
      const answer = await askAs(`GET ${target}`);
      const next = answer.headers.location;
      if (next === undefined) continue;
      assert.equal(new URL(next, "http://localhost/").host, "localhost", `${target} → ${next}`);
    }
  });

  it("is redirected without a credential of the query in Location", async () => {
    const answer = await ask("GET /people/?access_token=hunter2");
    assert.ok(answer !== undefined);
    problemOf(answer, "unauthenticated");
    assert.ok(!JSON.stringify(answer).includes("hunter2"));
  });

  it("is redirected below the path prefix of the base URL", async () => {
    const prefixed = await startApp({ baseUrl: "https://api.example.org/v1" });
    try {
      const { headers } = await prefixed.request("/people/?page=2");
      assert.equal(headers.get("location"), "https://api.example.org/v1/people?page=2");
    } finally {
      await prefixed.stop();
    }
  });
});

describe("methods", () => {
  it("that an address does not support are rejected with 405 and Allow, also without a token", async () => {
    for (const { path, methods } of paths) {
      const allow = [...methods.flatMap((m) => (m === "GET" ? ["GET", "HEAD"] : [m])), "OPTIONS"];
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
        if (methods.includes(method)) continue;
        const answer = await answerOf(app.request(path, { method, token: null }));
        assertProblem(answer, "method-not-allowed");
        assert.equal(answer.headers.get("allow"), allow.join(", "), `${method} ${path}`);
      }
    }
  });

  it("that are unknown are rejected with 501", async () => {
    const answer = await ask("FOO /people");
    problemOf(answer ?? assert.fail(), "not-implemented");
  });

  it("that are unknown are rejected with 501 where the runtime passes them on", async () => {
    for (const method of ["FOO", "constructor", "__proto__"]) {
      const request = new Request("http://localhost/people", { method });
      // Bun makes a GET of a method that it does not know, before we can see it.
      if (onBun) assert.equal(request.method, "GET");
      else await expectProblem(app.direct(request), "not-implemented");
    }
  });

  it("are case-sensitive", async () => {
    const answer = await ask("get /-/health");
    problemOf(answer ?? assert.fail(), "not-implemented");
  });

  it("include no TRACE, and nothing is reflected", async () => {
    const answer = await askAs("TRACE /people", "X-Secret: mirror");
    assert.ok([405, 501].includes(answer.status), `${answer.status}`);
    assert.ok(!JSON.stringify(answer).includes("mirror"));
  });

  it("include no CONNECT", async () => {
    const answer = await ask("CONNECT example.org:443");
    assert.ok([400, 405, 501].includes(answer?.status ?? 0), `${answer?.status}`);
  });

  it("that are safe change nothing, whatever headers are sent", async () => {
    for (const field of ["X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"]) {
      assert.equal((await askAs(`GET /people/${id}`, `${field}: DELETE`)).status, 200);
    }
    problemOf(await askAs(`GET /people/${id}?action=delete`), "invalid-parameter");
    problemOf(await askAs(`GET /people/${id}?_method=DELETE`), "invalid-parameter");
    assert.equal((await askAs(`GET /people/${id}`)).status, 200);
  });
});

describe("OPTIONS", () => {
  const takenAt: Readonly<Record<string, string>> = {
    "/people": createTypes.types,
    "/-/lines/people": "application/x-ndjson, text/csv",
  };

  it("returns without a token what is allowed and what a POST accepts", async () => {
    for (const { path, methods } of paths) {
      const { status, headers, body } = await answerOf(
        app.request(path, { method: "OPTIONS", token: null }),
      );
      assert.equal(status, 204, path);
      assert.equal(body, "");
      const takes = methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]));
      assert.equal(headers.get("allow"), [...takes, "OPTIONS"].join(", "), path);
      assert.equal(
        headers.get("accept-post"),
        methods.includes("POST") ? (takenAt[path] ?? "application/json") : null,
        path,
      );
    }
    const { headers } = await app.request("/people", { method: "OPTIONS", token: null });
    assert.equal(headers.get("allow"), "GET, HEAD, POST, PUT, QUERY, OPTIONS");
  });

  it("of * is for the whole server", async () => {
    const answer = await ask("OPTIONS *");
    assert.equal(answer?.status, 204);
  });

  it("ignores conditions, credentials and the query", async () => {
    const answer = await ask(
      "OPTIONS /people?token=x&nonsense",
      "If-Match: *",
      "If-None-Match: *",
      "Authorization: Bearer wrong",
    );
    assert.equal(answer?.status, 204);
  });
});

describe("HEAD", () => {
  /** These differ between any two responses. */
  const varying = new Set(["date", "x-request-id", "connection", "keep-alive"]);
  const fieldsOf = (answer: RawResponse) =>
    Object.entries(answer.headers)
      .filter(([name]) => !varying.has(name))
      .sort(([a], [b]) => a.localeCompare(b));

  it("responds like GET, with the same length and without a body", async () => {
    // The metrics count the requests for them, and lines are sent without a length.
    const others = ["/-/metrics", "/-/lines/people"];
    const readable = paths.filter(
      ({ path, methods }) => methods.includes("GET") && !others.includes(path),
    );
    const targets = [
      ...readable.map(({ path }) => path),
      `/people/${id}`,
      "/people?page=2&limit=1",
      "/people?limit=0",
      "/nowhere/at/all",
      "/people/",
    ];
    for (const target of targets) {
      for (const fields of [[authorized()], []]) {
        const get = await ask(`GET ${target}`, ...fields);
        const head = await ask(`HEAD ${target}`, ...fields);
        assert.ok(get !== undefined && head !== undefined);
        assert.equal(head.status, get.status, target);
        assert.equal(head.bytes.length, 0);
        const lengths = [get.headers["content-length"], head.headers["content-length"]].map(Number);
        const [ofGet = Number.NaN, ofHead = Number.NaN] = lengths;
        // A problem holds the id of its own request, which may have one digit more.
        assert.ok(Math.abs(ofHead - ofGet) <= (get.status < 400 ? 0 : 1), `${target}: ${lengths}`);
        const framing = new Set(["content-length", "transfer-encoding"]);
        const same = ([name]: readonly [string, string]) => !framing.has(name);
        assert.deepEqual(fieldsOf(head).filter(same), fieldsOf(get).filter(same), target);
      }
    }
  });

  it("leaves the connection usable for the next request", async () => {
    const line = `/people/${id} HTTP/1.1\r\nHost: localhost\r\n${authorized()}\r\n\r\n`;
    const { responses } = await send(app.port, `HEAD ${line}HEAD ${line}`, {
      head: true,
      answers: 2,
    });
    assert.deepEqual(
      responses.map(({ status }) => status),
      [200, 200],
    );
  });
});
